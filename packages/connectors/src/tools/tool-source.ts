/**
 * Runs on the host. ToolSource: the tools of a connector as tools of a catalog, `<kind>:<connector>:<tool>`.
 *
 * - What a backend says of its tools are claims. Only of a connector that the operator trusts do they permit a call to
 *   be repeated.
 * - A tool that says it destroys something asks first, whoever says so: the backend hears of the call after a yes.
 * - A program sees of an error its code and its message, and of bytes a reference.
 */
import type { CallContext, Json, Tool } from "codecell";
import { createCatalog, type ToolSource } from "codecell/catalog";
import { Artifacts } from "../artifacts/artifacts.ts";
import { withReferences } from "../artifacts/references.ts";
import type { BackendTool, Card, Connector } from "../contract/connector.ts";
import { ConnectorError } from "../contract/connector-error.ts";
import { toConnectorError } from "./unexpected.ts";

export interface ToolSourceOptions {
  /** Ends the reading of the list of tools. */
  readonly signal?: AbortSignal;
  /** Keeps the bytes that tools give. Default: some that nobody can read, so that programs learn of sizes and hashes. */
  readonly artifacts?: Artifacts;
}

/** Rejects with a `ConnectorError` if the backend cannot say which tools it has. */
export async function toToolSource(
  connector: Connector,
  { signal = new AbortController().signal, artifacts = new Artifacts() }: ToolSourceOptions = {},
): Promise<ToolSource> {
  const { id, kind } = connector;
  try {
    const listed = await connector.tools({ signal });
    const tools = listed.map((tool) => [tool.name, toTool(connector, tool, artifacts)] as const);
    // Some connectors know what is behind them only after they were asked.
    const { identity } = connector;
    const source = { kind, owner: id, tools: Object.fromEntries(tools), identity };
    assertUsable(id, source, listed.length);
    return source;
  } catch (error) {
    throw toConnectorError(id, `read the tools of "${id}"`, error, signal);
  }
}

/** One connector must not keep a catalog of many from being made. */
function assertUsable(id: string, source: ToolSource, count: number): void {
  const fail = (problem: string, cause?: unknown): never => {
    const message = `Cannot use the tools of "${id}": ${problem}`;
    throw new ConnectorError(id, "DOWNSTREAM_PROTOCOL_ERROR", message, { cause });
  };
  if (Object.keys(source.tools).length < count) fail("two of them have one name");
  try {
    createCatalog([source]);
  } catch (error) {
    fail(error instanceof Error ? error.message : "they cannot be catalogued", error);
  }
}

function toTool(connector: Connector, tool: BackendTool, artifacts: Artifacts): Tool {
  const { card, isTrusted } = connector;
  const { title, inputSchema, outputSchema, tags = [] } = tool;
  const isDestructive = tool.destructiveHint === true;
  const mayRepeat = isTrusted && !isDestructive;
  return {
    description: describe(tool, card),
    label: title,
    tags: [...new Set([...tags, ...(card.tags ?? []), card.name])],
    input: inputSchema,
    output: outputSchema,
    readOnly: mayRepeat && tool.readOnlyHint === true,
    idempotent: isTrusted && tool.idempotentHint === true,
    execute: (input, call) => {
      if (isDestructive) assertAllowed(connector, tool, input, call);
      return callBackend(connector, tool, input, call, artifacts);
    },
  };
}

/** What a person wrote for choosing among tools is found by the search, and read by the model, as a part of this. */
function describe({ description, useWhen, avoidWhen }: BackendTool, card: Card): string {
  const parts = [description ?? card.description];
  const [use, avoid] = [useWhen ?? card.useWhen, avoidWhen ?? card.avoidWhen];
  if (use !== undefined) parts.push(`Use when: ${use}`);
  if (avoid !== undefined) parts.push(`Avoid when: ${avoid}`);
  return parts.join("\n");
}

/** Suspends the call, unless somebody has decided about it. */
function assertAllowed({ id }: Connector, { name }: BackendTool, input: unknown, call: CallContext): void {
  if (call.resolution === true) return;
  if (call.resolution === undefined) {
    call.suspend({ connector: id, tool: name, input: (input ?? null) as Json });
  }
  const message = `Cannot call "${name}" of "${id}": it was not allowed, resolve the call with true to allow it`;
  throw new ConnectorError(id, "CALL_DENIED", message, { hasNoEffect: true });
}

/** The output or, if the backend reports progress, that and then the output. */
async function callBackend(
  connector: Connector,
  { name }: BackendTool,
  input: unknown,
  { signal, idempotencyKey }: CallContext,
  artifacts: Artifacts,
): Promise<unknown> {
  const { id } = connector;
  const action = `call "${name}" of "${id}"`;
  const progress = new LatestProgress();
  const refuse = (problem: string): never => {
    const message = `Cannot give what "${name}" of "${id}" gave: ${problem}`;
    throw new ConnectorError(id, "RESPONSE_TOO_LARGE", message);
  };
  const calling = async (): Promise<unknown> => {
    try {
      const given = toInput(id, action, input);
      const onProgress = (value: Json): void => progress.report(value);
      const { data } = await connector.callTool(name, given, { signal, idempotencyKey, onProgress });
      return await withReferences(data, artifacts, refuse);
    } catch (error) {
      throw toConnectorError(id, action, error, signal);
    } finally {
      progress.end();
    }
  };
  const output = calling();
  // Whoever reads may leave before the end.
  output.catch(() => {});
  await progress.next();
  return progress.isOver ? output : partsOf(output, progress);
}

async function* partsOf(output: Promise<unknown>, progress: LatestProgress): AsyncGenerator<unknown, void> {
  for (; !progress.isOver; await progress.next()) yield progress.take();
  yield await output;
}

/** Only the latest is kept: a backend may report more often than anybody reads. */
class LatestProgress {
  isOver = false;
  #value: Json = null;
  #news = Promise.withResolvers<void>();

  report(value: Json): void {
    this.#value = value;
    this.#news.resolve();
  }

  end(): void {
    this.isOver = true;
    this.#news.resolve();
  }

  /** Resolves when there is some that was not taken, and when there will be no more. */
  next(): Promise<void> {
    return this.#news.promise;
  }

  take(): Json {
    this.#news = Promise.withResolvers();
    return this.#value;
  }
}

function toInput(id: string, action: string, input: unknown): Readonly<Record<string, unknown>> {
  if (input === undefined || input === null) return {};
  if (typeof input === "object" && !Array.isArray(input)) return input as Readonly<Record<string, unknown>>;
  const message = `Cannot ${action}: its input is no object, give { name: value }`;
  throw new ConnectorError(id, "REQUEST_INVALID", message, { hasNoEffect: true });
}
