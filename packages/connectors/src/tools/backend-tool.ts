/**
 * Runs on the host. BackendTool: one tool of a connector as a tool of a run.
 *
 * - What a backend says of its tools are claims. Only of a connector that the operator trusts do they permit a call to
 *   be repeated.
 * - A tool that says it destroys something asks first, whoever says so: the backend hears of the call after a yes.
 * - A program sees of an error its code, its message and its details, and of bytes a reference.
 */
import type { CallContext, Json, Tool } from "codecell";
import { resultTypeOf, VALIDATE, withOwnMiddleware } from "codecell/kit";
import { readLater } from "./read-later.ts";
import type { Artifacts } from "../artifacts/artifacts.ts";
import { withReferences } from "../artifacts/references.ts";
import type { BackendTool, Card, Connector } from "../contract/connector.ts";
import { ConnectorError } from "../contract/connector-error.ts";
import { mending } from "./repair.ts";
import { forProgram, toConnectorError } from "./unexpected.ts";

/** The type of results where nobody has renamed the root of the handles. */
const RESULT = resultTypeOf("connectors");

export function toBackendTool(connector: Connector, tool: BackendTool, artifacts: Artifacts): Tool {
  const { id, card } = connector;
  const { title, tags = [] } = tool;
  const isDestructive = tool.destructiveHint === true;
  const made: Tool = {
    description: describe(tool, card),
    label: title,
    tags: [...new Set([...tags, ...(card.tags ?? []), card.name])],
    input: schemaOf(tool, "inputSchema"),
    output: schemaOf(tool, "outputSchema"),
    ...repetitionOf(connector, tool),
    execute: (input, call) => {
      if (isDestructive) assertAllowed(connector, tool, input, call);
      return callBackend(connector, tool, input, call, artifacts);
    },
  };
  return withOwnMiddleware(made, { [VALIDATE]: mending(id, tool, RESULT) });
}

/** A backend may have thousands of tools, whose schemas are made when somebody reads them. */
function schemaOf(tool: BackendTool, name: "inputSchema" | "outputSchema"): Tool["input"] {
  const own = Object.getOwnPropertyDescriptor(tool, name);
  return own === undefined || "value" in own ? tool[name] : readLater(() => tool[name]);
}

/** What permits that a call is made again. */
export function repetitionOf(
  { isTrusted }: Connector,
  { readOnlyHint, destructiveHint, idempotentHint }: BackendTool,
): { readonly readOnly: boolean; readonly idempotent: boolean } {
  return {
    readOnly: isTrusted && readOnlyHint === true && destructiveHint !== true,
    idempotent: isTrusted && idempotentHint === true,
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
      throw forProgram(toConnectorError(id, action, error, signal));
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
