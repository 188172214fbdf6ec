/**
 * Web globals: Blob, streams, requests, Buffer and their like, for programs with the feature `web`. Runs inside the guest.
 *
 * - Each is an accessor until the program first reads it. Then its part of the prelude is loaded, and the global becomes an
 *   ordinary property, as in Node.js. So a program pays only for what it uses.
 * - What the program assigns or defines replaces the accessor, and nothing brings it back.
 */
import type { PartName } from "../../abi.ts";
import { exposeGlobal } from "../expose.ts";
import { part } from "../parts.ts";
import { defineProperty, defineVisible, getOwnPropertyDescriptor } from "../primordials.ts";

/** The global's names, by the part that has them. */
const NAMES: readonly (readonly [PartName, string])[] = [
  ["body", "Blob File FormData Request Response"],
  [
    "streams",
    "ReadableStream ReadableStreamDefaultController ReadableStreamDefaultReader WritableStream " +
      "WritableStreamDefaultController WritableStreamDefaultWriter TransformStream TransformStreamDefaultController " +
      "ByteLengthQueuingStrategy CountQueuingStrategy TextEncoderStream TextDecoderStream",
  ],
  ["buffer", "Buffer"],
];

/** Runs before the program, which therefore cannot have changed what is called here. */
export function installWebGlobals(): void {
  for (const [of, names] of NAMES) for (const name of names.split(" ")) exposeLazily(name, of);
}

function exposeLazily(name: string, of: PartName): void {
  // Computed keys give the functions their names.
  const accessor = {
    get [name](): unknown {
      const value = part(of).globals[name];
      // A program may have fixed its global object before it first read this.
      if (getOwnPropertyDescriptor(globalThis, name)?.configurable === true) exposeGlobal(name, value);
      return value;
    },
    set [name](given: unknown) {
      if (this === undefined || (this as unknown) === globalThis) exposeGlobal(name, given);
      else defineVisible(this, name, given);
    },
  };
  const descriptor = getOwnPropertyDescriptor(accessor, name) as PropertyDescriptor;
  descriptor.enumerable = false;
  defineProperty(globalThis, name, descriptor);
}
