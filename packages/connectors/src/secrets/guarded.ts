/**
 * Runs on the host. GuardedConnector: a connector of which nothing that leaves has a secret: no description, answer,
 * artifact, progress or error, and no cause of an error.
 *
 * - What is large is searched in turns. Progress is told at once, so it is bounded: of more a note is told.
 * - A schema that is made when somebody reads it has no secret: the thread that read the description took them out.
 */
import type { Json } from "codecell";
import type { Hidden, HiddenTexts } from "../backend/hidden-texts.ts";
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
import { shownCause } from "./shown-cause.ts";

/** Characters of a progress, and values. */
const LARGEST_PROGRESS = 16 * 1024;
const MOST_PROGRESS_VALUES = 1000;

export class GuardedConnector implements Connector {
  readonly id: string;
  readonly kind: ConnectorKind;
  readonly card: Card;
  readonly context?: Context;
  readonly #connector: Connector;
  readonly #hidden: Hidden;
  /** A tool is searched once: connectors copy their lists for each reader, and not what is in the lists. */
  readonly #tools = new WeakMap<BackendTool, BackendTool>();
  /** An error that is thrown again is the same for those who see it. */
  readonly #errors = new WeakMap<ConnectorError, Promise<ConnectorError>>();

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
    return this.#shown(request, () => this.#connector.check(request));
  }

  async tools(request: BackendRequest): Promise<readonly BackendTool[]> {
    try {
      const tools = await this.#connector.tools(request);
      const fresh = tools.filter((tool) => !this.#tools.has(tool));
      const data = fresh.map((tool) => dataOf(tool));
      const shown = (await hideInData(data, this.#hidden.inData)) as typeof data;
      for (const [at, tool] of fresh.entries()) this.#keep(tool, shown[at] as BackendTool);
      return Object.freeze(tools.map((tool) => this.#tools.get(tool) as BackendTool));
    } catch (error) {
      throw await this.#shownError(error, request);
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
        : { ...request, onProgress: (progress: Json) => onProgress(shownProgress(progress, inData)) };
    return this.#shown(request, () => this.#connector.callTool(name, input, own));
  }

  onChange(listener: (list: ChangedList) => void): () => void {
    return this.#connector.onChange(listener);
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#connector[Symbol.asyncDispose]();
  }

  #guarded(context: Context): Context {
    return {
      resources: (request) => this.#shown(request, () => context.resources(request)),
      resourceTemplates: (request) => this.#shown(request, () => context.resourceTemplates(request)),
      readResource: (uri, request) => this.#shown(request, () => context.readResource(uri, request)),
      prompts: (request) => this.#shown(request, () => context.prompts(request)),
      getPrompt: (name, args, request) => this.#shown(request, () => context.getPrompt(name, args, request)),
      complete: (completion, request) => this.#shown(request, () => context.complete(completion, request)),
    };
  }

  async #shown<T>(request: BackendRequest, work: () => Promise<T>): Promise<T> {
    try {
      return (await hideInData(await work(), this.#hidden.inData)) as T;
    } catch (error) {
      throw await this.#shownError(error, request);
    }
  }

  /** Schemas are read when somebody asks for them, as those of large descriptions are. */
  #keep(tool: BackendTool, shown: BackendTool): void {
    // Somebody who asked at the same time may have been faster.
    if (this.#tools.has(tool)) return;
    const own = { ...shown };
    for (const key of SCHEMAS) {
      if (isMadeLater(tool, key)) Object.defineProperty(own, key, { enumerable: true, get: () => tool[key] });
    }
    this.#tools.set(tool, Object.freeze(own));
  }

  async #shownError(error: unknown, { signal }: BackendRequest): Promise<unknown> {
    const { inErrors } = this.#hidden;
    if (!(error instanceof ConnectorError)) return shownCause(error, inErrors, signal);
    // Several may have waited for the same work.
    let shown = this.#errors.get(error);
    if (shown === undefined) this.#errors.set(error, (shown = this.#shownConnectorError(error, signal)));
    return shown;
  }

  async #shownConnectorError(error: ConnectorError, signal: AbortSignal): Promise<ConnectorError> {
    const { inErrors } = this.#hidden;
    const { connector, code, hasNoEffect } = error;
    const message = inErrors.hide(error.message);
    const details = (await hideInData(error.details, inErrors)) as Json | undefined;
    const cause = await shownCause(error.cause, inErrors, signal);
    if (message === error.message && details === error.details && cause === error.cause) return error;
    const options = { cause, hasNoEffect, ...(details === undefined ? {} : { details }) };
    return new ConnectorError(connector, code, message, options);
  }
}

const SCHEMAS = ["inputSchema", "outputSchema"] as const;

function isMadeLater(tool: BackendTool, key: (typeof SCHEMAS)[number]): boolean {
  return Object.getOwnPropertyDescriptor(tool, key)?.get !== undefined;
}

/** All of a tool but the schemas that are made later, which are not even read. */
function dataOf(tool: BackendTool): BackendTool {
  const later = SCHEMAS.filter((key) => isMadeLater(tool, key)) as readonly string[];
  const names = Object.keys(tool).filter((name) => !later.includes(name));
  return Object.fromEntries(
    names.map((name) => [name, tool[name as keyof BackendTool]]),
  ) as unknown as BackendTool;
}

function shownProgress(progress: Json, hidden: HiddenTexts): Json {
  if (isSmall(progress)) return hideAtOnce(progress, hidden);
  return "There was progress, and what was said of it is too long to be told";
}

function isSmall(progress: Json): boolean {
  let left = LARGEST_PROGRESS;
  const open: unknown[] = [progress];
  for (let values = 0; open.length > 0; values++) {
    const value = open.pop();
    if (typeof value === "string") left -= value.length;
    else if (Array.isArray(value)) {
      if (value.length > MOST_PROGRESS_VALUES) return false;
      open.push(...(value as unknown[]));
    } else if (typeof value === "object" && value !== null) {
      for (const [key, part] of Object.entries(value)) open.push(key, part);
    }
    if (left < 0 || values + open.length > MOST_PROGRESS_VALUES) return false;
  }
  return true;
}
