/**
 * Runs on the host. Connects the tools of many connectors.
 *
 * - A connector that is down keeps no other from being used. Why it is absent is told.
 */
import type { ToolSource } from "codecell/catalog";
import { assertNames, type OptionNames } from "codecell/kit";
import { Artifacts } from "../artifacts/artifacts.ts";
import type { Connector } from "../contract/connector.ts";
import { ConnectorError } from "../contract/connector-error.ts";
import { toToolSource, type ToolSourceOptions } from "./tool-source.ts";

const NAMES: OptionNames<ToolSourceOptions> = { signal: true, artifacts: true };

export interface ConnectedTools {
  /** For `createCatalog`, in the order of the connectors. */
  readonly sources: readonly ToolSource[];
  /** Why the tools of some connectors are absent. */
  readonly unready: readonly ConnectorError[];
  /** Where the bytes are that tools give. */
  readonly artifacts: Artifacts;
}

/** Rejects only with a mistake of the caller, and with the reason of the signal. */
export async function connectTools(
  connectors: readonly Connector[],
  options: ToolSourceOptions = {},
): Promise<ConnectedTools> {
  assertNames(options, NAMES, "connect tools");
  const { signal, artifacts = new Artifacts() } = options;
  const ids = new Set<string>();
  for (const { id } of connectors) {
    if (ids.has(id))
      throw new TypeError(`Cannot connect tools: two connectors have the id "${id}", rename one`);
    ids.add(id);
  }
  const shared = { artifacts, ...(signal === undefined ? {} : { signal }) };
  const asked = await Promise.all(
    connectors.map((connector) => toToolSource(connector, shared).catch((error: ConnectorError) => error)),
  );
  signal?.throwIfAborted();
  const sources: ToolSource[] = [];
  const unready: ConnectorError[] = [];
  for (const one of asked) {
    if (one instanceof ConnectorError) unready.push(one);
    else sources.push(one);
  }
  return { sources, unready, artifacts };
}
