/**
 * Surfaces: every function on the host's thread that works on what a program chooses, as
 * docs/internals/host-thread.md lists them.
 *
 * Sizes are what the default limits allow. Other arguments of a function are made once.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { closestNames, noSuchTool } from "../../packages/codecell/src/calls/closest-names.ts";
import type { RecordNames } from "../../packages/codecell/src/value/json-text.ts";
import { isLargeText, parseJson } from "../../packages/codecell/src/value/parse-json.ts";
import { inTurns } from "../../packages/codecell/src/loop/turn.ts";
import { parseAnswers } from "../../packages/codecell/src/protocol/messages.ts";
import { createCatalog } from "../../packages/codecell/src/catalog/catalog.ts";
import {
  createSearchIndex,
  type SearchIndex,
} from "../../packages/codecell/src/catalog/search/search-index.ts";
import type { LogLine } from "../../packages/codecell/src/contract/result.ts";
import { LIMIT_BOUNDS } from "../../packages/codecell/src/contract/limits.ts";
import { parseRequest } from "../../packages/codecell/src/fetch/request.ts";
import { resolveFetchPolicy } from "../../packages/codecell/src/fetch/policy.ts";
import { globalsFor } from "../../packages/codecell/src/run/host/guest-catalog.ts";
import { inspect } from "../../packages/codecell/src/ledger/inspect.ts";
import { Tokens } from "../../packages/codecell/src/durable/token.ts";
import { cutValue } from "../../packages/codecell/src/surface/output/cut-value.ts";
import { toModelError } from "../../packages/codecell/src/surface/shown/failure-codes.ts";
import { OutputBudget } from "../../packages/codecell/src/surface/output/output-budget.ts";
import { toItems } from "../../packages/codecell/src/surface/output/output-items.ts";
import { SavedValues } from "../../packages/codecell/src/surface/output/saved-values.ts";
import { Trajectory } from "../../packages/codecell/src/surface/record/trajectory.ts";
import { isSameJson } from "../../packages/codecell/src/adapters/ai-sdk/continuation.ts";
import { toConsole } from "../../packages/codecell/src/adapters/ai-sdk/model-output.ts";
import { withoutQuery } from "../../packages/codecell/src/adapters/ai-sdk/telemetry.ts";
import { loadSet, SET_NAMES } from "../tool-search/sets.ts";
import { CALL_SURFACES } from "./call-surfaces.ts";
import {
  EXEC_LIMITS,
  recorderOf,
  INPUT,
  OUTPUT,
  parsed,
  REST,
  SETTINGS,
  type Surface,
  tool,
  vault,
} from "./surface-parts.ts";
import { encodeOutput } from "../../packages/codecell/src/calls/encode-output.ts";

const LOGS = LIMIT_BOUNDS.logBytes.default;
const SOURCE = LIMIT_BOUNDS.sourceBytes.default;
/** Most characters of an error's message that the guest lets pass. */
const MESSAGE = 65_536;
const OUTPUT_BYTES = SETTINGS.maxOutputBytes;

const tools = Object.fromEntries(
  Array.from({ length: 300 }, (_, at) => [`tool_${at.toString(36)}_get`, tool]),
);
const catalog = createCatalog([{ kind: "core", owner: "core", tools }]);
/** Real tools, 6,513 of them, with 14,586 words. Made when it is needed, since that takes long. */
let realTools: SearchIndex | undefined;
const ofRealTools = (): SearchIndex =>
  (realTools ??= createSearchIndex(SET_NAMES.flatMap((name) => loadSet(name).documents)));
const policy = resolveFetchPolicy({
  allowedUrlPrefixes: ["http://a.example/x"],
  allowedMethods: ["GET", "POST"],
});
const names = new Set(catalog.names.keys());
const guestCatalog = { names, allTools: (): string => "[]" };

const quietly = (work: () => unknown) => (): unknown => {
  try {
    return work();
  } catch {
    // A surface may refuse its input.
    return undefined;
  }
};
const EXEC_RESULT = EXEC_LIMITS.resultBytes;
const EXEC_LOGS = EXEC_LIMITS.logBytes;
/** What `exec` answers to a program that ended. */
const shown = async (lines: readonly LogLine[]): Promise<unknown> => {
  const budget = new OutputBudget(OUTPUT_BYTES, savedValues());
  return inTurns(budget.finish(await inTurns(toItems(lines)), 0, null));
};
const linesOf = (text: string): { level: "log"; text: string }[] =>
  text.split("\n").map((line) => ({ level: "log", text: line }));
const savedValues = (): SavedValues => new SavedValues({ maxBytes: 16 * 1024 * 1024, maxValues: 100 });
const tokens = new Tokens(vault);
const reportOf = (calls: readonly object[], logs: readonly object[]): object => ({
  cell: 1,
  calls,
  timers: [],
  logs,
  logsDropped: 0,
  cpuTimeMs: 1,
  end: null,
  unhandled: null,
  isOver: false,
});

export const SURFACES: readonly Surface[] = [
  {
    name: "input or result: parse",
    given: "json",
    most: INPUT,
    prepare: (json) => () => parseJson(json, INPUT),
  },
  {
    name: "output: encode",
    given: "json",
    most: OUTPUT,
    prepare: (json) => {
      const value = parsed(json);
      return quietly(() => encodeOutput({ features: {}, tool: "t" }, value, OUTPUT));
    },
  },
  {
    name: "report: parse",
    given: "lines",
    most: LOGS,
    prepare: (text) => {
      const report = reportOf(
        Array.from({ length: 4096 }, (_, at) => ({ tool: "t", input: `${at}` })),
        linesOf(text),
      );
      return () => parseAnswers([report]);
    },
  },
  {
    name: "ledger: record a report",
    given: "lines",
    most: LOGS,
    prepare: (text) => {
      const report = reportOf(
        Array.from({ length: 4096 }, (_, at) => ({ tool: "t", input: `${at}` })),
        linesOf(text),
      );
      return () => recorderOf("1").read(report as never);
    },
  },
  {
    name: "tool name: closest",
    given: "text",
    most: INPUT,
    prepare: (text) => () => [noSuchTool(text, tools), closestNames(text, Object.keys(tools))],
  },
  { name: "tools.search", given: "text", most: INPUT, prepare: (text) => () => catalog.search(text) },
  {
    name: "tools.search: unknown words, thousands of tools",
    given: "words",
    most: 2000,
    prepare: (words) => {
      const index = ofRealTools();
      return () => index.search(words);
    },
  },
  { name: "tools.describe", given: "text", most: INPUT, prepare: (text) => () => catalog.describe(text) },
  {
    name: "observed output: learn",
    given: "json",
    most: OUTPUT,
    prepare: (json) => {
      const value = parsed(json);
      return () => catalog.observe("core:core:tool_0_get", value);
    },
  },
  {
    name: "source: which tools it names",
    given: "text",
    most: SOURCE,
    prepare: (text) => () => globalsFor(text, guestCatalog),
  },
  {
    name: "failure: one line for the model",
    given: "text",
    most: SOURCE,
    prepare: (text) => () =>
      toModelError(
        { code: "syntax_error", message: text.slice(0, MESSAGE) },
        { language: "javascript", source: text, calls: 0 },
      ),
  },
  {
    name: "fetch: request",
    given: "text",
    most: INPUT,
    prepare: (text) => quietly(() => parseRequest({ url: text }, policy)),
  },
  {
    name: "fetch: path",
    given: "text",
    most: 16_000,
    prepare: (text) => quietly(() => parseRequest({ url: `http://a.example/x/${text}` }, policy)),
  },
  {
    name: "fetch: headers and body",
    given: "text",
    most: INPUT,
    prepare: (text) =>
      quietly(() =>
        parseRequest(
          {
            url: "http://a.example/x",
            method: text.slice(0, 99),
            headers: { [text.slice(0, 256)]: text, a: text },
            bodyBase64: text,
          },
          policy,
        ),
      ),
  },
  { name: "fetch: span", given: "text", most: INPUT, prepare: (text) => () => withoutQuery(text) },
  {
    name: "exec: value and output",
    given: "json",
    most: EXEC_RESULT,
    prepare: (json) => async () => {
      const recordNames: RecordNames = new Map();
      const read = await parseJson(json, EXEC_RESULT, undefined, recordNames);
      if (!read.ok) throw new RangeError(read.problem);
      const budget = new OutputBudget(OUTPUT_BYTES, savedValues());
      return inTurns(
        budget.finish([], 0, read.value, isLargeText(json) ? { json, names: recordNames } : undefined),
      );
    },
  },
  {
    name: "exec: log lines",
    given: "lines",
    most: EXEC_LOGS,
    prepare: (text) => {
      const lines = linesOf(text);
      return () => shown(lines);
    },
  },
  {
    name: "exec: json items",
    given: "json",
    most: EXEC_LOGS,
    prepare: (text) => () => shown([{ level: "json", text }]),
  },
  {
    name: "cut value",
    given: "json",
    most: OUTPUT,
    prepare: (json) => {
      const value = parsed(json);
      return () => cutValue(value, { bytes: json.length, maxBytes: 16_384, ref: "r_1" });
    },
  },
  {
    name: "load_result: a part",
    given: "json",
    most: EXEC_RESULT,
    prepare: (json) => {
      const values = savedValues();
      const ref = values.save(json) ?? "";
      return () => values.load(ref, { from: 1, count: 1e9 });
    },
  },
  {
    name: "load_result: which",
    given: "text",
    most: INPUT,
    prepare: (text) => () => savedValues().load(text),
  },
  {
    name: "trajectory: a call",
    given: "json",
    most: INPUT,
    prepare: (json) => {
      const value = parsed(json);
      return async () => {
        const trajectory = new Trajectory();
        const inputBytes = json.length;
        trajectory.startCall({ parentToolCallId: "p", callId: "c", tool: "t", input: value, inputBytes });
        // The tool is called in between.
        await nextTurn();
        trajectory.endCall("c", { status: "completed", result: value, resultBytes: json.length });
      };
    },
  },
  {
    name: "trajectory: an exec",
    given: "text",
    most: SOURCE,
    prepare: (text) => () => {
      const trajectory = new Trajectory({ redact: (record) => record });
      trajectory.end(trajectory.begin("exec", "c", text), "completed", text);
      return trajectory.export();
    },
  },
  {
    name: "codecell/ai: compare inputs",
    given: "json",
    most: INPUT,
    prepare: (json) => {
      const [value, other] = [parsed(json), parsed(json)];
      return () => isSameJson(value, other);
    },
  },
  {
    name: "codecell/ai: log lines",
    given: "lines",
    most: LOGS,
    prepare: (text) => () => toConsole({ logs: linesOf(text), logsDropped: 0 }),
  },
  {
    name: "ledger: inspect",
    given: "json",
    most: INPUT,
    prepare: (json) => {
      const ledger = recorderOf(json).toLedger();
      return () => inspect(ledger);
    },
  },
  {
    name: "suspend: print and seal",
    given: "json",
    most: INPUT,
    prepare: (json) => {
      const recorder = recorderOf(json);
      return () => tokens.issue(recorder, "", "e", REST);
    },
  },
  ...CALL_SURFACES,
];
