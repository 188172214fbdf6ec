/** An MCP server on stdio that knows who delivers what. */
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const DELIVERED_BY = { pen: "Quill & Sons", ink: "Squid Ltd" };

serveStdio(() => {
  const server = new McpServer({ name: "suppliers", version: "1.0.0" });
  server.registerTool(
    "supplier_of",
    {
      description: "Who delivers a good",
      inputSchema: z.object({ sku: z.string() }),
      outputSchema: z.object({ supplier: z.string() }),
    },
    ({ sku }) => {
      const supplier = DELIVERED_BY[sku] ?? "nobody";
      return { content: [{ type: "text", text: supplier }], structuredContent: { supplier } };
    },
  );
  return server;
});
