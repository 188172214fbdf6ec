/** Chooses the server of an API, and what of it may be called. Runs on the host. */
import type { Server } from "./description/messages.ts";
import { misconfigured, parseBaseUrl } from "../web/web-options.ts";

export interface ServerChoice {
  /** Where the description came from, if it came from the web: a relative server is below it. */
  readonly documentUrl: URL | undefined;
  readonly variables: Readonly<Record<string, string>>;
}

/** The base URL of a server, its variables filled in. */
export function baseUrlOf(id: string, server: Server, { documentUrl, variables }: ServerChoice): URL {
  const filled = server.url.replaceAll(/\{([^{}]*)\}/gu, (_, name: string) => {
    const variable = Object.hasOwn(server.variables, name) ? server.variables[name] : undefined;
    const value = Object.hasOwn(variables, name) ? variables[name] : variable?.default;
    if (value === undefined || value === "")
      throw misconfigured(id, `its server needs a value for the variable "${name}"`);
    if (variable?.values !== undefined && !variable.values.includes(value)) {
      throw misconfigured(
        id,
        `the variable "${name}" of its server has to be one of "${variable.values.join('", "')}"`,
      );
    }
    return value;
  });
  const url = URL.parse(filled, documentUrl?.href);
  if (url === null) throw misconfigured(id, "its description names no server with a host, set baseUrl");
  return parseBaseUrl(id, url.href);
}
