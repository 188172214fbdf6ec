/**
 * Tools: the `tools` global. Runs inside the guest.
 *
 * - Reads like an object with one function per tool; nothing can be added, changed or removed.
 * - In the direct profile a name without a tool also gives a function: calling it asks the host, which answers with the
 *   closest names. In the catalog profile such a name gives undefined.
 * - Features may add functions that are not tools.
 */
import { freeze, hasOwn, keys, primordial, record } from "../primordials.ts";
import { exposeNamespace } from "./namespace.ts";

const { Error } = primordial;

type ToolFunction = (...args: never[]) => Promise<unknown>;

export type ToolFunctions = Readonly<Record<string, ToolFunction>>;

/** Asks the host for a tool, by its index or by a name that may have no tool. */
export type MakeCall = (tool: number | string, input: unknown, error: Error) => Promise<unknown>;

interface InstalledTools {
  readonly addTools: (names: readonly string[], isCatalogProfile: boolean) => void;
  /** Adds functions of features. */
  readonly addFunctions: (functions: ToolFunctions) => void;
  /** Ends the adding of tools. */
  readonly close: () => void;
}

/** Installs `tools` when the image is built; the names arrive when a run starts. */
export function installTools(call: MakeCall): InstalledTools {
  /** The index of each tool by name. */
  const known = record<number>();
  const functions = record<ToolFunction>();
  let isCatalog = false;

  function makeToolFunction(name: string): ToolFunction {
    const tool = known[name] ?? name;
    // The error is made here, because here the fewest of our own frames lie above the program's; each frame costs time.
    const fresh = freeze((input: unknown) =>
      call(tool, input === undefined && isCatalog ? record() : input, new Error()),
    );
    if (tool !== name) functions[name] = fresh;
    return fresh;
  }

  function toolFunction(name: string): ToolFunction {
    return functions[name] ?? makeToolFunction(name);
  }

  exposeNamespace({
    name: "tools",
    members: known,
    valueOf: toolFunction,
    get: (_target, key) =>
      // Functions that were already made come first, because programs call the same few tools again and again.
      functions[key as string] ??
      // `then` must stay absent; otherwise awaiting `tools` would call it.
      (typeof key === "symbol" || (!hasOwn(known, key) && (isCatalog || key === "then" || key === "toJSON"))
        ? undefined
        : makeToolFunction(key)),
    // In the catalog profile writing behaves as with any frozen object: no effect, and an error in strict code.
    write: (refuse) => (isCatalog ? false : refuse()),
  });

  return {
    addTools: (names, isCatalogProfile) => {
      isCatalog = isCatalogProfile;
      for (let index = 0; index < names.length; index++) known[names[index] as string] = index;
    },
    addFunctions: (added) => {
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
