/** All kinds of connectors behind the same handle: the same methods, the same shapes, whatever the backend is. */
import {
  cli,
  CONNECTOR_KINDS,
  type Connector,
  type ConnectorKind,
  createHandles,
  discovery,
  graphql,
  http,
  openapi,
  set,
} from "@codecell/connectors";
import { createHost, unwrap } from "codecell";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openHttp } from "./mcp/opened.ts";
import { startWebBackend } from "./web-backend.ts";

const card = { name: "Shop", description: "Sells things" };
const host = createHost({ workers: 1 });
const closing: AsyncDisposable[] = [host];

interface Backend {
  readonly connector: Connector;
  /** A tool of its own. */
  readonly tool: string;
  readonly input: object;
  readonly data: unknown;
}

let backends: Readonly<Record<ConnectorKind, Backend>>;

beforeAll(async () => {
  const web = await startWebBackend(({ url, body }, response) => {
    const isGraphql = url.startsWith("/graphql");
    const named = isGraphql ? body.toString() : url;
    const data = named.includes("shoes") ? "12 shoes" : null;
    response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify(isGraphql ? { data: { stock: data, __typename: "Query" } } : data));
  });
  const opened = await openHttp({ timeoutMs: 100_000, responseBytes: 1_000_000 });
  closing.push(web, opened);
  const parameters = [{ name: "thing", in: "path", required: true, schema: { type: "string" } }];
  const ofApi = { input: { thing: "shoes" }, data: "12 shoes" };
  const inner = http({
    id: "inner",
    card,
    baseUrl: web.origin,
    actions: [{ name: "stock", method: "GET", path: "/stock" }],
  });
  backends = {
    mcp: { connector: opened.connector, tool: "add", input: { a: 1, b: 2 }, data: { sum: 3 } },
    openapi: {
      ...ofApi,
      tool: "stock",
      connector: openapi({
        id: "openapi",
        card,
        baseUrl: web.origin,
        document: {
          openapi: "3.1.0",
          info: { title: "Shop", version: "1" },
          paths: { "/stock/{thing}": { get: { operationId: "stock", parameters } } },
        },
      }),
    },
    graphql: {
      ...ofApi,
      tool: "stock",
      data: { data: "12 shoes" },
      connector: graphql({
        id: "graphql",
        card,
        endpoint: `${web.origin}/graphql`,
        schema: { sdl: "type Query { stock(thing: String!): String }" },
      }),
    },
    http: {
      ...ofApi,
      tool: "stock",
      connector: http({
        id: "http",
        card,
        baseUrl: web.origin,
        actions: [
          {
            name: "stock",
            method: "GET",
            path: "/stock/{thing}",
            input: { type: "object", properties: { thing: { type: "string" } }, required: ["thing"] },
          },
        ],
      }),
    },
    cli: {
      tool: "stock",
      input: {},
      data: "12 shoes\n",
      connector: cli({
        id: "cli",
        card,
        commands: [
          {
            name: "stock",
            description: "Counts",
            program: process.execPath,
            args: ["-p", "'12 shoes'"],
          },
        ],
      }),
    },
    discovery: {
      ...ofApi,
      tool: "stock",
      connector: discovery({
        id: "discovery",
        card,
        rootUrl: web.origin,
        document: {
          kind: "discovery#restDescription",
          name: "shop",
          version: "v1",
          rootUrl: "https://shop.example/",
          servicePath: "",
          methods: {
            stock: {
              id: "shop.stock",
              path: "stock/{thing}",
              httpMethod: "GET",
              parameters: { thing: { type: "string", location: "path", required: true } },
              parameterOrder: ["thing"],
            },
          },
        },
      }),
    },
    set: {
      tool: "inner.stock",
      input: {},
      data: null,
      connector: set({ id: "set", card, connectors: [inner], owned: true }),
    },
  };
  for (const { connector } of Object.values(backends)) closing.push(connector);
});

afterAll(async () => {
  for (const one of closing.toReversed()) await one[Symbol.asyncDispose]();
});

const METHODS =
  "callTool check complete describeTool getPrompt id inspect prompts readResource resourceTemplates resources searchPrompts searchResources searchTools tools";

describe.each(CONNECTOR_KINDS)("a backend of the kind %s", (kind) => {
  test("answers every method of the handle [handles:107]", async () => {
    const { connector, tool, input, data } = backends[kind];
    const source = `
      const [h] = Object.values(connectors);
      const [tool, input] = ${JSON.stringify([tool, input])};
      const kindOf = (list) => (Array.isArray(list.items) ? "list" : "other");
      const envelope = ({ ok, data, error, meta }) => (ok ? "data" : typeof error.code === "string" && typeof error.message === "string" && typeof meta.connectorId === "string" ? "error" : "other");
      return {
        methods: Object.keys(h).sort().join(" "),
        kind: (await h.inspect()).backend.kind,
        ready: (await h.check()).ok,
        listed: (await h.tools()).items.some(({ name }) => name === tool),
        found: (await h.searchTools(tool)).items[0].name,
        described: (await h.describeTool(tool)).data.callSignature.includes(JSON.stringify(tool)),
        called: await h.callTool(tool, input),
        lists: [await h.resources(), await h.searchResources("a"), await h.resourceTemplates(), await h.prompts(), await h.searchPrompts("a")].map(kindOf),
        others: [await h.readResource("none://x"), await h.getPrompt("none"), await h.complete({ ref: { type: "prompt", name: "none" }, argument: { name: "a", value: "" } })].map(envelope),
        codes: [await h.readResource("none://x"), await h.getPrompt("none")].map(({ error }) => error.code),
      };`;
    const answered = unwrap(await host.start({ source, connectors: createHandles([connector]) }).result);
    expect(answered).toMatchObject({
      methods: METHODS,
      kind,
      ready: true,
      listed: true,
      found: tool,
      described: true,
      called: { ok: true, data, meta: { connectorId: connector.id, tool } },
      lists: Array.from({ length: 5 }, () => "list"),
      others: ["error", "error", "error"],
    });
    const { codes } = answered as { codes: string[] };
    if (connector.context === undefined)
      expect(codes).toEqual(["UNSUPPORTED_OPERATION", "UNSUPPORTED_OPERATION"]);
  });
});
