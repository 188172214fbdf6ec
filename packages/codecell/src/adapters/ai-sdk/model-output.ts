/**
 * Runs on the host. Model output: what a model learns of a finished program beyond its value: log lines, and calls if
 * asked for.
 *
 * - An account belongs to one execution, by the identity of that execution's input. If the identity is lost, the model
 *   learns nothing, and never what another execution did.
 * - An account lives as long as that input, so it keeps no values of calls. Only if outputs are shown, it keeps texts
 *   of as many outputs as are shown, within a bound.
 */
import type { ToolSet } from "ai";
import { inTurns, isTurnLong, nextTurn } from "../../loop/turn.ts";
import { ownText } from "../../value/own-text.ts";
import { buildJson } from "../../value/parse-json.ts";
import { copyJson, printJson } from "../../value/print-json.ts";
import type { LogLine } from "../../contract/result.ts";
import type { Json } from "../../contract/value.ts";
import type {
  CodeModeFetchTraceEntry,
  CodeModeNestedToolResultEvent,
  CodeModeToolTraceEntry,
  CodeModeTrace,
} from "./events.ts";
import { problemOf } from "./continuation.ts";
import type { CodeModeLifecycle } from "./events.ts";
import type { CodeModeModelOutputOptions, CodeModeToolInput } from "./options.ts";

export type CodeModeModelVisibleBridgeSummary =
  | (Pick<CodeModeToolTraceEntry, "kind" | "toolName" | "toolCallId" | "status" | "replayed"> & {
      output?: unknown;
    })
  | Pick<CodeModeFetchTraceEntry, "kind" | "url" | "method" | "status" | "replayed">;

export interface CodeModeModelOutput {
  result: unknown;
  nestedTools?: CodeModeModelVisibleBridgeSummary[];
  console?: string[];
}

/** How many characters of a program's log lines are shown. */
const LONGEST_CONSOLE = 8_000;
const MOST_ENTRIES = 32;
/** How many characters of outputs of calls are shown whole: as many as a program's own result may have. */
const MOST_OF_OUTPUTS = 1024 * 1024;
/** How many characters are shown of an output that is not shown whole. */
const LONGEST_BEGINNING = 8_000;

/** What one execution left for the model. */
export class Account {
  trace: CodeModeTrace | undefined;
  /** By `bridgeIndex`: JSON texts of outputs, as the model is shown them. */
  readonly outputs: Map<number, Promise<string>> = new Map();
  /** How many calls of tools have ended. */
  ended = 0;
  /** How many characters of outputs may still be kept whole. */
  outputRoom: number = MOST_OF_OUTPUTS;
  logs: readonly LogLine[] = [];
  logsDropped = 0;
  isInterrupted = false;
  readonly tools: ToolSet;

  constructor(tools: ToolSet) {
    this.tools = tools;
  }
}

export class ModelOutput {
  readonly #options: CodeModeModelOutputOptions;
  readonly #accounts = new WeakMap<object, Account>();

  constructor(options: CodeModeModelOutputOptions | undefined) {
    this.#options = options ?? {};
  }

  get tellsCalls(): boolean {
    const { includeNestedToolSummary, includeNestedToolOutputs, includeFetchSummary } = this.#options;
    return Boolean(includeNestedToolSummary || includeNestedToolOutputs || includeFetchSummary);
  }

  /** Begins the account of an execution that has these tools. */
  open(input: CodeModeToolInput, tools: ToolSet): Account {
    const account = new Account(tools);
    this.#accounts.set(input, account);
    return account;
  }

  get #mostEntries(): number {
    return Math.max(0, this.#options.maxSummaryEntries ?? MOST_ENTRIES);
  }

  /** The host's hooks, and our own beside them. */
  watch(lifecycle: CodeModeLifecycle | undefined, account: Account): CodeModeLifecycle | undefined {
    if (!this.tellsCalls) return lifecycle;
    return {
      ...lifecycle,
      ...(this.#options.includeNestedToolOutputs
        ? {
            onNestedToolResult: async (event: CodeModeNestedToolResultEvent) => {
              const keeping = this.#keepOutput(account, event);
              await lifecycle?.onNestedToolResult?.(event);
              await keeping;
            },
          }
        : {}),
      onTrace: async (trace) => {
        account.trace = trace;
        await lifecycle?.onTrace?.(trace);
      },
    };
  }

  /** Keeps what the model is shown of an output. Calls are shown in the order in which they ended. */
  async #keepOutput(account: Account, event: CodeModeNestedToolResultEvent): Promise<void> {
    if (account.ended++ >= this.#mostEntries || event.status !== "fulfilled") return;
    // Earlier outputs of a program that went on from its memory alone are no longer known.
    if (event.replayed && event.output === undefined) return;
    const text = toShownText(account, event);
    account.outputs.set(event.bridgeIndex, text);
    // If the tool's own `toModelOutput` fails, whoever asks for the model output hears of it.
    await text.catch(() => {});
  }

  async toModelOutput({
    input,
    output,
  }: {
    readonly input: unknown;
    readonly output: unknown;
  }): Promise<ToolOutput> {
    const account = typeof input === "object" && input !== null ? this.#accounts.get(input) : undefined;
    const isInterrupted = account?.isInterrupted ?? (await inTurns(problemOf(output))) === undefined;
    if (isInterrupted) return toToolOutput(output);
    const lines = toConsole(account);
    if (!this.tellsCalls && lines.length === 0) return toToolOutput(output);
    return toToolOutput({
      result: output ?? null,
      ...(this.tellsCalls ? { nestedTools: await this.#summary(account) } : {}),
      ...(lines.length === 0 ? {} : { console: lines }),
    });
  }

  async #summary(account: Account | undefined): Promise<CodeModeModelVisibleBridgeSummary[]> {
    const { includeNestedToolSummary, includeNestedToolOutputs, includeFetchSummary } = this.#options;
    const told = (account?.trace?.bridgeRequests ?? [])
      .filter(({ kind }) =>
        kind === "fetch" ? includeFetchSummary : includeNestedToolSummary || includeNestedToolOutputs,
      )
      .slice(0, this.#mostEntries);
    const summary: CodeModeModelVisibleBridgeSummary[] = [];
    for (const entry of told) {
      const { status, replayed } = entry;
      if (entry.kind === "fetch") {
        const { url, method } = entry;
        summary.push({ kind: "fetch", url, method, status: entry.status, replayed });
        continue;
      }
      const { toolName, toolCallId } = entry;
      const output = await account?.outputs.get(entry.bridgeIndex);
      while (isTurnLong()) await nextTurn();
      summary.push({
        kind: "tool",
        toolName,
        toolCallId,
        status,
        replayed,
        ...(output === undefined ? {} : { output: await buildJson(output) }),
      });
    }
    return summary;
  }
}

/** The output as the tool itself would show it to a model, as JSON text. Of an output without room, the beginning. */
async function toShownText(
  account: Account,
  { toolName, toolCallId, input, output }: CodeModeNestedToolResultEvent & { status: "fulfilled" },
): Promise<string> {
  const tool = account.tools[toolName] as { toModelOutput?: (options: object) => unknown } | undefined;
  // An output that is not JSON must not break the other outputs and the result.
  const own = await printJson(await tool?.toModelOutput?.({ toolCallId, input, output }));
  const json = own ?? (await printJson(output)) ?? "null";
  const isText = own === undefined && typeof output === "string";
  if (json.length <= account.outputRoom) {
    account.outputRoom -= json.length;
    return own ?? `{"type":"${isText ? "text" : "json"}","value":${json}}`;
  }
  const beginning = ownText(isText ? output : json, LONGEST_BEGINNING);
  return JSON.stringify({ type: "text", value: `${beginning}…` });
}

export type ToolOutput =
  | { readonly type: "text"; readonly value: string }
  | { readonly type: "json"; readonly value: never };

async function toToolOutput(value: unknown): Promise<ToolOutput> {
  return asToolOutput(value, typeof value === "string" ? value : ((await copyJson(value)) ?? null));
}

/** `json` is the value as JSON. */
export function asToolOutput(value: unknown, json: Json): ToolOutput {
  return typeof value === "string" ? { type: "text", value } : { type: "json", value: json as never };
}

/** The first log lines, as many as fit, and how many are missing. */
export function toConsole(account: Pick<Account, "logs" | "logsDropped"> | undefined): string[] {
  const lines: string[] = [];
  if (account === undefined) return lines;
  const { logs, logsDropped } = account;
  let left = LONGEST_CONSOLE;
  for (const { level, text } of logs) {
    const line = level === "log" || level === "info" ? text : `[${level}] ${text}`;
    left -= line.length + 1;
    if (left >= 0) lines.push(line);
    if (left > 0) continue;
    // The part that fits of a line that does not fit.
    const fitting = line.length + left;
    if (left < 0 && fitting > 0) lines.push(`${line.slice(0, fitting).toWellFormed()}…`);
    break;
  }
  const missing = logs.length - lines.length + logsDropped;
  if (missing > 0) lines.push(`… ${missing} more line${missing === 1 ? "" : "s"}`);
  return lines;
}
