/** GuestCore: what the core gives to the installers of features, and nothing else of the guest gets. Types only. */
import type { StandIn } from "./calls/call-watch.ts";
import type { MakeCall, ToolFunctions } from "./calls/tools.ts";

/** What an installer may use of the core. */
export interface GuestCore {
  /** Calls something of `BEHIND`, by its index there. */
  readonly ask: (behind: number, input: unknown, error: Error) => Promise<unknown>;
  /** Makes the same call, which `giveUp` then knows by its promise. */
  readonly askAbortable: (behind: number, input: unknown, error: Error) => Promise<unknown>;
  /** Nobody waits any longer for what a call comes to. */
  readonly giveUp: (call: Promise<unknown>) => void;
  /** Calls a tool. */
  readonly callTool: MakeCall;
  /** Writes a log line. */
  readonly log: (level: string, text: string) => void;
  /** Puts functions into `tools` that are no tools. */
  readonly addToTools: (functions: ToolFunctions) => void;
  /** From now on the program's result is written in this way. */
  readonly encodeResultWith: (encode: (value: unknown) => string) => void;
  /** From now on the program has to wait for every call. */
  readonly watchCalls: () => void;
  /**
   * For a function that waits for its call itself and gives the program a promise of its own. Undefined where the program
   * need not wait for its calls.
   */
  readonly standIn: () => StandIn | undefined;
}

/** Installs a feature; `text` is its setting where that is a text. */
export type Installer = (core: GuestCore, text: string) => void;
