import { mkdtemp, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { JsonSchema } from "codecell";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type Answer,
  json,
  nobody,
  type OpenedWeb,
  openShop,
  openWeb,
  type Received,
  requestOf,
  startWebBackend,
} from "../../../../test/connectors/web-backend.ts";
import { Bytes, type Connector } from "../contract/connector.ts";
import { testConnector } from "../testing/index.ts";
import { openapi, type OpenApiOptions } from "./openapi.ts";

const SECRET = "canary-s3cret-key";
const card = { name: "Shop", description: "A shop on loopback" };
type Json = Record<string, unknown>;

function documentOf(paths: Json, more: Json = {}): Json {
  return { openapi: "3.1.0", info: { title: "Shop", version: "1" }, paths, ...more };
}

testConnector("openapi", ({ timeoutMs, responseBytes }) => {
  const id = { name: "id", in: "path", required: true, schema: { type: "string" } };
  const document = documentOf(
    {
      "/items/{id}": { get: { operationId: "getItem", parameters: [id] } },
      "/hang": { post: { operationId: "hang" } },
      "/large": { get: { operationId: "large" } },
    },
    {
      security: [{ key: [] }],
      components: { securitySchemes: { key: { type: "apiKey", in: "header", name: "X-Key" } } },
    },
  );
  return openShop({ getItem: "getItem", secret: SECRET }, (baseUrl) =>
    openapi({ id: "shop", card, document, baseUrl, credentials: { key: SECRET }, timeoutMs, responseBytes }),
  );
});

const ok: Answer = (_, response) => json(response, 200, "done");

interface OpenApi extends OpenedWeb {
  readonly received: readonly Received[];
}

async function openApi(options: Omit<OpenApiOptions, "id" | "card">, answer: Answer = ok): Promise<OpenApi> {
  const opened = await openWeb(answer, (baseUrl) => openapi({ id: "shop", card, baseUrl, ...options }));
  return { ...opened, received: opened.backend.received };
}

async function withApi(
  options: Omit<OpenApiOptions, "id" | "card">,
  work: (api: OpenApi) => Promise<void>,
  answer: Answer = ok,
): Promise<void> {
  await using api = await openApi(options, answer);
  await work(api);
}

/** One API for the rows of a table: each row has an operation of its own, at its own path. */
function sharedApi(operations: readonly Json[]): () => OpenApi {
  let api: OpenApi;
  beforeAll(async () => {
    const paths = operations.map((operation, at): [string, Json] => {
      const { path: own = "", ...rest } = operation;
      return [`/${at}${own as string}`, { get: { operationId: `op${at}`, ...rest } }];
    });
    api = await openApi({ document: documentOf(Object.fromEntries(paths)) });
  });
  afterAll(() => api[Symbol.asyncDispose]());
  return () => api;
}

function namesOf(connector: Connector): Promise<string[]> {
  return connector.tools({ signal: nobody }).then((tools) => tools.map(({ name }) => name));
}

describe("a parameter", () => {
  const list = ["blue", "black&", "br own"];
  const object = { R: 100, G: 200, "B=": "1,5" };

  const inUrls: readonly (readonly [string, string, boolean, unknown, string])[] = [
    ["path", "simple", false, "a b", "/p/a%20b"],
    ["path", "simple", false, 5, "/p/5"],
    ["path", "simple", false, list, "/p/blue,black%26,br%20own"],
    ["path", "simple", true, list, "/p/blue,black%26,br%20own"],
    ["path", "simple", false, object, "/p/R,100,G,200,B%3D,1%2C5"],
    ["path", "simple", true, object, "/p/R=100,G=200,B%3D=1%2C5"],
    ["path", "label", false, "blue", "/p/.blue"],
    ["path", "label", false, list, "/p/.blue,black%26,br%20own"],
    ["path", "label", true, list, "/p/.blue.black%26.br%20own"],
    ["path", "label", false, object, "/p/.R,100,G,200,B%3D,1%2C5"],
    ["path", "label", true, object, "/p/.R=100.G=200.B%3D=1%2C5"],
    ["path", "matrix", false, "blue", "/p/;v=blue"],
    ["path", "matrix", false, list, "/p/;v=blue,black%26,br%20own"],
    ["path", "matrix", true, list, "/p/;v=blue;v=black%26;v=br%20own"],
    ["path", "matrix", false, object, "/p/;v=R,100,G,200,B%3D,1%2C5"],
    ["path", "matrix", true, object, "/p/;R=100;G=200;B%3D=1%2C5"],
    ["query", "form", true, "", "/q?v="],
    ["query", "form", true, true, "/q?v=true"],
    ["query", "form", true, null, "/q"],
    ["query", "form", true, list, "/q?v=blue&v=black%26&v=br%20own"],
    ["query", "form", false, list, "/q?v=blue,black%26,br%20own"],
    ["query", "form", true, [], "/q"],
    ["query", "form", true, object, "/q?R=100&G=200&B%3D=1%2C5"],
    ["query", "form", false, object, "/q?v=R,100,G,200,B%3D,1%2C5"],
    ["query", "spaceDelimited", false, list, "/q?v=blue%20black%26%20br%20own"],
    ["query", "spaceDelimited", true, list, "/q?v=blue&v=black%26&v=br%20own"],
    ["query", "pipeDelimited", false, list, "/q?v=blue%7Cblack%26%7Cbr%20own"],
    ["query", "deepObject", true, object, "/q?v%5BR%5D=100&v%5BG%5D=200&v%5BB%3D%5D=1%2C5"],
    [
      "query",
      "deepObject",
      true,
      { a: { b: [1, { c: 2 }] } },
      "/q?v%5Ba%5D%5Bb%5D%5B0%5D=1&v%5Ba%5D%5Bb%5D%5B1%5D%5Bc%5D=2",
    ],
    ["query", "form", true, [{ a: 1 }], "/q?v=%7B%22a%22%3A1%7D"],
  ];
  const urls = sharedApi(
    inUrls.map(([place, style, explode]) => ({
      path: place === "path" ? "/p/{v}" : "/q",
      parameters: [{ name: "v", in: place, style, explode, required: true, schema: {} }],
    })),
  );

  test.each([...inUrls.entries()])("%i is written in a URL: %j", async (at, [, , , value, url]) => {
    await urls().call(`op${at}`, { v: value });
    expect(urls().received.at(-1)?.url).toBe(`/${at}${url}`);
  });

  const inHeaders: readonly (readonly [string, boolean, unknown, string | undefined])[] = [
    ["header", false, "a b", "a b"],
    ["header", false, [1, "b,c"], "1,b,c"],
    ["header", false, { R: 1, G: 2 }, "R,1,G,2"],
    ["header", true, { R: 1, G: 2 }, "R=1,G=2"],
    ["header", false, null, undefined],
    ["cookie", true, "a; b", "v=a%3B%20b"],
    ["cookie", true, ["a", "b"], "v=a; v=b"],
    ["cookie", false, ["a", "b"], "v=a,b"],
    ["cookie", true, { R: 1, G: 2 }, "R=1; G=2"],
  ];
  const headers = sharedApi(
    inHeaders.map(([place, explode]) => ({ parameters: [{ name: "v", in: place, explode, schema: {} }] })),
  );

  test.each([...inHeaders.entries()])(
    "%i is written in a header: %j",
    async (at, [place, , value, written]) => {
      await headers().call(`op${at}`, { v: value });
      expect(headers().received.at(-1)?.headers[place === "cookie" ? "cookie" : "v"]).toBe(written);
    },
  );

  test("may be JSON, and may keep reserved characters that do no harm", async () => {
    const parameters = [
      { name: "filter", in: "query", content: { "application/json": { schema: { type: "object" } } } },
      { name: "url", in: "query", allowReserved: true, schema: { type: "string" } },
      { name: "X-Meta", in: "header", content: { "application/json": { schema: {} } } },
    ];
    const document = documentOf({ "/": { get: { operationId: "op", parameters } } });
    await withApi({ document }, async ({ call, received }) => {
      await call("op", { filter: { a: [1] }, url: "http://x/?a=1&b#c+d", "X-Meta": { b: null } });
      expect(received[0]?.url).toBe("/?filter=%7B%22a%22%3A%5B1%5D%7D&url=http://x/?a%3D1%26b%23c%2Bd");
      expect(received[0]?.headers["x-meta"]).toBe('{"b":null}');
    });
  });

  const climbing = sharedApi([
    {
      path: "/p/{v}/end",
      parameters: [{ name: "v", in: "path", required: true, explode: true, schema: {} }],
    },
  ]);

  test.each(["..", "../admin", "a/b", "%2e%2e", "%2e%2e%2f", "", ["a", ".."], { a: "../x" }, "a\nb"])(
    "cannot lead to another path by %j",
    async (v) => {
      const { call, received } = climbing();
      await expect(call("op0", { v })).rejects.toMatchObject({ code: "REQUEST_INVALID", hasNoEffect: true });
      expect(received).toEqual([]);
    },
  );

  test("may have slashes only where the description says so", async () => {
    const parameter = { name: "v", in: "path", required: true, schema: {}, "x-multi-segment": true };
    const document = documentOf({ "/files/{v}": { get: { operationId: "op", parameters: [parameter] } } });
    await withApi({ document }, async ({ call, received }) => {
      await call("op", { v: "docs/a b.md" });
      await expect(call("op", { v: "docs/../b" })).rejects.toMatchObject({ code: "REQUEST_INVALID" });
      expect(received.map(({ url }) => url)).toEqual(["/files/docs/a%20b.md"]);
    });
  });

  test("that is an object cannot name a credential", async () => {
    const parameters = [
      { name: "filter", in: "query", style: "form", explode: true, schema: { type: "object" } },
      { name: "extra", in: "cookie", style: "form", explode: true, schema: { type: "object" } },
    ];
    const security = [{ key: [], session: [] }];
    const document = documentOf(
      { "/": { get: { operationId: "op", parameters, security } } },
      {
        components: {
          securitySchemes: {
            key: { type: "apiKey", in: "query", name: "api_key" },
            session: { type: "apiKey", in: "cookie", name: "session" },
          },
        },
      },
    );
    const credentials = { key: "key-canary", session: "session-canary" };
    await withApi({ document, credentials }, async ({ call, received }) => {
      const refused = { code: "REQUEST_INVALID", hasNoEffect: true };
      await expect(call("op", { filter: { api_key: "mine" } })).rejects.toMatchObject(refused);
      await expect(call("op", { extra: { session: "mine" } })).rejects.toMatchObject(refused);
      expect(received).toEqual([]);
      await call("op", { filter: { a: "1" }, extra: { b: "2" } });
      expect(received[0]?.url).toBe("/?a=1&api_key=key-canary");
      expect(received[0]?.headers.cookie).toBe("session=session-canary; b=2");
    });
  });

  test("that may have reserved characters separates nothing, also for servers that split at semicolons", async () => {
    const parameter = { name: "q", in: "query", allowReserved: true, schema: { type: "string" } };
    const cookie = { name: "c", in: "cookie", allowReserved: true, schema: { type: "string" } };
    const document = documentOf({ "/": { get: { operationId: "op", parameters: [parameter, cookie] } } });
    await withApi({ document }, async ({ call, received }) => {
      await call("op", { q: "a;admin=1&b=2#c", c: "a; session=evil" });
      expect(received[0]?.url).toBe("/?q=a%3Badmin%3D1%26b%3D2%23c");
      expect(received[0]?.headers.cookie).toBe("c=a%3B%20session%3Devil");
    });
  });

  test("of a header cannot break it, or be one of the operator's or the protocol's", async () => {
    const names = [
      "X-A",
      "Host",
      "Authorization",
      "Content-Length",
      "X-Tenant",
      "x-key",
      "Transfer-Encoding",
    ];
    const parameters = names.map((name) => ({
      name,
      in: "header",
      required: true,
      schema: { type: "string" },
    }));
    const document = documentOf(
      { "/": { get: { operationId: "op", parameters } } },
      { components: { securitySchemes: { key: { type: "apiKey", in: "header", name: "X-Key" } } } },
    );
    await withApi({ document, headers: { "X-Tenant": "one" } }, async ({ call, tool, received }) => {
      expect(((await tool("op")).inputSchema as Json)["properties"]).toEqual({ "X-A": { type: "string" } });
      await expect(call("op", { "X-A": "a\r\nX-Evil: 1" })).rejects.toMatchObject({
        code: "REQUEST_INVALID",
      });
      await expect(call("op", { "X-A": "a", "X-Tenant": "b" })).rejects.toMatchObject({
        code: "REQUEST_INVALID",
      });
      expect(received).toEqual([]);
      await call("op", { "X-A": "a" });
      expect(received[0]?.headers).toMatchObject({ "x-a": "a", "x-tenant": "one" });
    });
  });
});

describe("a body", () => {
  const bytes = new Uint8Array([0, 255, 13, 10, 45, 45, 128]);
  const bodyOf = (content: Json, more: Json = {}): Json =>
    documentOf({ "/": { post: { operationId: "op", requestBody: { required: true, content, ...more } } } });

  test("in JSON has its properties beside the parameters, without collisions", async () => {
    const id = (place: string): Json => ({
      name: "id",
      in: place,
      required: true,
      schema: { type: "integer" },
    });
    const schema = {
      type: "object",
      required: ["id", "name"],
      properties: { id: { type: "string" }, name: { type: "string" }, body: { type: "string" } },
    };
    const document = documentOf({
      "/{id}": {
        post: {
          operationId: "op",
          parameters: [id("query"), id("path")],
          requestBody: { required: true, content: { "application/json": { schema } } },
        },
      },
    });
    await withApi({ document }, async ({ call, tool, received }) => {
      expect((await tool("op")).inputSchema).toEqual({
        type: "object",
        properties: {
          id: { type: "integer" },
          query_id: { type: "integer" },
          body_id: { type: "string" },
          name: { type: "string" },
          body: { type: "string" },
        },
        required: ["id", "query_id", "body_id", "name"],
        additionalProperties: false,
      });
      await call("op", { id: 1, query_id: 2, body_id: "x", name: "tea" });
      expect(received[0]?.url).toBe("/1?id=2");
      expect(received[0]?.headers["content-type"]).toBe("application/json");
      expect(received[0]?.body.toString()).toBe('{"id":"x","name":"tea"}');
    });
  });

  test.each<[string, Json]>([
    ["a list", { type: "array", items: {} }],
    ["one of several", { oneOf: [{ type: "object" }, { type: "string" }] }],
    ["open", { type: "object", properties: { a: {} }, additionalProperties: true }],
    ["a map", { type: "object", additionalProperties: { type: "string" } }],
    ["bound in its size", { type: "object", properties: { a: {} }, minProperties: 1 }],
  ])("in JSON that is %s stays one property", async (_, schema) => {
    await withApi(
      { document: bodyOf({ "application/json": { schema } }) },
      async ({ call, tool, received }) => {
        expect((await tool("op")).inputSchema).toMatchObject({
          properties: { body: schema },
          required: ["body"],
        });
        await call("op", { body: [1, { a: null }] });
        expect(received[0]?.body.toString()).toBe('[1,{"a":null}]');
      },
    );
  });

  test("that may be absent is absent, and its required properties stay together", async () => {
    const schema = { type: "object", required: ["a"], properties: { a: {}, b: {} } };
    const document = bodyOf({ "application/json": { schema } }, { required: false });
    await withApi({ document }, async ({ call, tool, received }) => {
      const { inputSchema } = await tool("op");
      expect(inputSchema).toMatchObject({ properties: { body: schema } });
      expect(inputSchema).not.toHaveProperty("required");
      await call("op");
      await call("op", { body: { a: 1 } });
      expect(received.map(({ body, headers }) => [body.toString(), headers["content-type"]])).toEqual([
        ["", undefined],
        ['{"a":1}', "application/json"],
      ]);
    });
  });

  test("of several schemas that are all needed has the properties of all", async () => {
    const document = documentOf(
      {
        "/": {
          post: {
            operationId: "op",
            requestBody: {
              required: true,
              content: {
                "application/json": {
                  schema: {
                    allOf: [{ $ref: "#/components/schemas/A" }, { type: "object", properties: { b: {} } }],
                  },
                },
              },
            },
          },
        },
      },
      {
        components: {
          schemas: { A: { type: "object", required: ["a"], properties: { a: { type: "string" } } } },
        },
      },
    );
    await withApi({ document }, async ({ tool }) => {
      expect((await tool("op")).inputSchema).toMatchObject({
        properties: { a: { type: "string" }, b: {} },
        required: ["a"],
      });
    });
  });

  test("as a form writes each field in its style", async () => {
    const schema = {
      type: "object",
      properties: { text: {}, list: {}, nested: {}, deep: {}, joined: {}, json: {} },
    };
    const encoding = {
      deep: { style: "deepObject", explode: true },
      joined: { style: "form", explode: false },
      json: { contentType: "application/json" },
    };
    const document = bodyOf({ "application/x-www-form-urlencoded": { schema, encoding } });
    await withApi({ document }, async ({ call, received }) => {
      const input = {
        text: "a&b= c+d",
        list: [1, 2],
        nested: { a: 1 },
        deep: { a: { b: 1 } },
        joined: [1, 2],
        json: [1],
      };
      await call("op", input);
      expect(received[0]?.headers["content-type"]).toBe("application/x-www-form-urlencoded");
      expect(received[0]?.body.toString()).toBe(
        "text=a%26b%3D%20c%2Bd&list=1&list=2&nested=%7B%22a%22%3A1%7D&deep%5Ba%5D%5Bb%5D=1&joined=1,2&json=%5B1%5D",
      );
    });
  });

  test("in parts keeps every byte, and no name ends its line", async () => {
    const file = { type: "string", format: "binary" };
    const schema = {
      type: "object",
      required: ["file"],
      properties: {
        file,
        files: { type: "array", items: file },
        note: { type: "string" },
        meta: { type: "object" },
      },
    };
    const document = bodyOf({
      "multipart/form-data": { schema, encoding: { files: { contentType: "image/png, image/jpeg" } } },
    });
    await withApi({ document }, async ({ call, received }) => {
      const evil = new Bytes(bytes, { filename: 'a"\r\nX-Evil: 1', mediaType: "image/png" });
      await call("op", {
        file: evil,
        files: [bytes, new Bytes(bytes, { mediaType: "image/jpeg" })],
        note: "grün",
        meta: { a: 1 },
      });
      const [{ headers, body }] = received as [Received];
      const boundary =
        /^multipart\/form-data; boundary=(.+)$/u.exec(headers["content-type"] ?? "")?.[1] ?? "";
      const raw = Buffer.from(bytes).toString("latin1");
      const part = (about: string, content: string): string =>
        `--${boundary}\r\nContent-Disposition: form-data; ${about}\r\n\r\n${content}\r\n`;
      expect(body.toString("latin1")).toBe(
        [
          part('name="file"; filename="a%22%0D%0AX-Evil: 1"\r\nContent-Type: image/png', raw),
          part('name="files"; filename="file"\r\nContent-Type: application/octet-stream', raw),
          part('name="files"; filename="file"\r\nContent-Type: image/jpeg', raw),
          part('name="note"', Buffer.from("grün").toString("latin1")),
          part('name="meta"\r\nContent-Type: application/json', '{"a":1}'),
          `--${boundary}--\r\n`,
        ].join(""),
      );
    });
  });

  test.each<[string, unknown, string]>([
    ["application/octet-stream", bytes, "application/octet-stream"],
    ["image/*", new Bytes(bytes, { mediaType: "image/png" }), "image/png"],
    ["application/zip", new Bytes(bytes), "application/zip"],
    ["text/plain", "grün", "text/plain"],
    ["application/xml", "<a/>", "application/xml"],
  ])("of type %s is sent as it is", async (type, body, sent) => {
    await withApi(
      { document: bodyOf({ [type]: { schema: { type: "string" } } }) },
      async ({ call, received }) => {
        await call("op", { body });
        const expected = typeof body === "string" ? Buffer.from(body) : Buffer.from(bytes);
        expect(received[0]?.body).toEqual(expected);
        expect(received[0]?.headers["content-type"]).toBe(sent);
      },
    );
  });

  test("with bytes in JSON is refused", async () => {
    const document = bodyOf({ "application/json": { schema: { type: "object", properties: { a: {} } } } });
    await withApi({ document }, async ({ call, received }) => {
      await expect(call("op", { a: { b: new Bytes(bytes) } })).rejects.toMatchObject({
        code: "REQUEST_INVALID",
      });
      expect(received).toEqual([]);
    });
  });
});

describe("a tool", () => {
  test("has a sound name, whatever the description calls it", async () => {
    const op = (operationId?: unknown): Json => ({ operationId });
    const document = documentOf({
      "/z": { get: op("list things!"), post: op("issues/create"), put: op("doubled") },
      "/a": { get: op("doubled"), put: op("doubled_2"), post: op("1st"), delete: op("") },
      "/users/{id}/posts.json": { get: op(), patch: op(5) },
      "/": { get: op() },
      "/long": { get: op("x".repeat(100)), put: op("x".repeat(99)) },
      "/ünï": { get: op("größe") },
      "x-no-path": { get: op("none") },
    });
    await withApi({ document }, async ({ connector }) => {
      const names = await namesOf(connector);
      expect(names).toEqual(
        [
          "list_things",
          "doubled_3",
          "issues_create",
          "doubled",
          "doubled_2",
          "_1st",
          "delete_a",
          "get_users_by_id_posts_json",
          "patch_users_by_id_posts_json",
          "get_root",
          "x".repeat(64),
          `${"x".repeat(62)}_2`,
          "gro_e",
        ].toSorted((one, other) => names.indexOf(one) - names.indexOf(other)),
      );
      for (const name of names) expect(name).toMatch(/^[A-Za-z_]\w{0,63}$/u);
    });
  });

  test("says what the description says of it", async () => {
    const document = documentOf({
      "/a": {
        get: { operationId: "a", summary: "Lists", description: "Lists all.", tags: ["x"], deprecated: true },
        delete: { operationId: "b", summary: "Deletes" },
      },
    });
    await withApi({ document }, async ({ connector }) => {
      const [a, b] = await connector.tools({ signal: nobody });
      expect(a).toMatchObject({ title: "Lists", description: "Lists all.", tags: ["x"], readOnlyHint: true });
      expect(a?.avoidWhen).toContain("deprecated");
      expect(b).toMatchObject({ description: "Deletes", destructiveHint: true, idempotentHint: true });
    });
  });

  test.each<[string, Json, JsonSchema | undefined]>([
    [
      "one success",
      { 200: { content: { "application/json": { schema: { type: "integer" } } } } },
      { type: "integer" },
    ],
    [
      "several successes",
      {
        200: { content: { "application/vnd.x+json": { schema: { type: "integer" } } } },
        204: { description: "" },
        404: {},
      },
      { anyOf: [{ type: "integer" }, { type: "null" }] },
    ],
    [
      "only a default",
      { default: { content: { "application/json": { schema: { type: "integer" } } } } },
      { type: "integer" },
    ],
    ["text", { "2XX": { content: { "text/plain": {} } } }, { type: "string" }],
    [
      "bytes",
      { 200: { content: { "image/png": { schema: { type: "string", format: "binary" } } } } },
      undefined,
    ],
    ["anything", { 200: { content: { "application/json": {} } } }, undefined],
    ["nothing that is said", {}, undefined],
  ])("whose answer is %s says what its data is", async (_, responses, outputSchema) => {
    const document = documentOf({ "/": { get: { operationId: "op", responses } } });
    await withApi({ document }, async ({ tool }) => {
      expect((await tool("op")).outputSchema).toEqual(outputSchema);
    });
  });

  test("asks for JSON first", async () => {
    const responses = { 200: { content: { "text/xml": {}, "application/json": { schema: {} } } } };
    const document = documentOf({ "/": { get: { operationId: "op", responses } } });
    await withApi({ document }, async ({ call, received }) => {
      await call("op");
      expect(received[0]?.headers.accept).toBe("application/json, */*;q=0.1");
    });
  });

  test("has schemas that contain themselves, and nothing they do not need", async () => {
    const Tree = {
      type: "object",
      "x-internal": "no",
      example: { name: "no" },
      properties: {
        name: { type: "string", pattern: "^[" },
        children: { type: "array", items: { $ref: "#/components/schemas/Tree" } },
        other: { $ref: "#/components/schemas/Missing" },
        leaf: { $ref: "#/components/schemas/a~1leaf" },
      },
    };
    const schemas = { Tree, "a/leaf": { type: ["string", "null"], enum: ["x", null] }, Unused: {} };
    const document = documentOf(
      {
        "/": {
          post: {
            operationId: "op",
            requestBody: {
              content: {
                "application/json": {
                  schema: { type: "array", items: { $ref: "#/components/schemas/Tree" } },
                },
              },
            },
            responses: {
              200: { content: { "application/json": { schema: { $ref: "#/components/schemas/Tree" } } } },
            },
          },
        },
      },
      { components: { schemas } },
    );
    await withApi({ document }, async ({ tool }) => {
      const { inputSchema, outputSchema } = await tool("op");
      const defs = {
        Tree: {
          type: "object",
          properties: {
            name: { type: "string" },
            children: { type: "array", items: { $ref: "#/$defs/Tree" } },
            other: {},
            leaf: { $ref: "#/$defs/a_leaf" },
          },
        },
        a_leaf: { type: ["string", "null"], enum: ["x", null] },
      };
      expect(outputSchema).toEqual({ $ref: "#/$defs/Tree", $defs: defs });
      expect(inputSchema).toMatchObject({
        properties: { body: { items: { $ref: "#/$defs/Tree" } } },
        $defs: defs,
      });
    });
  });

  test("has a finite schema where others refer to thousands", async () => {
    const count = 3000;
    const entries = Array.from({ length: count }, (_, at) => [
      `S${at}`,
      {
        type: "object",
        description: "d".repeat(1000),
        properties: { next: { $ref: `#/components/schemas/S${(at + 1) % count}` } },
      },
    ]);
    const document = documentOf(
      {
        "/": {
          get: {
            operationId: "op",
            responses: {
              200: { content: { "application/json": { schema: { $ref: "#/components/schemas/S0" } } } },
            },
          },
        },
      },
      { components: { schemas: Object.fromEntries(entries) as Json } },
    );
    await withApi({ document }, async ({ tool }) => {
      expect(JSON.stringify((await tool("op")).outputSchema).length).toBeLessThan(1_000_000);
    });
  });

  test("sends the key of the call where the operation takes one, and is repeated then", async () => {
    const parameters = [
      { name: "Idempotency-Key", in: "header", required: true, schema: { type: "string" } },
    ];
    const document = documentOf({ "/": { post: { operationId: "op", parameters } } });
    let times = 1;
    const busy: Answer = (_, response) =>
      times-- > 0 ? json(response, 503, {}, { "retry-after": "0" }) : json(response, 200, "done");
    await withApi(
      { document },
      async ({ call, tool, received }) => {
        expect(((await tool("op")).inputSchema as Json)["properties"]).toEqual({});
        expect(await call("op")).toBe("done");
        expect(received.map(({ headers }) => headers["idempotency-key"])).toEqual(["key-1", "key-1"]);
      },
      busy,
    );
  });
});

describe("credentials", () => {
  const securitySchemes = {
    header: { type: "apiKey", in: "header", name: "X-Key" },
    query: { type: "apiKey", in: "query", name: "key" },
    cookie: { type: "apiKey", in: "cookie", name: "session" },
    basic: { type: "http", scheme: "Basic" },
    bearer: { type: "http", scheme: "bearer" },
    oauth: { type: "oauth2", flows: {} },
    digest: { type: "http", scheme: "digest" },
  };
  const documentWith = (security: unknown): Json =>
    documentOf({ "/": { get: { operationId: "op", security } } }, { components: { securitySchemes } });
  const password = { username: "user", password: "canary-pass" };
  const credentials = {
    header: "canary-h",
    query: "canary-q&",
    cookie: "canary-c;",
    basic: password,
    bearer: "canary-b",
    oauth: "canary-o",
  };

  test.each<[unknown, string, Json]>([
    [[{ header: [] }], "/", { "x-key": "canary-h" }],
    [[{ query: [] }], "/?key=canary-q%26", {}],
    [[{ cookie: [] }], "/", { cookie: "session=canary-c%3B" }],
    [[{ basic: [] }], "/", { authorization: `Basic ${Buffer.from("user:canary-pass").toString("base64")}` }],
    [[{ bearer: [] }], "/", { authorization: "Bearer canary-b" }],
    [[{ oauth: ["scope"] }], "/", { authorization: "Bearer canary-o" }],
    [[{ header: [], bearer: [] }], "/", { "x-key": "canary-h", authorization: "Bearer canary-b" }],
    [[{ digest: [] }, {}, { header: [] }], "/", { "x-key": "canary-h" }],
    [[], "/", { "x-key": undefined, authorization: undefined }],
  ])("for %j are sent where they belong", async (security, url, headers) => {
    await withApi({ document: documentWith(security), credentials }, async ({ call, received }) => {
      await call("op");
      expect(received[0]?.url).toBe(url);
      for (const [name, value] of Object.entries(headers)) expect(received[0]?.headers[name]).toBe(value);
    });
  });

  test.each<[OpenApiOptions["credentials"], string]>([
    [{ none: "canary-x" }, 'no usable security scheme "none"'],
    [{ digest: "canary-x" }, 'no usable security scheme "digest"'],
    [{ basic: "canary-x" }, "a username and a password"],
    [{ bearer: password }, "one text"],
    [{ header: "canary\r\nX: 1" }, "a character no header can carry"],
  ])("that do not fit are a fault of the configuration", async (given, problem) => {
    await withApi({ document: documentWith([]), credentials: given ?? {} }, async ({ connector }) => {
      const error: unknown = await connector.tools({ signal: nobody }).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: "CONFIG_INVALID", message: expect.stringContaining(problem) });
      expect((error as Error).message).not.toContain("canary");
    });
  });

  test("do not follow a description to another origin", async () => {
    const answer: Answer = ({ headers }, response) =>
      json(response, 200, {
        ...documentOf({ "/": { get: { operationId: "op" } } }),
        servers: [{ url: headers["x-other"] === undefined ? "http://127.0.0.2:9" : "/api" }],
      });
    const backend = await startWebBackend(answer);
    const connector = openapi({
      id: "shop",
      card,
      document: backend.origin,
      headers: { Authorization: "canary-token" },
    });
    await expect(connector.tools({ signal: nobody })).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining("set baseUrl"),
    });
    expect(backend.received.map(({ headers }) => headers.authorization)).toEqual([undefined]);
    await backend[Symbol.asyncDispose]();
  });
});

describe("a server", () => {
  test("is where its variables say", async () => {
    const server = (origin: string): Json => ({
      url: `${origin}/{stage}/v{version}`,
      variables: { stage: { default: "live", enum: ["live", "test"] }, version: { default: 2 } },
    });
    const backend = await startWebBackend(ok);
    const document = documentOf(
      { "/a": { get: { operationId: "op" } } },
      { servers: [server(backend.origin)] },
    );
    for (const [serverVariables, url] of [
      [{}, "/live/v2/a"],
      [{ stage: "test", version: "3" }, "/test/v3/a"],
    ] as const) {
      const connector = openapi({ id: "shop", card, document, serverVariables });
      await connector.callTool("op", {}, requestOf());
      expect(backend.received.at(-1)?.url).toBe(url);
    }
    const wrong = openapi({ id: "shop", card, document, serverVariables: { stage: "other" } });
    await expect(wrong.tools({ signal: nobody })).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining('one of "live", "test"'),
    });
    await backend[Symbol.asyncDispose]();
  });

  test("of an operation is used at the same origin, and leaves the operation out at another", async () => {
    const servers = (url: string): Json => ({ servers: [{ url }] });
    await withApi(
      {
        document: documentOf({
          "/a": { get: { operationId: "beta", ...servers("/beta") } },
          "/b": { get: { operationId: "elsewhere" }, ...servers("https://uploads.example") },
          "/c": { get: { operationId: "unknown", ...servers("https://{host}/") } },
        }),
      },
      async ({ connector, call, received }) => {
        expect(await namesOf(connector)).toEqual(["beta"]);
        await call("beta");
        expect(received[0]?.url).toBe("/beta/a");
        expect((await connector.check({ signal: nobody })).about).toMatchObject({
          operationsAtOtherOrigins: 2,
        });
      },
    );
  });

  test("that is nowhere has to be configured", async () => {
    const connector = openapi({ id: "shop", card, document: documentOf({ "/a": { get: {} } }) });
    await expect(connector.tools({ signal: nobody })).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining("set baseUrl"),
    });
  });
});

async function inDirectory(
  files: Readonly<Record<string, string | Json>>,
  work: (directory: string) => Promise<void>,
): Promise<void> {
  const directory = await mkdtemp(path.join(tmpdir(), "codecell-openapi-"));
  try {
    for (const [name, content] of Object.entries(files)) {
      await mkdir(path.dirname(path.join(directory, name)), { recursive: true });
      await writeFile(
        path.join(directory, name),
        typeof content === "string" ? content : JSON.stringify(content),
      );
    }
    await work(directory);
  } finally {
    await rm(directory, { recursive: true });
  }
}

describe("a description", () => {
  test("of Swagger 2 in YAML is read like any other", async () => {
    const yaml = `
swagger: "2.0"
info: { title: Old, version: 1.0 }
basePath: /v1
consumes: [application/json]
produces: [application/json]
paths:
  /pets/{id}:
    post:
      operationId: pet
      parameters:
        - { name: id, in: path, required: true, type: integer }
        - { name: tags, in: query, type: array, items: { type: string }, collectionFormat: pipes }
        - { name: body, in: body, required: true, schema: { $ref: "#/definitions/Pet" } }
      responses: { 200: { description: ok, schema: { $ref: "#/definitions/Pet" } } }
  /upload:
    post:
      operationId: upload
      consumes: [multipart/form-data]
      parameters:
        - { name: file, in: formData, required: true, type: file }
        - { name: note, in: formData, type: string }
      responses: { 204: { description: none } }
definitions:
  Pet: { type: object, required: [name], properties: { name: { type: string, x-nullable: true } } }
`;
    await inDirectory({ "old.yaml": yaml }, async (directory) => {
      await withApi({ document: path.join(directory, "old.yaml") }, async ({ call, tool, received }) => {
        const { inputSchema, outputSchema } = await tool("pet");
        expect(inputSchema).toMatchObject({
          properties: {
            id: { type: "integer" },
            tags: { type: "array" },
            name: { type: ["string", "null"] },
          },
          required: ["id", "name"],
        });
        expect(outputSchema).toMatchObject({ $ref: "#/$defs/Pet" });
        await call("pet", { id: 1, tags: ["a", "b"], name: "x" });
        await call("upload", { file: new Bytes(new Uint8Array([0])), note: "n" });
        expect(received[0]).toMatchObject({ url: "/pets/1?tags=a%7Cb" });
        expect(received[0]?.body.toString()).toBe('{"name":"x"}');
        expect(received[1]?.headers["content-type"]).toMatch(/^multipart\/form-data/u);
      });
    });
  });

  test("of OpenAPI 3.0 has the schemas of 3.1", async () => {
    const schema = {
      type: "object",
      properties: { a: { type: "number", nullable: true, minimum: 0, exclusiveMinimum: true } },
    };
    const document = {
      ...documentOf({
        "/": {
          get: { operationId: "op", responses: { 200: { content: { "application/json": { schema } } } } },
        },
      }),
      openapi: "3.0.3",
    };
    await withApi({ document }, async ({ tool }) => {
      expect((await tool("op")).outputSchema).toEqual({
        type: "object",
        properties: { a: { type: ["number", "null"], exclusiveMinimum: 0 } },
      });
    });
  });

  test("may be in several files below its directory, and in no others", async () => {
    const ref = ($ref: string): Json => ({ $ref });
    const schemas = (names: readonly string[]): Json => ({
      200: {
        content: {
          "application/json": {
            schema: { properties: Object.fromEntries(names.map((name) => [name, ref(name)])) },
          },
        },
      },
    });
    const outside = [
      "../secret.json",
      "/etc/hostname",
      "link/secret.json",
      "http://127.0.0.1:9/x.json",
      "none.json",
      "broken.yaml",
    ];
    const files = {
      "secret.json": { const: "canary" },
      "api/api.json": documentOf({
        "/": { get: { operationId: "op", responses: schemas(["parts/a.yaml#/A", ...outside]) } },
        "/other": ref("parts/path.json"),
      }),
      "api/parts/a.yaml":
        "A: { type: array, items: { $ref: '#/B' } }\nB: { $ref: '../api.json#/components/schemas/C' }",
      "api/parts/path.json": { get: { operationId: "other", parameters: [ref("p.json")] } },
      "api/parts/p.json": { name: "q", in: "query", schema: { type: "string" } },
      "api/broken.yaml": "a: [",
    };
    const api = files["api/api.json"];
    api["components"] = { schemas: { C: { type: "integer" } } };
    await inDirectory(files, async (directory) => {
      await symlink(directory, path.join(directory, "api", "link"));
      await withApi({ document: path.join(directory, "api", "api.json") }, async ({ connector, tool }) => {
        const schema = (await tool("op")).outputSchema as { properties: Json; $defs: Json };
        expect(schema.properties["parts/a.yaml#/A"]).toEqual({ $ref: "#/$defs/A" });
        for (const name of outside) expect(schema.properties[name]).toEqual({});
        expect(schema.$defs).toEqual({
          A: { type: "array", items: { $ref: "#/$defs/B" } },
          B: { $ref: "#/$defs/C" },
          C: { type: "integer" },
        });
        expect(((await tool("other")).inputSchema as Json)["properties"]).toEqual({ q: { type: "string" } });
        const { about } = await connector.check({ signal: nobody });
        expect(about).toMatchObject({ problems: outside.length });
      });
    });
  });

  test("from the web may have others at its origin, and at no other", async () => {
    const backend = await startWebBackend(({ url }, response) => {
      const properties = { a: { $ref: "b.json#/B" }, c: { $ref: "http://127.0.0.2:9/c.json" } };
      const content = { "application/json": { schema: { properties } } };
      if (url === "/moved") response.writeHead(302, { location: "/docs/api.json" }).end();
      else if (url === "/docs/api.json")
        json(
          response,
          200,
          documentOf({ "/": { get: { operationId: "op", responses: { 200: { content } } } } }),
        );
      else if (url === "/b.json" || url === "/docs/b.json") json(response, 200, { B: { type: "integer" } });
      else json(response, 404, {});
    });
    const connector = openapi({ id: "shop", card, document: new URL(`${backend.origin}/moved`) });
    const [tool] = await connector.tools({ signal: nobody });
    expect(tool?.outputSchema).toEqual({
      properties: { a: { $ref: "#/$defs/B" }, c: {} },
      $defs: { B: { type: "integer" } },
    });
    await connector[Symbol.asyncDispose]();
    await backend[Symbol.asyncDispose]();
  });

  test.each<[string, string, string]>([
    ["is no JSON", "{", "does not parse"],
    ["is no YAML", "a: [", "does not parse"],
    ["is another thing", '{"hello":1}', "no OpenAPI"],
    ["is a list", "[]", "no object"],
    ["is of another version", '{"openapi":"4.0.0","paths":{}}', "no OpenAPI"],
    ["is empty", "", "no object"],
    ["is too large", `{"openapi":"3.1.0","x":"${"y".repeat(10_000)}"}`, "too many bytes"],
    [
      "multiplies itself",
      `a: &a [x,x,x,x,x,x,x,x,x]\n${"bcdefghi"
        .split("")
        .map((name, at) => `${name}: &${name} [${Array(9).fill(`*${"abcdefgh"[at]}`).join(",")}]`)
        .join("\n")}`,
      "does not parse",
    ],
  ])("that %s is a fault of the configuration, and says which connector", async (_, text, problem) => {
    await inDirectory({ "api.txt": text }, async (directory) => {
      await withApi(
        { document: path.join(directory, "api.txt"), documentBytes: 5000 },
        async ({ connector }) => {
          await expect(connector.tools({ signal: nobody })).rejects.toMatchObject({
            code: "CONFIG_INVALID",
            connector: "shop",
            message: expect.stringContaining(problem),
          });
        },
      );
    });
  });

  test("that is not there says so, without its place", async () => {
    for (const [document, code] of [
      ["/nowhere/canary.json", "CONFIG_INVALID"],
      ["http://127.0.0.1:1/canary.json", "SERVER_UNAVAILABLE"],
    ] as const) {
      const connector = openapi({ id: "shop", card, document, baseUrl: "http://127.0.0.1:1" });
      const error: unknown = await connector.tools({ signal: nobody }).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code });
      expect((error as Error).message).not.toContain("canary");
    }
  });

  test("that never comes is not waited for by nobody", async () => {
    const backend = await startWebBackend(() => {});
    const connector = openapi({ id: "shop", card, document: `${backend.origin}/api.json` });
    const caller = new AbortController();
    const listed = connector.tools({ signal: caller.signal });
    const failed = expect(listed).rejects.toMatchObject({ code: "CALL_ABORTED" });
    await backend.arrived();
    caller.abort();
    await failed;
    await backend.left();
    await backend[Symbol.asyncDispose]();
  });

  test("whose operations are odd keeps those that can be used", async () => {
    const document = documentOf({
      "/a": { get: { operationId: "nameless", parameters: [{ in: "query" }] }, post: "none" },
      "/b": { get: { operationId: "lost", parameters: [{ $ref: "#/components/parameters/none" }] } },
      "/c": { post: { operationId: "bodiless", requestBody: { $ref: "#/components/requestBodies/none" } } },
      "/d/{x}": {
        parameters: [{ name: "q", in: "query", schema: { type: "string" } }],
        get: {
          operationId: "fine",
          parameters: [
            { name: "q", in: "query", schema: { type: "integer" } },
            { name: "gone", in: "path", required: true, schema: {} },
            { name: "__proto__", in: "query", schema: { type: "boolean" } },
            { name: "constructor", in: "query" },
          ],
        },
      },
      "/e": null,
      "/f": { $ref: "#/paths/~1f" },
    });
    await withApi(
      { document: JSON.parse(JSON.stringify(document)) as Json },
      async ({ connector, tool, call, received }) => {
        expect(await namesOf(connector)).toEqual(["fine"]);
        const { properties } = (await tool("fine")).inputSchema as { properties: Json };
        expect(Object.entries(properties)).toEqual([
          ["x", { type: "string" }],
          ["q", { type: "integer" }],
          ["__proto__", { type: "boolean" }],
          ["constructor", {}],
        ]);
        await call("fine", { x: "1", constructor: "c", ...(JSON.parse('{"__proto__":true}') as Json) });
        expect(received[0]?.url).toContain("constructor=c");
        expect((await connector.check({ signal: nobody })).about).toMatchObject({
          problems: 3,
          problem: expect.stringContaining("GET /a"),
        });
      },
    );
  });

  test("is read again when its time is over, and kept while it cannot be", async () => {
    const version = (name: string): Json => documentOf({ "/": { get: { operationId: name } } });
    await inDirectory({ "api.json": version("one") }, async (directory) => {
      const file = path.join(directory, "api.json");
      await withApi({ document: file, documentTtlMs: 0 }, async ({ connector }) => {
        const changes: string[] = [];
        const end = connector.onChange((list) => changes.push(list));
        expect(await namesOf(connector)).toEqual(["one"]);
        expect(await namesOf(connector)).toEqual(["one"]);
        expect(changes).toEqual([]);
        await writeFile(file, "{");
        expect(await namesOf(connector)).toEqual(["one"]);
        await writeFile(file, JSON.stringify(version("two")));
        expect(await namesOf(connector)).toEqual(["two"]);
        expect(changes).toEqual(["tools"]);
        end();
      });
    });
  });

  test("can be written by nobody who reads it", async () => {
    const schema = { type: "object", properties: { a: { type: "string" } } };
    const document = documentOf({
      "/": {
        get: { operationId: "op", responses: { 200: { content: { "application/json": { schema } } } } },
      },
    });
    await withApi({ document }, async ({ tool }) => {
      const { outputSchema } = await tool("op");
      expect(() => Object.assign((outputSchema as { properties: Json }).properties, { b: {} })).toThrow(
        TypeError,
      );
    });
  });
});
