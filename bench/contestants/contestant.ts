/**
 * Contestant: one way to run a source with tools, behind one interface.
 *
 * - `open` imports the library, so that cold start can be timed from outside. Nothing is imported before.
 * - `run` gives the source's value or rejects. A refusal, a failure and a time-out all reject.
 * - `tools` is one object per workload, so that an adapter may translate it once and keep the translation.
 */

export type GuestTools = Readonly<Record<string, (input: GuestInput) => unknown>>;
export type GuestInput = Readonly<Record<string, number>>;

/** How a tool asks for a decision: it stops its run, and is called again with the decision. */
export interface Decision {
  readonly answer: number | undefined;
  ask(): never;
}
export type AskingTools = Readonly<Record<string, (input: GuestInput, decision: Decision) => unknown>>;

/** A run that waits for a decision. */
export interface Suspended {
  /** All that a user has to keep of the run, sealed or signed, as text. */
  readonly token: string;
  /** Goes on from the token, and gives the source's value. */
  resume(answer: number): Promise<unknown>;
}

export interface RunOptions {
  /** Wall time after which the contestant has to stop the run; default is its own. */
  readonly timeoutMs?: number;
}

/** What a workload is about to do, for contestants with a setting for it. */
export interface Load {
  readonly inFlight: number;
  /** Whether the runs mostly wait for tools, or keep a core busy. */
  readonly mostly: "waiting" | "computing";
}

export interface Contestant {
  readonly id: string;
  readonly name: string;
  readonly kind: "self" | "peer" | "floor";
  readonly engine: "quickjs" | "v8";
  /** Whether the contestant is meant to hold hostile code. */
  readonly sandbox: boolean;
  /** Whether the contestant can stop a source that never yields. */
  readonly stopsLoops: boolean;
  /** Flags of node that the contestant needs to run at all. */
  readonly nodeFlags?: readonly string[];
  /** Set for a second configuration of another contestant, with the workloads in which it makes a difference. */
  readonly variant?: { readonly of: string; readonly workloads: readonly string[] };
  open(): Promise<void>;
  /** Called before each block of runs. Settings that are global to the process are made here. */
  prepare?(load: Load): void;
  run(source: string, tools: GuestTools, options?: RunOptions): Promise<unknown>;
  /** Runs a source until one of its tools asks. Absent if a run cannot be continued elsewhere. */
  suspend?(source: string, tools: AskingTools): Promise<Suspended>;
  close(): Promise<void>;
}

/** Translates each tools object once. */
export function createTranslation<Tools extends object, Translated>(
  translate: (tools: Tools) => Translated,
): (tools: Tools) => Translated {
  const known = new WeakMap<Tools, Translated>();
  return (tools) => {
    let translated = known.get(tools);
    if (translated === undefined) {
      translated = translate(tools);
      known.set(tools, translated);
    }
    return translated;
  };
}
