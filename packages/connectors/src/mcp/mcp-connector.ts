/**
 * Runs on the host. McpConnector: an MCP server as a connector.
 *
 * - It connects when somebody first asks, and again when the connection was lost.
 * - Lists are kept for a time, and forgotten when the server says that they changed or when it was started again.
 */
import { LOG_LEVEL_META_KEY, ProtocolError } from "@modelcontextprotocol/client";
import { bounded } from "../backend/bounded.ts";
import { CachedList } from "../backend/cached-list.ts";
import type { Hidden } from "../backend/hidden-texts.ts";
import { Pauses } from "../backend/pauses.ts";
import type {
  BackendOutput,
  BackendRequest,
  BackendTool,
  Card,
  ChangedList,
  Connector,
  Context,
  Facts,
  Readiness,
  ToolRequest,
} from "../contract/connector.ts";
import { Bytes } from "../contract/connector.ts";
import { Asking } from "./asking.ts";
import { requestOptions } from "./connection.ts";
import { Failures } from "./failures.ts";
import { Link } from "./link.ts";
import type { LeftOut, ListName } from "./list-bounds.ts";
import { type ListedTool, listedTools } from "./listed.ts";
import { McpContext } from "./mcp-context.ts";
import { OAuth } from "./oauth/oauth.ts";
import type { McpSettings } from "./options.ts";
import { ProgressTurns } from "./progress.ts";
import { Logs } from "./questions/logs.ts";
import { Questions } from "./questions/questions.ts";
import { parsedText, textOf, toolOutput } from "./tool-output.ts";

/** The server wants headers that follow from the schema of a tool, and has another schema than we. */
const HEADER_MISMATCH = -32_020;

export class McpConnector implements Connector {
  readonly id: string;
  readonly kind = "mcp";
  readonly card: Card;
  readonly facts: Facts;
  readonly identity: string;
  readonly isTrusted: boolean;
  readonly context: Context;
  readonly #settings: McpSettings;
  readonly #failures: Failures;
  readonly #hidden: Hidden;
  readonly #link: Link;
  readonly #logs: Logs | undefined;
  readonly #asking: Asking;
  readonly #pauses: Pauses;
  readonly #tools: CachedList<ListedTool>;
  readonly #context: McpContext;
  /** Of each list that was read. */
  readonly #leftOut = new Map<ListName, LeftOut>();
  readonly #listeners = new Set<(list: ChangedList) => void>();
  /** Lists of which it was said that they changed, and which nobody has read since. */
  readonly #changed = new Set<ChangedList>();

  constructor(settings: McpSettings, hidden: Hidden) {
    const { id, card, address, identity, isTrusted, timeoutMs, startTimeoutMs, listTtlMs } = settings;
    this.id = id;
    this.card = card;
    this.identity = identity;
    this.isTrusted = isTrusted;
    this.facts = { transport: address.kind === "process" ? "stdio" : "http", timeoutMs, startTimeoutMs };
    this.#settings = settings;
    this.#hidden = hidden;
    this.#failures = new Failures(settings, hidden.inErrors);
    const { questions: answers } = settings;
    this.#pauses = new Pauses(mostPausedMs(settings));
    const questions = new Questions({
      id,
      settings: answers,
      hidden: hidden.inData,
      pauses: this.#pauses,
    });
    const { onLog, logLevel } = answers;
    if (onLog !== undefined) this.#logs = new Logs({ id, onLog, level: logLevel, hidden: hidden.inData });
    this.#link = new Link({
      settings,
      failures: this.#failures,
      oauth: this.#oauth(hidden),
      pauses: this.#pauses,
      questions,
      logs: this.#logs,
      onNotice: (list) => this.#forget(list),
      onReopen: () => {
        for (const list of ["tools", "resources", "prompts"] as const) this.#forget(list);
      },
    });
    const shared = { settings, failures: this.#failures, pauses: this.#pauses };
    this.#asking = new Asking({ ...shared, link: this.#link, questions });
    this.#tools = new CachedList({ ttlMs: listTtlMs, load: (signal) => this.#load(signal) });
    this.#context = new McpContext({
      ...shared,
      asking: this.#asking,
      onRead: (list) => this.#changed.delete(list),
      onLeftOut: (list, leftOut) => this.#leftOut.set(list, leftOut),
    });
    this.context = this.#context;
  }

  async check({ signal }: BackendRequest): Promise<Readiness> {
    this.#link.throwIfEnded();
    this.#tools.forget();
    this.#context.forget();
    const tools = await this.tools({ signal });
    const [connection, resources, templates, prompts] = await Promise.all([
      this.#link.open(signal),
      this.context.resources({ signal }),
      this.context.resourceTemplates({ signal }),
      this.context.prompts({ signal }),
    ]);
    return {
      tools: tools.length,
      resources: resources.length,
      resourceTemplates: templates.length,
      prompts: prompts.length,
      about: { ...connection.about(this.#hidden.inData), ...this.#leftOutFacts() },
    };
  }

  async tools({ signal }: BackendRequest): Promise<readonly BackendTool[]> {
    return (await this.#listed(signal)).map(({ tool }) => tool);
  }

  async callTool(
    name: string,
    input: Readonly<Record<string, unknown>>,
    request: ToolRequest,
  ): Promise<BackendOutput> {
    this.#refuseBytes(name, input);
    try {
      return await this.#call(name, input, request);
    } catch (error) {
      const { cause } = error as Error;
      if (!(cause instanceof ProtocolError) || cause.code !== HEADER_MISMATCH) throw error;
      this.#tools.forget();
      return this.#call(name, input, request);
    }
  }

  onChange(listener: (list: ChangedList) => void): () => void {
    const own = (list: ChangedList): void => listener(list);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listeners.clear();
    await this.#link[Symbol.asyncDispose]();
  }

  async #call(
    name: string,
    input: Readonly<Record<string, unknown>>,
    { signal, onProgress }: ToolRequest,
  ): Promise<BackendOutput> {
    const { definition } = await this.#tool(name, signal);
    const result = await this.#asking.ask({
      what: `calling "${name}"`,
      refused: "DOWNSTREAM_TOOL_ERROR",
      timeoutMs: this.#settings.timeoutMs,
      signal,
      isRead: false,
      ask: async ({ client, isOld }, told) => {
        const progress = onProgress && new ProgressTurns(onProgress, told);
        const answer = await client.callTool(
          {
            name,
            arguments: { ...input },
            ...(this.#logs !== undefined && !isOld && { _meta: { [LOG_LEVEL_META_KEY]: this.#logs.level } }),
          },
          {
            ...requestOptions(told),
            toolDefinition: definition,
            ...(progress !== undefined && { onprogress: (one) => progress.take(one) }),
          },
        );
        progress?.flush();
        return answer;
      },
    });
    this.#link.answered();
    if (result.isError !== true) return toolOutput(result);
    const text = textOf(result.content);
    const details = result.structuredContent ?? parsedText(text);
    throw this.#failures.of(
      "DOWNSTREAM_TOOL_ERROR",
      this.#failures.words(text === "" ? `"${name}" of "${this.id}" failed and did not say why` : text),
      this.#failures.details(details === text ? undefined : (details as never)),
    );
  }

  /** What of the server's lists is not given on, and why. */
  #leftOutFacts(): Facts {
    const told = [...this.#leftOut].flatMap(([list, { text }]) =>
      text === undefined ? [] : [`${list}: ${text}`],
    );
    return told.length === 0 ? {} : { leftOut: told.join(". ") };
  }

  #oauth(hidden: Hidden): OAuth | undefined {
    const { id, address, startTimeoutMs } = this.#settings;
    if (address.kind !== "url" || address.oauth === undefined) return undefined;
    return new OAuth({
      id,
      server: address.url,
      settings: address.oauth,
      hidden,
      pauses: this.#pauses,
      timeoutMs: startTimeoutMs,
    });
  }

  /** The server may have a tool that is not in the list we know: whoever asks for one gets a new list. */
  async #tool(name: string, signal: AbortSignal): Promise<ListedTool> {
    const find = async (): Promise<ListedTool | undefined> =>
      (await this.#listed(signal)).find(({ tool }) => tool.name === name);
    const known = await find();
    if (known !== undefined) return known;
    this.#tools.forget();
    const found = await find();
    if (found !== undefined) return found;
    throw this.#failures.of("TOOL_NOT_FOUND", `"${this.id}" has no tool "${name}"`, { hasNoEffect: true });
  }

  #listed(signal: AbortSignal): Promise<readonly ListedTool[]> {
    this.#link.throwIfEnded();
    const { id, startTimeoutMs } = this.#settings;
    // A list may need a connection first, and that one a second attempt.
    const timeoutMs = 2 * startTimeoutMs;
    return bounded(
      {
        connector: id,
        what: "listing the tools",
        timeoutMs,
        signal,
        lateCode: "SERVER_START_TIMEOUT",
        pauses: this.#pauses,
      },
      (told) => this.#tools.get({ signal: told }),
    );
  }

  async #load(signal: AbortSignal): Promise<readonly ListedTool[]> {
    return this.#asking.ask({
      what: "listing the tools",
      refused: "DOWNSTREAM_PROTOCOL_ERROR",
      timeoutMs: this.#settings.startTimeoutMs,
      signal,
      isRead: true,
      ask: async (connection, told) => {
        this.#changed.delete("tools");
        if (!connection.has("tools")) return [];
        const { page, leftOut } = await connection.list("tools", told, (options) =>
          connection.client.listTools(undefined, options),
        );
        const tools = listedTools(page.tools, leftOut);
        this.#leftOut.set("tools", leftOut);
        return tools;
      },
    });
  }

  /** Many notices in a row are one change, until somebody reads the list. */
  #forget(list: ChangedList): void {
    if (list === "tools") this.#tools.forget();
    else this.#context.forget(list);
    if (this.#changed.has(list)) return;
    this.#changed.add(list);
    for (const listener of this.#listeners) listener(list);
  }

  #refuseBytes(name: string, input: Readonly<Record<string, unknown>>): void {
    const open: unknown[] = [input];
    for (const one of open) {
      if (one instanceof Bytes || ArrayBuffer.isView(one) || one instanceof ArrayBuffer)
        throw this.#failures.of(
          "REQUEST_INVALID",
          `"${name}" of "${this.id}" takes no bytes: give them as base64 text, if the tool reads that`,
          { hasNoEffect: true },
        );
      if (typeof one === "object" && one !== null) open.push(...Object.values(one));
    }
  }
}

/** A person may take their time for a login or a question, and for another one. Servers may not ask on and on. */
function mostPausedMs({ address, questions }: McpSettings): number {
  const login = address.kind === "url" ? (address.oauth?.authorizeTimeoutMs ?? 0) : 0;
  return 2 * Math.max(questions.questionTimeoutMs, login);
}
