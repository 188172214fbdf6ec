/** What the surfaces share: sizes that the default limits allow, and values that are made once. */
import { LIMIT_BOUNDS, resolveLimits } from "../../packages/codecell/src/contract/limits.ts";
import type { AnyTool } from "../../packages/codecell/src/contract/tool.ts";
import type { Json } from "../../packages/codecell/src/contract/value.ts";
import { LedgerRecorder } from "../../packages/codecell/src/ledger/ledger-recorder.ts";
import { Vault } from "../../packages/codecell/src/seal/vault.ts";
import { resolveCodeMode } from "../../packages/codecell/src/surface/config.ts";
import { toLimits } from "../../packages/codecell/src/surface/settings-limits.ts";
import type { Prepared } from "./thread-time.ts";

export interface Surface {
  readonly name: string;
  /** What a program chooses: a text, words that nobody knows, JSON text, or log lines of that size together. */
  readonly given: "text" | "words" | "json" | "lines";
  /** Most characters. */
  readonly most: number;
  /** Runs before the measurement, and gives the work to measure. */
  readonly prepare: (given: string) => Prepared;
  /** Bytes of the result that are the run's own: a resumed run, with what its calls wait for. */
  readonly own?: number;
}

/** Bytes that an input of the most fields takes as a value. */
export const VALUE_BYTES = 10_000_000;

export const LIMITS = resolveLimits();
export const INPUT = LIMIT_BOUNDS.callInputBytes.default;
/** Output of a tool that gives its input back. A larger output is the tool's own choice. */
export const OUTPUT = LIMIT_BOUNDS.callInputBytes.default;
export const RESULT = LIMIT_BOUNDS.resultBytes.default;

const codeMode = resolveCodeMode(true);
if (codeMode.status !== "on") throw new Error("The defaults of code mode do not resolve");
/** The defaults of code mode. */
export const SETTINGS = codeMode.settings;
/** The limits of a program of `exec`; some of them are larger than those of other runs. */
export const EXEC_LIMITS = resolveLimits(toLimits(SETTINGS, new Set(), {}));

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
  abort: new AbortController(),
  resolutions: [],
  snapshot: undefined,
};
