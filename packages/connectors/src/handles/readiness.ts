/**
 * Runs on the host. Readiness of a backend, as `check()` of its handle tells it.
 *
 * - A backend that is not ready is a failure with a code of its own: a program asks before it spends work.
 */
import type { Json } from "codecell";
import { withCallDetails } from "codecell/kit";
import type { Connector } from "../contract/connector.ts";
import { toConnectorError } from "../tools/unexpected.ts";
import { present } from "../tools/values.ts";

export class Unready extends Error {
  override readonly name = "ConnectorError";
  readonly code = "backend_not_ready";
}

export async function checkReadiness(connector: Connector, signal: AbortSignal): Promise<Json> {
  const { id } = connector;
  const startedAt = performance.now();
  const elapsedMs = (): number => Math.round(performance.now() - startedAt);
  try {
    const { tools, resources, resourceTemplates, prompts, about } = await connector.check({ signal });
    return present({
      id,
      status: "available",
      toolCount: tools,
      resourceCount: resources,
      resourceTemplateCount: resourceTemplates,
      promptCount: prompts,
      about,
      elapsedMs: elapsedMs(),
    });
  } catch (thrown) {
    const { code, message, details } = toConnectorError(id, `check "${id}"`, thrown, signal);
    const unready = new Unready(`"${id}" is unavailable: ${message}`, { cause: thrown });
    const status = { id, status: "unavailable", code, reason: details, elapsedMs: elapsedMs() };
    throw withCallDetails(unready, present(status));
  }
}
