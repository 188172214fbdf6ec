/** What every connector to an HTTP backend begins with. Runs on the host. */
import { createHash } from "node:crypto";
import type { ConnectorKind, Facts } from "../contract/connector.ts";
import { secretsOfHeaders } from "./credentials.ts";
import { createRedact } from "./redact.ts";
import { WebClient } from "./web-client.ts";
import { type ResolvedWebOptions, resolveWebOptions, type WebOptions } from "./web-options.ts";

export interface OpenedWebClient {
  readonly options: ResolvedWebOptions;
  readonly client: WebClient;
  /** Of every such connector. */
  readonly facts: Facts;
}

/** `secrets` are those of the credentials. Those among the headers are found by their names. */
export function openWebClient(given: WebOptions, secrets: readonly string[]): OpenedWebClient {
  const options = resolveWebOptions(given);
  const { id, headers, timeoutMs, responseBytes } = options;
  const redact = createRedact([...secretsOfHeaders(headers), ...secrets]);
  const client = new WebClient({ connector: id, headers, timeoutMs, responseBytes, redact });
  return { options, client, facts: { timeoutMs, responseBytes } };
}

/** Equal as long as the same service is at the place. */
export function identityOf(kind: ConnectorKind, place: string): string {
  return `${kind}:${createHash("sha256").update(place).digest("hex").slice(0, 32)}`;
}
