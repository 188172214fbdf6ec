/**
 * Tools: the `tools` global.
 *
 * - Reads like an object with one function per tool; nothing can be added, changed or removed.
 * - In the direct profile a name that is no tool gives a function too: calling it asks the host, which answers with the
 *   closest names. In the catalog profile it gives nothing, and there are helpers.
 */
import { exposeFixed } from "../expose.ts";
import { freeze, hasOwn, keys, primordial, record } from "../primordials.ts";

const { Error } = primordial;

type ToolFunction = (...args: never[]) => Promise<unknown>;

export type ToolFunctions = Readonly<Record<string, ToolFunction>>;

/** Asks the host: a tool by its index, or by a name that may be none. */
export type MakeCall = (tool: number | string, input: unknown, error: Error) => Promise<unknown>;

interface InstalledTools {
  readonly addTools: (names: readonly string[]) => void;
  /** Of the catalog profile. */
  readonly addFunctions: (functions: ToolFunctions) => void;
  /** Nothing comes any more. */
  readonly close: () => void;
}

/** Puts `tools` in place while the image is built; the names come when a run starts. */
export function installTools(call: MakeCall): InstalledTools {
  /** Index by name. */
  const known = record<number>();
  const functions = record<ToolFunction>();
  let isCatalog = false;

  function makeToolFunction(name: string): ToolFunction {
    const tool = known[name] ?? name;
    // The error is made here, where the fewest frames of our own lie above the program's: each costs.
    const fresh = freeze((input: unknown) =>
      call(tool, input === undefined && isCatalog ? record() : input, new Error()),
    );
    if (tool !== name) functions[name] = fresh;
    return fresh;
  }

  function toolFunction(name: string): ToolFunction {
    return functions[name] ?? makeToolFunction(name);
  }

  const refuse = (): never => {
    throw new primordial.TypeError("Cannot change tools: they are given by the host");
  };

  /** In the catalog profile as with any frozen object: it has no effect, and throws in strict code. */
  const ignore = (): false => (isCatalog ? false : refuse());

  const tools = new primordial.Proxy(record(), {
    __proto__: null,
    get: (_target: object, key: string | symbol): unknown =>
      // First what was asked for before: programs call the same few tools again and again.
      functions[key as string] ??
      // `then` must stay absent, or awaiting `tools` would call it.
      (typeof key === "symbol" || (!hasOwn(known, key) && (isCatalog || key === "then" || key === "toJSON"))
        ? undefined
        : makeToolFunction(key)),
    has: (_target: object, key: string | symbol): boolean => typeof key === "string" && hasOwn(known, key),
    ownKeys: (): string[] => keys(known),
    getOwnPropertyDescriptor: (_target: object, key: string | symbol): PropertyDescriptor | undefined =>
      typeof key === "string" && hasOwn(known, key)
        ? ({
            __proto__: null,
            value: toolFunction(key),
            enumerable: true,
            configurable: true,
            writable: false,
          } as PropertyDescriptor)
        : undefined,
    getPrototypeOf: (): null => null,
    isExtensible: (): boolean => true,
    set: ignore,
    defineProperty: refuse,
    deleteProperty: ignore,
    setPrototypeOf: refuse,
    preventExtensions: refuse,
  } as ProxyHandler<object>);

  exposeFixed("tools", tools);

  return {
    addTools: (names) => {
      for (let index = 0; index < names.length; index++) known[names[index] as string] = index;
    },
    addFunctions: (added) => {
      isCatalog = true;
      const names = keys(added);
      for (let index = 0; index < names.length; index++) {
        const name = names[index] as string;
        known[name] = -1;
        functions[name] = added[name] as ToolFunction;
      }
    },
    close: () => void freeze(known),
  };
}
