/**
 * Runs on the host. GuardedConnector: a connector of which nothing that leaves has a secret: no description, answer,
 * artifact, progress or error, and no cause of an error.
 */
import { inspect } from "node:util";
import type { Json, JsonSchema } from "codecell";
import type { Hidden } from "../backend/hidden-texts.ts";
import { hideAtOnce, hideInData } from "../backend/hide-in-data.ts";
import type {
  BackendOutput,
  BackendRequest,
  BackendTool,
  Card,
  ChangedList,
  Connector,
  ConnectorKind,
  Context,
  Facts,
  Readiness,
  ToolRequest,
} from "../contract/connector.ts";
import { ConnectorError } from "../contract/connector-error.ts";

export class GuardedConnector implements Connector {
  readonly id: string;
  readonly kind: ConnectorKind;
  readonly card: Card;
  readonly context?: Context;
  readonly #connector: Connector;
  readonly #hidden: Hidden;
  readonly #lists = new WeakMap<readonly BackendTool[], readonly BackendTool[]>();
  readonly #tools = new WeakMap<BackendTool, BackendTool>();

  constructor(connector: Connector, hidden: Hidden) {
    this.id = connector.id;
    this.kind = connector.kind;
    this.card = connector.card;
    this.#connector = connector;
    this.#hidden = hidden;
    const { context } = connector;
    if (context !== undefined) this.context = this.#guarded(context);
  }

  /** Some connectors know these only after they were asked. */
  get facts(): Facts {
    return hideAtOnce(this.#connector.facts, this.#hidden.inData);
  }

  get identity(): string {
    return this.#connector.identity;
  }

  get isTrusted(): boolean {
    return this.#connector.isTrusted;
  }

  check(request: BackendRequest): Promise<Readiness> {
    return this.#shown(() => this.#connector.check(request));
  }

  async tools(request: BackendRequest): Promise<readonly BackendTool[]> {
    try {
      const tools = await this.#connector.tools(request);
      const known = this.#lists.get(tools);
      if (known !== undefined) return known;
      const texts = tools.map((tool) => textsOf(tool));
      const shown = (await hideInData(texts, this.#hidden.inData)) as typeof texts;
      const list = Object.freeze(tools.map((tool, at) => this.#tool(tool, shown[at])));
      this.#lists.set(tools, list);
      return list;
    } catch (error) {
      throw await this.#shownError(error);
    }
  }

  callTool(
    name: string,
    input: Readonly<Record<string, unknown>>,
    request: ToolRequest,
  ): Promise<BackendOutput> {
    const { onProgress } = request;
    const { inData } = this.#hidden;
    const own =
      onProgress === undefined
        ? request
        : { ...request, onProgress: (progress: Json) => onProgress(hideAtOnce(progress, inData)) };
    return this.#shown(() => this.#connector.callTool(name, input, own));
  }

  onChange(listener: (list: ChangedList) => void): () => void {
    return this.#connector.onChange(listener);
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#connector[Symbol.asyncDispose]();
  }

  #guarded(context: Context): Context {
    return {
      resources: (request) => this.#shown(() => context.resources(request)),
      resourceTemplates: (request) => this.#shown(() => context.resourceTemplates(request)),
      readResource: (uri, request) => this.#shown(() => context.readResource(uri, request)),
      prompts: (request) => this.#shown(() => context.prompts(request)),
      getPrompt: (name, args, request) => this.#shown(() => context.getPrompt(name, args, request)),
      complete: (completion, request) => this.#shown(() => context.complete(completion, request)),
    };
  }

  async #shown<T>(work: () => Promise<T>): Promise<T> {
    try {
      return (await hideInData(await work(), this.#hidden.inData)) as T;
    } catch (error) {
      throw await this.#shownError(error);
    }
  }

  /** Schemas are read when somebody asks for them, as those of large descriptions are. */
  #tool(tool: BackendTool, texts: ToolTexts | undefined): BackendTool {
    const known = this.#tools.get(tool);
    if (known !== undefined) return known;
    const shown = { ...texts } as BackendTool;
    for (const key of ["inputSchema", "outputSchema"] as const)
      if (key in tool) this.#defineLazily(shown, key, tool);
    this.#tools.set(tool, Object.freeze(shown));
    return shown;
  }

  #defineLazily(shown: BackendTool, key: "inputSchema" | "outputSchema", from: BackendTool): void {
    let read: { readonly schema: JsonSchema | undefined } | undefined;
    const get = (): JsonSchema | undefined => {
      const { [key]: schema } = from;
      const own = read === undefined ? hideAtOnce(schema, this.#hidden.inData) : read.schema;
      read ??= { schema: own === schema ? schema : deepFreeze(own) };
      return read.schema;
    };
    Object.defineProperty(shown, key, { enumerable: true, get });
  }

  async #shownError(error: unknown): Promise<unknown> {
    const { inErrors } = this.#hidden;
    if (!(error instanceof ConnectorError)) return this.#shownCause(error);
    const { connector, code, hasNoEffect } = error;
    const message = inErrors.hide(error.message);
    const details = (await hideInData(error.details, inErrors)) as Json | undefined;
    const cause = this.#shownCause(error.cause);
    if (message === error.message && details === error.details && cause === error.cause) return error;
    const options = { cause, hasNoEffect, ...(details === undefined ? {} : { details }) };
    return new ConnectorError(connector, code, message, options);
  }

  /** Causes are for the host alone, which logs them. */
  #shownCause(cause: unknown): unknown {
    if (cause === undefined) return undefined;
    const text = inspect(cause, { depth: 6, maxArrayLength: 100, maxStringLength: 20_000 });
    const hidden = this.#hidden.inErrors.hide(text);
    return hidden === text ? cause : new Error(hidden);
  }
}

type ToolTexts = Omit<BackendTool, "inputSchema" | "outputSchema">;

/** All of a tool but its schemas, which are not even read. */
function textsOf(tool: BackendTool): ToolTexts {
  const names = Object.keys(tool).filter((name) => name !== "inputSchema" && name !== "outputSchema");
  return Object.fromEntries(
    names.map((name) => [name, tool[name as keyof ToolTexts]]),
  ) as unknown as ToolTexts;
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}
