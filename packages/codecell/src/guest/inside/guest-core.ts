/**
 * GuestCore: what the core gives to the installers of features and to nobody else. Types only. For code inside the
 * guest.
 */
import type { StandIn } from "./calls/call-watch.ts";
import type { MakeCall, ToolFunctions } from "./calls/tools.ts";

/** The part of the core that an installer may use. */
export interface GuestCore {
  /** Makes a call of a feature, by its index in `BEHIND`. */
  readonly ask: (behind: number, input: unknown, error: Error) => Promise<unknown>;
  /** Makes the same call, so that `giveUp` can find it by its promise. */
  readonly askAbortable: (behind: number, input: unknown, error: Error) => Promise<unknown>;
  /** Gives a call up: the program no longer waits for its outcome. */
  readonly giveUp: (call: Promise<unknown>) => void;
  readonly callTool: MakeCall;
  readonly log: (level: string, text: string) => void;
  /** Adds functions to `tools` that are not tools. */
  readonly addToTools: (functions: ToolFunctions) => void;
  /** Sets how the program's result is written. */
  readonly encodeResultWith: (encode: (value: unknown) => string) => void;
  /** From now on the program has to wait for every call. */
  readonly watchCalls: () => void;
  /**
   * For a function that waits for its call itself and gives the program another promise. Undefined if the program need
   * not wait for its calls.
   */
  readonly standIn: () => StandIn | undefined;
}

/** Installs a feature; `text` is its setting if the setting is a text. */
export type Installer = (core: GuestCore, text: string) => void;
