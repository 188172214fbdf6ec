/**
 * Runs on the host. ToolSource: the tools of a connector as tools of a catalog, `<kind>:<connector>:<tool>`.
 *
 * - One connector that is unusable keeps no catalog of many from being made.
 */
import { createCatalog, type ToolSource } from "codecell/catalog";
import { Artifacts } from "../artifacts/artifacts.ts";
import type { BackendTool, Connector } from "../contract/connector.ts";
import { ConnectorError } from "../contract/connector-error.ts";
import { toBackendTool } from "./backend-tool.ts";
import { LONGEST_TOOL_NAME, problemOf } from "./sound-tool.ts";
import { toConnectorError } from "./unexpected.ts";
import { cut } from "./values.ts";

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
    for (const tool of listed) assertSound(id, tool);
    const tools = listed.map((tool) => [tool.name, toBackendTool(connector, tool, artifacts)] as const);
    // Some connectors know what is behind them only after they were asked.
    const { identity } = connector;
    const source = { kind, owner: id, tools: Object.fromEntries(tools), identity };
    assertUsable(id, source, listed.length);
    return source;
  } catch (error) {
    throw toConnectorError(id, `read the tools of "${id}"`, error, signal);
  }
}

function assertSound(id: string, tool: BackendTool): void {
  const { name } = tool;
  const why = name.length > LONGEST_TOOL_NAME ? "its name is too long" : problemOf(tool);
  if (why === undefined) return;
  const message = `Cannot use tool ${JSON.stringify(cut(name, 100))} of "${id}": ${why}`;
  throw new ConnectorError(id, "DOWNSTREAM_PROTOCOL_ERROR", message, { hasNoEffect: true });
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
