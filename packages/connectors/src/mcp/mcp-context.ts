/**
 * Runs on the host. McpContext: resources, templates, prompts and completions of an MCP server.
 *
 * - A list that the server does not offer is empty. What it does not offer cannot be read, and the error says so.
 */
import type { CompleteRequest } from "@modelcontextprotocol/client";
import { bounded } from "../backend/bounded.ts";
import { CachedList } from "../backend/cached-list.ts";
import type { Pauses } from "../backend/pauses.ts";
import type {
  BackendOutput,
  BackendPrompt,
  BackendRequest,
  BackendResource,
  BackendResourceTemplate,
  ChangedList,
  Completed,
  Completion,
  Context,
} from "../contract/connector.ts";
import type { ConnectorErrorCode } from "../contract/connector-error.ts";
import type { Asking } from "./asking.ts";
import { type Connection, requestOptions } from "./connection.ts";
import type { Failures } from "./failures.ts";
import type { LeftOut, ListName } from "./list-bounds.ts";
import { listedPrompts, listedResources, listedTemplates } from "./listed.ts";
import type { McpSettings } from "./options.ts";
import { promptOutput, resourceOutput } from "./tool-output.ts";

export interface McpContextOptions {
  readonly settings: McpSettings;
  readonly asking: Asking;
  readonly failures: Failures;
  readonly pauses: Pauses;
  readonly onRead: (list: ChangedList) => void;
  readonly onLeftOut: (list: ListName, leftOut: LeftOut) => void;
}

export class McpContext implements Context {
  readonly #options: McpContextOptions;
  readonly #resources: CachedList<BackendResource>;
  readonly #templates: CachedList<BackendResourceTemplate>;
  readonly #prompts: CachedList<BackendPrompt>;

  constructor(options: McpContextOptions) {
    this.#options = options;
    this.#resources = this.#list("resources", async (connection, signal) => {
      const { page, leftOut } = await connection.list("resources", signal, (bounds) =>
        connection.client.listResources(undefined, bounds),
      );
      return this.#told("resources", leftOut, listedResources(page.resources, leftOut));
    });
    this.#templates = this.#list("resources", async (connection, signal) => {
      const { page, leftOut } = await connection.list("resourceTemplates", signal, (bounds) =>
        connection.client.listResourceTemplates(undefined, bounds),
      );
      return this.#told("resourceTemplates", leftOut, listedTemplates(page.resourceTemplates, leftOut));
    });
    this.#prompts = this.#list("prompts", async (connection, signal) => {
      const { page, leftOut } = await connection.list("prompts", signal, (bounds) =>
        connection.client.listPrompts(undefined, bounds),
      );
      return this.#told("prompts", leftOut, listedPrompts(page.prompts, leftOut));
    });
  }

  resources({ signal }: BackendRequest): Promise<readonly BackendResource[]> {
    return this.#read("listing the resources", this.#resources, signal);
  }

  resourceTemplates({ signal }: BackendRequest): Promise<readonly BackendResourceTemplate[]> {
    return this.#read("listing the resource templates", this.#templates, signal);
  }

  prompts({ signal }: BackendRequest): Promise<readonly BackendPrompt[]> {
    return this.#read("listing the prompts", this.#prompts, signal);
  }

  async readResource(uri: string, { signal }: BackendRequest): Promise<BackendOutput> {
    const result = await this.#ask(
      `reading "${uri}"`,
      "resources",
      "DOWNSTREAM_RESOURCE_ERROR",
      signal,
      ({ client }, told) => client.readResource({ uri }, { ...requestOptions(told), cacheMode: "bypass" }),
    );
    return resourceOutput(result);
  }

  async getPrompt(
    name: string,
    args: Readonly<Record<string, string>>,
    { signal }: BackendRequest,
  ): Promise<BackendOutput> {
    const { failures, settings } = this.#options;
    try {
      const result = await this.#ask(
        `getting the prompt "${name}"`,
        "prompts",
        "DOWNSTREAM_PROMPT_ERROR",
        signal,
        ({ client }, told) => client.getPrompt({ name, arguments: { ...args } }, requestOptions(told)),
      );
      return promptOutput(result);
    } catch (error) {
      if ((error as { readonly code?: unknown }).code !== "DOWNSTREAM_PROMPT_ERROR") throw error;
      // Servers have many words for it: their list says it.
      this.#prompts.forget();
      const known = await this.prompts({ signal });
      if (known.some((prompt) => prompt.name === name)) throw error;
      throw failures.of("PROMPT_NOT_FOUND", `"${settings.id}" has no prompt "${name}"`, { cause: error });
    }
  }

  async complete({ ref, argument, context }: Completion, { signal }: BackendRequest): Promise<Completed> {
    const params: CompleteRequest["params"] = {
      ref:
        ref.type === "prompt"
          ? { type: "ref/prompt", name: ref.name }
          : { type: "ref/resource", uri: ref.uri },
      argument: { ...argument },
      ...(context !== undefined && {
        context: context.arguments === undefined ? {} : { arguments: { ...context.arguments } },
      }),
    };
    const { completion } = await this.#ask(
      `completing "${argument.name}"`,
      "completions",
      "DOWNSTREAM_COMPLETION_ERROR",
      signal,
      ({ client }, told) => client.complete(params, requestOptions(told)),
    );
    const { values, total, hasMore } = completion;
    return { values, ...(total !== undefined && { total }), ...(hasMore !== undefined && { hasMore }) };
  }

  forget(list?: ChangedList): void {
    if (list !== "prompts") {
      this.#resources.forget();
      this.#templates.forget();
    }
    if (list !== "resources") this.#prompts.forget();
  }

  #told<Items>(list: ListName, leftOut: LeftOut, items: Items): Items {
    this.#options.onLeftOut(list, leftOut);
    return items;
  }

  #list<Item>(
    name: "resources" | "prompts",
    load: (connection: Connection, signal: AbortSignal) => Promise<readonly Item[]>,
  ): CachedList<Item> {
    const { settings, asking, onRead } = this.#options;
    return new CachedList({
      ttlMs: settings.listTtlMs,
      load: (signal) =>
        asking.ask({
          what: `listing the ${name}`,
          refused: "DOWNSTREAM_PROTOCOL_ERROR",
          timeoutMs: settings.startTimeoutMs,
          signal,
          isRead: true,
          ask: async (connection, told) => {
            onRead(name);
            return connection.has(name) ? load(connection, told) : [];
          },
        }),
    });
  }

  /** Each reader has a list of its own. */
  async #read<Item>(what: string, list: CachedList<Item>, signal: AbortSignal): Promise<readonly Item[]> {
    const { settings, pauses } = this.#options;
    const bound = { connector: settings.id, what, timeoutMs: 2 * settings.startTimeoutMs, signal, pauses };
    return [
      ...(await bounded({ ...bound, lateCode: "SERVER_START_TIMEOUT" }, (told) =>
        list.get({ signal: told }),
      )),
    ];
  }

  async #ask<T>(
    what: string,
    capability: "resources" | "prompts" | "completions",
    refused: ConnectorErrorCode,
    signal: AbortSignal,
    ask: (connection: Connection, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { asking, failures, settings } = this.#options;
    return asking.ask({
      what,
      refused,
      timeoutMs: settings.timeoutMs,
      signal,
      isRead: true,
      ask: (connection, told) => {
        if (!connection.has(capability))
          throw failures.of("UNSUPPORTED_CAPABILITY", `"${settings.id}" has no ${capability}`, {
            hasNoEffect: true,
          });
        return ask(connection, told);
      },
    });
  }
}
