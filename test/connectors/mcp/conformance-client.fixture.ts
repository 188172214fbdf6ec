/**
 * The client that the conformance suite of MCP examines: a connector, used as a program would use it. The suite gives the
 * URL as an argument, the scenario in MCP_CONFORMANCE_SCENARIO, and what else is known in MCP_CONFORMANCE_CONTEXT.
 */
import { type BackendTool, type McpOAuthOptions, type OnAuthorize, mcp } from "@codecell/connectors";

interface Context {
  readonly client_id?: string;
  readonly client_secret?: string;
  readonly issuer?: string;
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: Record<string, unknown> }[];
}

const url = process.argv.at(-1) ?? "";
const scenario = process.env["MCP_CONFORMANCE_SCENARIO"] ?? "";
const context = JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}") as Context;
const request = { signal: AbortSignal.timeout(100_000), idempotencyKey: "1" };

/** A person who says yes at once. */
const onAuthorize: OnAuthorize = async (asked) => {
  const response = await fetch(asked.url, { redirect: "manual" });
  return response.headers.get("location") ?? "";
};

async function oauthOf(): Promise<McpOAuthOptions> {
  const { client_id: clientId, client_secret: clientSecret } = context;
  // Where the suite does not say whose secret it is, it is that of the only authorization server in the scenario.
  const issuer = context.issuer ?? (clientSecret === undefined ? undefined : await issuerOf(url));
  const client = {
    ...(clientId !== undefined && { clientId }),
    ...(clientSecret !== undefined && { clientSecret }),
    ...(issuer !== undefined && { issuer }),
  };
  if (scenario === "auth/client-credentials-basic") return { ...client, grant: "client_credentials" };
  return {
    ...client,
    onAuthorize,
    redirectUrl: "http://localhost:3000/callback",
    clientMetadataUrl: "https://conformance-test.local/client-metadata.json",
  };
}

async function issuerOf(server: string): Promise<string | undefined> {
  const { origin, pathname } = new URL(server);
  const response = await fetch(`${origin}/.well-known/oauth-protected-resource${pathname}`);
  if (!response.ok) return undefined;
  const { authorization_servers: servers } = (await response.json()) as {
    readonly authorization_servers?: readonly string[];
  };
  return servers?.[0];
}

/** The least that a schema takes. */
function sampleOf({ inputSchema }: BackendTool): Record<string, unknown> {
  const { properties = {}, required = [] } = (inputSchema ?? {}) as {
    readonly properties?: Readonly<Record<string, { readonly type?: string }>>;
    readonly required?: readonly string[];
  };
  const samples: Readonly<Record<string, unknown>> = {
    string: "text",
    number: 1,
    integer: 1,
    boolean: true,
    array: [],
  };
  return Object.fromEntries(required.map((name) => [name, samples[properties[name]?.type ?? ""] ?? {}]));
}

function inputsOf(tool: BackendTool, tools: readonly BackendTool[]): readonly Record<string, unknown>[] {
  // Its server has tools to look at, and none to call.
  if (scenario === "json-schema-ref-no-deref") return [];
  if (context.toolCalls !== undefined)
    return context.toolCalls.filter(({ name }) => name === tool.name).map((call) => call.arguments);
  // The scenario looks at what has become of the schema of the other tool.
  if (scenario === "json-schema-2020-12-preservation" && "schema" in sampleOf(tool))
    return [{ schema: tools.find((other) => other !== tool)?.inputSchema }];
  return [sampleOf(tool)];
}

const connector = mcp({
  id: "examined",
  url,
  startTimeoutMs: 100_000,
  timeoutMs: 100_000,
  ...(scenario.startsWith("auth/") && { oauth: await oauthOf() }),
  // A person who changes nothing in the forms.
  onElicit: () => Promise.resolve({ action: "accept", content: {} }),
});

try {
  await connector.check(request);
  const tools = await connector.tools(request);
  for (const tool of tools)
    for (const input of inputsOf(tool, tools))
      await connector.callTool(tool.name, input, request).catch((error: unknown) => {
        // The official client refuses this answer; the scenario looks only whether the call is made again.
        if (tool.name !== "test_mrtr_no_result_type") throw error;
      });
  for (const { uri } of (await connector.context?.resources(request)) ?? [])
    await connector.context?.readResource(uri, request);
  for (const { name, arguments: args = [] } of (await connector.context?.prompts(request)) ?? [])
    await connector.context?.getPrompt(
      name,
      Object.fromEntries(args.map((one) => [one.name, "text"])),
      request,
    );
} finally {
  await connector[Symbol.asyncDispose]();
}
