/**
 * Contestant: one way to run a source with tools, behind one interface.
 *
 * - `open` imports the library, so that cold start can be timed from outside; nothing is imported before it.
 * - `run` gives the source's value or rejects: a refusal, a failure and a time-out all reject.
 * - `tools` is one object per workload, so an adapter may translate it once and keep the translation.
 */

export type GuestTools = Readonly<Record<string, (input: GuestInput) => unknown>>;
export type GuestInput = Readonly<Record<string, number>>;

/** How a tool asks for a decision: it stops its run, and is called again when the decision is there. */
export interface Decision {
  readonly answer: number | undefined;
  ask(): never;
}
export type AskingTools = Readonly<Record<string, (input: GuestInput, decision: Decision) => unknown>>;

/** A run that waits for a decision. */
export interface Suspended {
  /** All of the run that its user has to keep, sealed or signed, as text. */
  readonly token: string;
  /** Goes on from the token, to the source's value. */
  resume(answer: number): Promise<unknown>;
}

export interface RunOptions {
  /** Wall time after which the contestant has to stop the run; its own default otherwise. */
  readonly timeoutMs?: number;
}

/** What a workload is about to do, for contestants that have a setting for it. */
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
  /** Whether it is meant to hold hostile code. */
  readonly sandbox: boolean;
  /** Whether it can stop a source that never yields. */
  readonly stopsLoops: boolean;
  /** Flags of node without which it cannot run at all. */
  readonly nodeFlags?: readonly string[];
  /** A second configuration of another contestant, and the workloads in which it makes a difference. */
  readonly variant?: { readonly of: string; readonly workloads: readonly string[] };
  open(): Promise<void>;
  /** Called before each block of runs; settings that are global to the process are put here. */
  prepare?(load: Load): void;
  run(source: string, tools: GuestTools, options?: RunOptions): Promise<unknown>;
  /** Runs a source until one of its tools asks; absent where a run cannot be continued elsewhere. */
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
