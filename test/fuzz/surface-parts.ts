/** What the surfaces have in common: sizes that the default limits admit, and what is made once. */
import { LIMIT_BOUNDS, resolveLimits } from "../../packages/codecell/src/contract/limits.ts";
import type { AnyTool } from "../../packages/codecell/src/contract/tool.ts";
import type { Json } from "../../packages/codecell/src/contract/value.ts";
import { LedgerRecorder } from "../../packages/codecell/src/ledger/ledger-recorder.ts";
import { Vault } from "../../packages/codecell/src/seal/vault.ts";
import type { Prepared } from "./thread-time.ts";

export interface Surface {
  readonly name: string;
  /** What a program chooses: a text, JSON text, or log lines that are as large together. */
  readonly given: "text" | "json" | "lines";
  /** In characters. */
  readonly most: number;
  /** Done before it is measured, with what it gives being what is measured. */
  readonly prepare: (given: string) => Prepared;
  /** Bytes of what it makes that are the run's own: a run that is taken up again, with what its calls wait for. */
  readonly own?: number;
}

/** What an input of the most fields takes as a value. */
export const VALUE_BYTES = 10_000_000;

export const LIMITS = resolveLimits();
export const INPUT = LIMIT_BOUNDS.callInputBytes.default;
/** A tool that gives back what it is given: more is the tool's own. */
export const OUTPUT = LIMIT_BOUNDS.callInputBytes.default;
export const RESULT = LIMIT_BOUNDS.resultBytes.default;

export const tool: AnyTool = { description: "Gives something back", execute: () => null };
export const parsed = (json: string): Json => JSON.parse(json) as Json;
export const recorderOf = (input: string): LedgerRecorder =>
  new LedgerRecorder(
    {
      runId: "r",
      source: "",
      language: "javascript",
      seed: "",
      clock: 0,
      limits: LIMITS,
      toolNames: [],
      features: {},
    },
    {
      calls: Array.from({ length: 7 }, () => ({ tool: "t", input })),
      deliveries: [{ clock: 1, items: [{ kind: "output", call: 0, output: input }] }],
    },
  );
export const vault = new Vault({ sealKey: new Uint8Array(32).fill(7) });
export const REST = {
  pending: new Map(),
  timers: [],
  executing: new Map(),
  resolutions: [],
  snapshot: undefined,
};
