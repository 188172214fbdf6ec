/**
 * Namespace: a global object whose members the host decides, such as `tools`. Runs inside the guest.
 *
 * - Reads like an object with one value per name; nothing can be added, changed or removed.
 */
import { exposeFixed } from "../expose.ts";
import { hasOwn, keys, primordial, record } from "../primordials.ts";

export interface Namespace {
  /** The name of the global. */
  readonly name: string;
  /** Its keys are the names of the members; more may be added until a program runs. */
  readonly members: object;
  /** Called with names of members alone. */
  readonly valueOf: (name: string) => unknown;
  /** How a member is read, and a name without one. If absent, such a name gives undefined. */
  readonly get?: (target: object, key: string | symbol) => unknown;
  /** What comes of writing and deleting. If absent, both throw. */
  readonly write?: (refuse: () => never) => false;
}

export function exposeNamespace({ name, members, valueOf, get, write }: Namespace): void {
  const has = (key: string | symbol): key is string => typeof key === "string" && hasOwn(members, key);
  const refuse = (): never => {
    throw new primordial.TypeError(`Cannot change ${name}: only the host can`);
  };
  const written = write === undefined ? refuse : (): false => write(refuse);
  const namespace = new primordial.Proxy(record(), {
    __proto__: null,
    get: get ?? ((_target: object, key: string | symbol): unknown => (has(key) ? valueOf(key) : undefined)),
    has: (_target: object, key: string | symbol): boolean => has(key),
    ownKeys: (): string[] => keys(members),
    getOwnPropertyDescriptor: (_target: object, key: string | symbol): PropertyDescriptor | undefined =>
      has(key)
        ? ({
            __proto__: null,
            value: valueOf(key),
            enumerable: true,
            configurable: true,
            writable: false,
          } as PropertyDescriptor)
        : undefined,
    getPrototypeOf: (): null => null,
    isExtensible: (): boolean => true,
    set: written,
    defineProperty: refuse,
    deleteProperty: written,
    setPrototypeOf: refuse,
    preventExtensions: refuse,
  } as ProxyHandler<object>);
  exposeFixed(name, namespace);
}
