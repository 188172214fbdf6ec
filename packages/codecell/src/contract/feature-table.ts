/**
 * Runs anywhere. The feature table says what a program may have beside the language, one entry per feature.
 *
 * - An entry says all that other code has to know of a feature. The rest is its installer inside the guest
 *   (guest/inside/installers.ts) and its option on the host (run/host/feature-options.ts).
 * - The table is data only: ./features.ts and guest/abi.ts derive from it. Its order is the order of installation.
 */

export interface GuestFeature {
  /**
   * What a run's settings say of the feature. `always`: nothing, since every program has it. `flag`: `true` if the
   * program has it. `text`: a text from which its globals are made.
   */
  readonly setting: "always" | "flag" | "text";
  /** The globals that a program has only with this feature. */
  readonly globals: readonly string[];
  /**
   * Declares these globals for the check. A global that is a namespace of the feature is declared by its members
   * instead.
   */
  readonly declarations: string;
  /**
   * Functions that the feature puts into namespaces (objects that hold what can be called), with their declarations:
   * by the name of the global, then by the name of the function. No tool can have such a name there.
   */
  readonly namespaces: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Globals that list the names a program can call. A program that reads them may call anything. */
  readonly listings: readonly string[];
  /** Calls behind the tools that the functions of the feature make. */
  readonly calls: readonly FeatureCall[];
  /**
   * A program with this feature is in the catalog profile: a name without a tool is absent from `tools`, a call
   * without an input has an empty one, and a program need not return a value.
   */
  readonly isCatalogProfile?: true;
}

export type FeatureCall = CallNames & (CallOfRun | CallOfHost);

/** The names of a call. */
export interface CallNames {
  /** The name under which the call is recorded. */
  readonly name: string;
  /** How a program writes the call. */
  readonly shown: string;
  /** What the message says to a program that calls a tool by `name` instead. */
  readonly instead: string;
}

/** The call ends with the outcome of the run's tool that has its name, or when the run is resumed. */
export interface CallOfRun {
  readonly endedBy: "tool" | "resume";
}

/** The host itself serves the call. Middleware and policy are for tools and are not asked. */
export interface CallOfHost {
  readonly endedBy: "host";
  /** What a message calls such a call. */
  readonly noun: string;
  /** What a host needs in order to serve the call. */
  readonly needs: string;
  /** Whether a call whose outcome is unknown may be made again: it changes nothing, or is the same twice as once. */
  readonly isRepeatable: boolean | RepeatableInputs;
}

/** Calls with these inputs may be made again: each field named here has one of its texts, in any case of letters. */
export type RepeatableInputs = Readonly<Record<string, readonly string[]>>;

export const FEATURE_TABLE = {
  tools: {
    setting: "always",
    globals: ["tools"],
    // The check declares `tools` by the tools of the run.
    declarations: "",
    namespaces: { tools: {} },
    listings: [],
    calls: [],
  },
  /** The catalog profile. Its text is the JSON of `ALL_TOOLS`; empty for a program that cannot ask for `ALL_TOOLS`. */
  catalog: {
    setting: "text",
    globals: ["ALL_TOOLS", "text", "json", "load_result"],
    declarations: `
declare const ALL_TOOLS: readonly { readonly id: string; readonly name: string; readonly label?: string; readonly description: string; readonly source: string; readonly sourceName: string }[];
declare function text(value: unknown): void;
declare function json(value: unknown): void;
declare function load_result(ref: string, options?: { from?: number; count?: number }): Promise<any>;`,
    namespaces: {
      tools: {
        search: "search(query: string, options?: { limit?: number }): Promise<any[]>",
        describe: "describe(id: string): Promise<any>",
        call: "call(id: string, input?: unknown): Promise<any>",
      },
    },
    listings: ["ALL_TOOLS"],
    calls: [
      { name: "catalog.search", shown: "tools.search", instead: "see ALL_TOOLS", endedBy: "tool" },
      { name: "catalog.describe", shown: "tools.describe", instead: "see ALL_TOOLS", endedBy: "tool" },
      { name: "catalog.load", shown: "load_result", instead: "see ALL_TOOLS", endedBy: "tool" },
    ],
    isCatalogProfile: true,
  },
  /**
   * Fails a program that returns without having waited for a call. Without this feature the run waits for such calls.
   */
  detachedFails: {
    setting: "flag",
    globals: [],
    declarations: "",
    namespaces: {},
    listings: [],
    calls: [],
  },
  /** Lets the program give control back until its run is resumed. */
  yield: {
    setting: "flag",
    globals: ["yield_control"],
    declarations: "declare function yield_control(reason?: string): Promise<void>;",
    namespaces: {},
    listings: [],
    calls: [
      {
        name: "yield_control",
        shown: "yield_control",
        instead: "it is a function of its own: await yield_control()",
        endedBy: "resume",
      },
    ],
  },
  /**
   * Handles of backends. The text is the JSON of `HandleSetting`, which also says how the root object is called and
   * declared: the name here is its default. `callTool` is not among the calls: it is a call of the tool itself.
   */
  connectors: {
    setting: "text",
    globals: ["connectors"],
    declarations: "",
    namespaces: {},
    listings: [],
    calls: [
      {
        name: "connectors.inspect",
        shown: "handle.inspect",
        instead: "it is a method of handles: await handle.inspect(…)",
        endedBy: "tool",
      },
      {
        name: "connectors.check",
        shown: "handle.check",
        instead: "it is a method of handles: await handle.check(…)",
        endedBy: "tool",
      },
      {
        name: "connectors.tools",
        shown: "handle.tools",
        instead: "it is a method of handles: await handle.tools(…)",
        endedBy: "tool",
      },
      {
        name: "connectors.searchTools",
        shown: "handle.searchTools",
        instead: "it is a method of handles: await handle.searchTools(…)",
        endedBy: "tool",
      },
      {
        name: "connectors.describeTool",
        shown: "handle.describeTool",
        instead: "it is a method of handles: await handle.describeTool(…)",
        endedBy: "tool",
      },
      {
        name: "connectors.resources",
        shown: "handle.resources",
        instead: "it is a method of handles: await handle.resources(…)",
        endedBy: "tool",
      },
      {
        name: "connectors.searchResources",
        shown: "handle.searchResources",
        instead: "it is a method of handles: await handle.searchResources(…)",
        endedBy: "tool",
      },
      {
        name: "connectors.resourceTemplates",
        shown: "handle.resourceTemplates",
        instead: "it is a method of handles: await handle.resourceTemplates(…)",
        endedBy: "tool",
      },
      {
        name: "connectors.readResource",
        shown: "handle.readResource",
        instead: "it is a method of handles: await handle.readResource(…)",
        endedBy: "tool",
      },
      {
        name: "connectors.prompts",
        shown: "handle.prompts",
        instead: "it is a method of handles: await handle.prompts(…)",
        endedBy: "tool",
      },
      {
        name: "connectors.searchPrompts",
        shown: "handle.searchPrompts",
        instead: "it is a method of handles: await handle.searchPrompts(…)",
        endedBy: "tool",
      },
      {
        name: "connectors.getPrompt",
        shown: "handle.getPrompt",
        instead: "it is a method of handles: await handle.getPrompt(…)",
        endedBy: "tool",
      },
      {
        name: "connectors.complete",
        shown: "handle.complete",
        instead: "it is a method of handles: await handle.complete(…)",
        endedBy: "tool",
      },
    ],
  },
  /** The settings do not say what the program may reach: each host has its own policy. */
  fetch: {
    setting: "flag",
    globals: ["fetch"],
    // Declared in ./web-declarations.ts.
    declarations: "",
    namespaces: {},
    listings: [],
    calls: [
      {
        name: "globalThis.fetch",
        shown: "fetch",
        instead: "it is a function of its own: await fetch(url)",
        endedBy: "host",
        noun: "a fetch",
        needs: "a fetchPolicy",
        // Methods that change nothing, as HTTP defines them.
        isRepeatable: { method: ["GET", "HEAD"] },
      },
    ],
  },
  /** Blob, streams, requests and their like: data only. Declared in ./web-declarations.ts, which no guest carries. */
  web: {
    setting: "flag",
    globals: [
      "Blob",
      "File",
      "FormData",
      "Request",
      "Response",
      "ReadableStream",
      "ReadableStreamDefaultController",
      "ReadableStreamDefaultReader",
      "WritableStream",
      "WritableStreamDefaultController",
      "WritableStreamDefaultWriter",
      "TransformStream",
      "TransformStreamDefaultController",
      "ByteLengthQueuingStrategy",
      "CountQueuingStrategy",
      "TextEncoderStream",
      "TextDecoderStream",
      "Buffer",
    ],
    declarations: "",
    namespaces: {},
    listings: [],
    calls: [],
  },
} as const;
