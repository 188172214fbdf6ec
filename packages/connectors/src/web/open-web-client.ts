/** What every connector to an HTTP backend begins with. Runs on the host. */
import { createHash } from "node:crypto";
import type { Hidden } from "../backend/hidden-texts.ts";
import type { ConnectorKind, Facts } from "../contract/connector.ts";
import { WebClient } from "./web-client.ts";
import { type ResolvedWebOptions, resolveWebOptions, type WebOptions } from "./web-options.ts";

export interface OpenedWebClient {
  readonly options: ResolvedWebOptions;
  readonly client: WebClient;
  /** Of every such connector. */
  readonly facts: Facts;
  /** Equal as long as the same service is at the place. */
  readonly identityOf: (place: string) => string;
}

export function openWebClient(
  kind: ConnectorKind,
  given: WebOptions,
  { inData, inErrors }: Hidden,
): OpenedWebClient {
  const options = resolveWebOptions(given);
  const { id, headers, timeoutMs, responseBytes } = options;
  const client = new WebClient({ connector: id, headers, timeoutMs, responseBytes, hidden: inErrors });
  const identityOf = (place: string): string =>
    `${kind}:${createHash("sha256").update(inData.hide(place)).digest("hex").slice(0, 32)}`;
  return { options, client, facts: { timeoutMs, responseBytes }, identityOf };
}
