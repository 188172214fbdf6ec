/** An MCP server in the older protocol that repeats what it was given, wherever it can. For tests. */
import { allForms } from "./leaks.ts";

export interface Request {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: {
    readonly name?: string;
    readonly arguments?: { readonly how?: string };
    readonly _meta?: { readonly progressToken?: string | number };
  };
}

export const MCP_LEAKS = [
  "text",
  "json",
  "structured",
  "image",
  "error",
  "structured-error",
  "protocol-error",
  "progress",
] as const;

/** The answers to a request: notices, and then the answer. */
export function mcpAnswers({ id, method, params }: Request, given: readonly string[]): readonly object[] {
  const leak = allForms(given);
  const result = (value: object): object[] => [{ jsonrpc: "2.0", id, result: value }];
  const text = { type: "text", text: leak };
  switch (method) {
    case "initialize":
      return result({
        protocolVersion: "2025-11-25",
        capabilities: { tools: {}, resources: {}, prompts: {}, completions: {} },
        serverInfo: { name: `leaks ${given.join(" ").slice(0, 80)}`, version: leak },
      });
    case "tools/list":
      return result({
        tools: [
          {
            name: "leak",
            title: leak,
            description: leak,
            inputSchema: {
              type: "object",
              properties: { how: { type: "string", description: leak, default: leak } },
            },
          },
        ],
      });
    case "resources/list":
      return result({ resources: [{ uri: "leak://1", name: "leak", description: leak }] });
    case "resources/templates/list":
      return result({ resourceTemplates: [{ uriTemplate: "leak://{a}", name: "leak", description: leak }] });
    case "resources/read":
      return result({
        contents: [
          { uri: "leak://1", text: leak },
          { uri: "leak://2", blob: Buffer.from(leak).toString("base64") },
        ],
      });
    case "prompts/list":
      return result({ prompts: [{ name: "leak", description: leak }] });
    case "prompts/get":
      return result({ messages: [{ role: "user", content: text }] });
    case "completion/complete":
      return result({ completion: { values: given } });
    case "tools/call":
      break;
    case undefined:
    default:
      return id === undefined
        ? []
        : [{ jsonrpc: "2.0", id, error: { code: -32_601, message: `Method not found: ${leak}` } }];
  }
  switch (params?.arguments?.how as (typeof MCP_LEAKS)[number]) {
    case "text":
      return result({ content: [text] });
    case "json":
      return result({ content: [{ type: "text", text: JSON.stringify({ [leak]: [leak, given] }) }] });
    case "structured":
      return result({ content: [text], structuredContent: { [leak]: { leak, given } } });
    case "image":
      return result({
        content: [
          { type: "image", data: Buffer.from(leak).toString("base64"), mimeType: "image/png" },
          { type: "resource", resource: { uri: "leak://1", text: leak, mimeType: "text/plain" } },
        ],
      });
    case "error":
      return result({ isError: true, content: [text] });
    case "structured-error":
      return result({ isError: true, content: [text], structuredContent: { [leak]: given } });
    case "protocol-error":
      return [{ jsonrpc: "2.0", id, error: { code: -32_000, message: leak, data: { leak, given } } }];
    case "progress":
      return [
        {
          jsonrpc: "2.0",
          method: "notifications/progress",
          params: { progressToken: params?._meta?.progressToken, progress: 1, message: leak },
        },
        ...result({ content: [text] }),
      ];
    default:
      return result({ content: [] });
  }
}
