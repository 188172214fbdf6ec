import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { nobody, startWebBackend, type WebBackend } from "../../../../test/connectors/web-backend.ts";
import type { Connector } from "../contract/connector.ts";
import { cli } from "../cli/cli.ts";
import { discovery } from "../discovery/discovery.ts";
import { graphql } from "../graphql/graphql.ts";
import { http } from "../http/http.ts";
import { openapi } from "../openapi/openapi.ts";

const SECRET = "canary-0123456789abcdef";
const card = { name: "Shop", description: "A shop" };
const headers = { "x-api-key": SECRET };

let folder: string;
let backend: WebBackend;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "codecell-descriptions-"));
  backend = await startWebBackend(({ url }, response) => {
    const type = { "content-type": "application/json" };
    if (url === "/graphql") {
      const message = `${"x".repeat(290)}${SECRET}`;
      response.writeHead(200, type).end(JSON.stringify({ errors: [{ message }] }));
    } else response.writeHead(200, type).end(`{"key": ${SECRET}}`);
  });
});

afterAll(async () => {
  await backend[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

function expectNoPart(value: unknown): void {
  const text = JSON.stringify(value);
  for (let at = 0; at + 8 <= SECRET.length; at++) expect(text).not.toContain(SECRET.slice(at, at + 8));
  expect(text).not.toContain("0123456789");
}

async function toldBy(connector: Connector): Promise<unknown> {
  await using own = connector;
  const tools = await own.tools({ signal: nobody });
  return tools.map((tool) => Object.assign({}, tool));
}

async function refusalOf(connector: Connector): Promise<unknown> {
  const error: unknown = await toldBy(connector).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(Error);
  const { message, stack, cause } = error as Error;
  return { message, stack, cause: String(cause), error };
}

/** A text of which the secret is cut. */
const long = (most: number): string => `${"x".repeat(most - 12)}${SECRET}`;

describe("a description that repeats a secret", () => {
  test("of OpenAPI shows no part of it, in no text, name or problem", async () => {
    const parameters = [
      {
        name: "a",
        in: "query",
        description: long(20_000),
        schema: { $ref: `#/x/${"y".repeat(90)}${SECRET}` },
      },
    ];
    const connector = openapi({
      id: "shop",
      card,
      headers,
      baseUrl: "https://shop.example",
      document: {
        openapi: "3.1.0",
        info: { title: long(200), version: long(50) },
        x: { [`${"y".repeat(90)}${SECRET}`]: { type: "string", description: SECRET, default: SECRET } },
        paths: {
          "/a": { get: { operationId: `get ${SECRET}`, summary: long(20_000), parameters } },
          [`/b/${SECRET}`]: { get: { description: "b" } },
          [`/${long(250)}`]: { get: { parameters: [{ $ref: "#/nothing" }] }, post: { requestBody: 1 } },
        },
      },
    });
    const tools = await toldBy(connector);
    expectNoPart(tools);
    expect(tools).toMatchObject([{ name: "get_hidden" }, { name: "get_b_hidden" }]);
  });

  test("of Discovery shows no part of it", async () => {
    const description = long(20_000);
    const connector = discovery({
      id: "shop",
      card,
      headers,
      rootUrl: "https://shop.example",
      document: {
        kind: "discovery#restDescription",
        name: "shop",
        version: long(50),
        title: long(200),
        rootUrl: "https://shop.example/",
        servicePath: "",
        methods: {
          a: {
            id: `shop.${SECRET}`,
            path: "a",
            httpMethod: "GET",
            description,
            parameters: { a: { type: "string", location: "query", description, pattern: SECRET } },
          },
        },
      },
    });
    const tools = await toldBy(connector);
    expectNoPart(tools);
    expect(tools).toMatchObject([{ name: "hidden" }]);
  });

  test("of GraphQL shows no part of it", async () => {
    const sdl = `
      "${long(200)}" scalar S
      type Query {
        "${long(20_000)}" a("${long(4000)}" b: S, c: E): String
      }
      enum E { "${long(4000 - 3)}" A }
    `;
    const connector = graphql({
      id: "shop",
      card,
      headers,
      endpoint: "https://shop.example",
      schema: { sdl },
    });
    expectNoPart(await toldBy(connector));
  });

  test("of GraphQL that is refused shows no part of it", async () => {
    const endpoint = `${backend.origin}/graphql`;
    const told = await refusalOf(graphql({ id: "shop", card, headers, endpoint }));
    expect(JSON.stringify(told)).toContain("does not tell its schema");
    expectNoPart(told);
  });
});

describe("a text that does not parse", () => {
  test.each([
    ["as JSON", `{"key":\n ${SECRET}}`, "does not parse"],
    ["as YAML", `key: &${SECRET} *${SECRET}x\nb: [*${SECRET}`, "does not parse"],
  ])("%s is not quoted", async (_, text, problem) => {
    const document = join(folder, "document");
    writeFileSync(document, text);
    const made = { id: "shop", card, headers, document };
    for (const connector of [openapi({ ...made, baseUrl: "https://shop.example" }), discovery(made)]) {
      const told = await refusalOf(connector);
      expect(JSON.stringify(told)).toContain(problem);
      expectNoPart(told);
    }
  });

  test("is not quoted of an answer, nor of what a program prints", async () => {
    await using web = http({
      id: "shop",
      card,
      headers,
      baseUrl: backend.origin,
      actions: [{ name: "get", method: "GET", path: "/" }],
    });
    await using own = cli({
      id: "desk",
      secretEnv: { KEY: SECRET },
      commands: [{ name: "get", program: "printf", args: [`{"key": ${SECRET}}`], output: "json" }],
    });
    for (const connector of [web, own]) {
      const request = { signal: nobody, idempotencyKey: "k" };
      const error: unknown = await connector.callTool("get", {}, request).catch((thrown: unknown) => thrown);
      const { message, stack, cause } = error as Error;
      expect(message).toMatch(/JSON/u);
      expectNoPart({
        message,
        stack,
        cause: String(cause),
        inner: String((cause as Error | undefined)?.cause),
      });
    }
  });
});
