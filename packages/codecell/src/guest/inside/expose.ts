/**
 * Expose: makes prelude classes and functions reachable for the guest, looking like built-ins. Runs inside the guest.
 *
 * - Globals are writable, configurable and not enumerable, as in browsers. What the host gives a program to call, and
 *   the list of it, is fixed and enumerable.
 */
import { registerPlatformPrototype } from "./brands.ts";
import { defineConstant, defineHidden, defineProperty, primordial, toStringTag } from "./primordials.ts";

// oxlint-disable-next-line typescript/no-unsafe-function-type -- any constructor, abstract or not
export type Class = Function & { readonly prototype: object };

export function exposeGlobal(name: string, value: unknown): void {
  defineHidden(globalThis, name, value);
}

export function exposeFixed(name: string, value: object): void {
  defineProperty(globalThis, name, {
    __proto__: null,
    value,
    writable: false,
    enumerable: true,
    configurable: false,
  } as PropertyDescriptor);
}

/** Names a class and its instances, and marks the instances as platform objects. */
export function dressClass(name: string, constructor: Class): void {
  defineConstant(constructor, "name", name, true);
  defineConstant(constructor.prototype, toStringTag, name, true);
  registerPlatformPrototype(constructor.prototype);
}

export function exposeClass(name: string, constructor: Class): void {
  dressClass(name, constructor);
  exposeGlobal(name, constructor);
}

export function requireArguments(name: string, given: number, wanted: number): void {
  if (given >= wanted) return;
  throw new primordial.TypeError(
    `Cannot ${name}: ${wanted} argument${wanted === 1 ? "" : "s"} required, ${given} present`,
  );
}
