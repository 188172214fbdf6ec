/**
 * Runs on the host. Model output: what a model learns of a finished program beyond its value: log lines, and calls if
 * asked for.
 *
 * - An account belongs to one execution, by the identity of that execution's input. If the identity is lost, the model
 *   learns nothing, and never what another execution did.
 */
import type { ToolSet } from "ai";
import { copyJson } from "../../value/print-json.ts";
import { inTurns } from "../../loop/turn.ts";
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

/** What one execution left for the model. */
export class Account {
  trace: CodeModeTrace | undefined;
  readonly outputs: Map<number, CodeModeNestedToolResultEvent> = new Map();
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

  /** The host's hooks, followed by our own. */
  watch(lifecycle: CodeModeLifecycle | undefined, account: Account): CodeModeLifecycle | undefined {
    if (!this.tellsCalls) return lifecycle;
    return {
      ...lifecycle,
      onNestedToolResult: async (event) => {
        // Earlier outputs of a program that went on from its memory alone are no longer known.
        const isKnown = event.status === "fulfilled" && !(event.replayed && event.output === undefined);
        if (isKnown) account.outputs.set(event.bridgeIndex, event);
        await lifecycle?.onNestedToolResult?.(event);
      },
      onTrace: async (trace) => {
        account.trace = trace;
        await lifecycle?.onTrace?.(trace);
      },
    };
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
    const { includeNestedToolSummary, includeNestedToolOutputs, includeFetchSummary, maxSummaryEntries } =
      this.#options;
    const told = (account?.trace?.bridgeRequests ?? [])
      .filter(({ kind }) =>
        kind === "fetch" ? includeFetchSummary : includeNestedToolSummary || includeNestedToolOutputs,
      )
      .slice(0, Math.max(0, maxSummaryEntries ?? MOST_ENTRIES));
    return Promise.all(
      told.map(async (entry) => {
        const { status, replayed } = entry;
        if (entry.kind === "fetch") {
          const { url, method } = entry;
          return { kind: "fetch", url, method, status: entry.status, replayed };
        }
        const { toolName, toolCallId } = entry;
        const ended = includeNestedToolOutputs ? account?.outputs.get(entry.bridgeIndex) : undefined;
        const output =
          ended?.status === "fulfilled" ? await this.#outputOf(ended, account?.tools) : undefined;
        const own = { kind: "tool", toolName, toolCallId, status, replayed } as const;
        return output === undefined ? own : Object.assign(own, { output });
      }),
    );
  }

  /** The output as the tool itself would show it to a model. */
  async #outputOf(
    event: CodeModeNestedToolResultEvent & { status: "fulfilled" },
    tools: ToolSet | undefined,
  ): Promise<unknown> {
    const { toolName, toolCallId, input, output } = event;
    const tool = tools?.[toolName] as { toModelOutput?: (options: object) => unknown } | undefined;
    // An output that is not JSON must not break the other outputs and the result.
    return (
      (await copyJson(await tool?.toModelOutput?.({ toolCallId, input, output }))) ?? toToolOutput(output)
    );
  }
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
