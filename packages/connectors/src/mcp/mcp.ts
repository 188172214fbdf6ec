/** Runs on the host. The MCP kind of connector, as users make it. */
import type { Connector } from "../contract/connector.ts";
import { McpConnector } from "./mcp-connector.ts";
import { type McpOptions, resolveMcpOptions } from "./options.ts";

/** A connector to an MCP server: a process that is started, or a URL. */
export function mcp(options: McpOptions): Connector {
  return new McpConnector(resolveMcpOptions(options));
}
