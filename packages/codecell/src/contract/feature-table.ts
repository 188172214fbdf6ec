/**
 * FeatureTable: what a program may have beside the language, one entry per feature. Runs anywhere.
 *
 * - All that is known of a feature everywhere is said here. What else knows it: its installer inside the guest
 *   (guest/inside/installers.ts), and its option on the host (run/host/feature-options.ts).
 * - Data alone: ./features.ts derives from it, and so does guest/abi.ts. The order is that of installation.
 */

export interface GuestFeature {
  /**
   * What a run's settings say of it: nothing, since every program has it; `true` where the program has it; or a text that
   * its globals are made from.
   */
  readonly setting: "always" | "flag" | "text";
  /** The globals that a program has with it, and without it does not have. */
  readonly globals: readonly string[];
  /** Declares these globals for the check; those that are namespaces of its own are declared by their members. */
  readonly declarations: string;
  /**
   * Functions that it puts into namespaces: objects that hold what can be called. By the name of the global, then by the
   * name of the function, each with its declaration. No tool can have such a name there.
   */
  readonly namespaces: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Globals that tell a program by which names it can call: one that reads them may call anything. */
  readonly listings: readonly string[];
  /** Calls that its functions make, behind the tools of a run. */
  readonly calls: readonly FeatureCall[];
}

export type FeatureCall = CallNames & (CallOfRun | CallOfHost);

/** How a call is named, to everybody who meets it. */
export interface CallNames {
  /** What it is recorded as a call of. */
  readonly name: string;
  /** How a program writes it. */
  readonly shown: string;
  /** What a program is told that calls a tool by `name` instead. */
  readonly instead: string;
}

/** It ends with the outcome of a tool of the run that has its name, or when the run is resumed. */
export interface CallOfRun {
  readonly endedBy: "tool" | "resume";
}

/** The host itself serves it: middleware and policy are for tools, and are not asked. */
export interface CallOfHost {
  readonly endedBy: "host";
  /** What a message calls one. */
  readonly noun: string;
  /** What a host has to be given to serve it. */
  readonly needs: string;
}

export const FEATURE_TABLE = {
  tools: {
    setting: "always",
    globals: ["tools"],
    // The check declares it by the tools of the run.
    declarations: "",
    namespaces: { tools: {} },
    listings: [],
    calls: [],
  },
  /** The catalog profile. Its text is what `ALL_TOOLS` holds, as JSON; empty for a program that cannot ask for it. */
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
  },
  /** A call that the program has not waited for when it returns fails it; without this the run waits for such calls. */
  detachedFails: {
    setting: "flag",
    globals: [],
    declarations: "",
    namespaces: {},
    listings: [],
    calls: [],
  },
  /** The program may give control back until its run is resumed. */
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
  /** What it may reach is not among the settings: each host has its own policy. */
  fetch: {
    setting: "flag",
    globals: ["fetch"],
    // What a response has is read-only, and its class is no global.
    declarations: `
interface FetchResponse {
  readonly ok: boolean; readonly status: number; readonly statusText: string; readonly url: string; readonly redirected: boolean;
  readonly headers: Headers; readonly bodyUsed: boolean;
  text(): Promise<string>; json(): Promise<any>; bytes(): Promise<Uint8Array>; arrayBuffer(): Promise<ArrayBuffer>;
  clone(): FetchResponse; toJSON(): object;
}
declare function fetch(url: string | URL, init?: {
  method?: string; headers?: Headers | Iterable<readonly [string, string]> | string[][] | Record<string, string>;
  body?: string | URLSearchParams | ArrayBufferView | ArrayBufferLike | null; redirect?: "follow" | "manual" | "error";
  signal?: AbortSignal | null; [option: string]: unknown;
}): Promise<FetchResponse>;`,
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
      },
    ],
  },
} as const;
