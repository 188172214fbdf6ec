/** Runs on the host. The MCP kind of connector, as users make it. */
import type { Connector } from "../contract/connector.ts";
import { McpConnector } from "./mcp-connector.ts";
import { throughDoor, type PlainSecrets } from "../secrets/door.ts";
import {
  isSecretName,
  secretsOfArguments,
  secretsOfHeaders,
  secretsOfUrl,
  textsOf,
} from "../secrets/secrets-of.ts";
import { type McpOptions, type McpProcessOptions, type McpUrlOptions, resolveMcpOptions } from "./options.ts";

/** A connector to an MCP server: a process that is started, or a URL. */
export function mcp(options: McpOptions): Connector {
  return throughDoor(options, {
    kind: "mcp",
    places: {
      texts: ["env.*", "args.*", "headers.*", "oauth.clientId", "oauth.clientSecret"],
      urls: ["url"],
    },
    plainSecrets,
    make: (resolved, hidden) => new McpConnector(resolveMcpOptions(resolved, hidden.inData), hidden),
  });
}

/** Of plain variables and headers, the names tell; the others are taken out of errors. */
function plainSecrets(options: McpOptions): PlainSecrets {
  const { env, args, headers, url, oauth } = options as Partial<McpProcessOptions & McpUrlOptions>;
  const variables = textsOf(env);
  const ofUrl = url === undefined ? [] : secretsOfUrl(String(url), false);
  return {
    certain: [
      ...variables.filter(([name]) => isSecretName(name)).map(([, value]) => value),
      ...secretsOfArguments(args),
      ...secretsOfHeaders(headers),
      ...ofUrl,
      ...(oauth?.clientSecret === undefined ? [] : [oauth.clientSecret]),
    ],
    hasMoreLater: oauth !== undefined,
    likely: [...variables, ...textsOf(headers)].map(([, value]) => value),
  };
}
