/** The schema of GitHub, as others use it: a real server with it, and made-up answers. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { Ajv2020 as Ajv } from "ajv/dist/2020.js";
import { createCatalog } from "codecell/catalog";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type GraphqlServer, startGraphqlServer } from "../../../../test/connectors/graphql-server.ts";
import { nobody, requestOf } from "../../../../test/connectors/web-backend.ts";
import { largestTurnMs } from "../../../../test/fuzz/thread-time.ts";
import type { BackendTool, Connector } from "../contract/connector.ts";
import { connectTools } from "../tools/connect-tools.ts";
import { graphql } from "./graphql.ts";

const file = fileURLToPath(new URL("schema.graphql", import.meta.resolve("@octokit/graphql-schema")));
const card = { name: "GitHub", description: "Repositories, issues, people" };
type Node = Readonly<Record<string, unknown>>;

const SCALARS = Object.fromEntries(
  "Base64String BigInt CustomPropertyValue Date DateTime GitObjectID GitRefname GitSSHRemote GitTimestamp HTML PreciseDateTime URI X509Certificate"
    .split(" ")
    .map((name) => [name, () => `a ${name}`]),
);

/** The smallest value that a schema takes. */
function valueFor(schema: Node, defs: Node): unknown {
  const { $ref, anyOf, type, enum: names, properties, required = [], items, minProperties } = schema;
  if (typeof $ref === "string") return valueFor(defs[$ref.slice("#/$defs/".length)] as Node, defs);
  if (Array.isArray(anyOf)) return valueFor(anyOf[0] as Node, defs);
  if (Array.isArray(names)) return names[0];
  const [first] = [type].flat();
  if (first === "object") {
    const wanted = minProperties === 1 ? Object.keys(properties as Node).slice(0, 1) : (required as string[]);
    return Object.fromEntries(
      wanted.map((name) => [name, valueFor((properties as Node)[name] as Node, defs)]),
    );
  }
  if (first === "array") return [valueFor(items as Node, defs)];
  if (first === "integer" || first === "number") return 1;
  return first === "boolean" ? true : "a text";
}

/** All optional inputs too, one level deep. */
function inputsFor({ inputSchema }: BackendTool): readonly Node[] {
  const schema = inputSchema as Node;
  const defs = (schema["$defs"] ?? {}) as Node;
  const all = { ...schema, required: Object.keys(schema["properties"] as Node) };
  return [valueFor(schema, defs), valueFor(all, defs)] as readonly Node[];
}

describe("the schema of GitHub", () => {
  let server: GraphqlServer;
  let connector: Connector;
  let tools: readonly BackendTool[];

  beforeAll(async () => {
    server = await startGraphqlServer(await readFile(file, "utf8"), SCALARS);
    connector = graphql({ id: "github", card, endpoint: server.endpoint });
    tools = await connector.tools({ signal: nobody });
  }, 120_000);
  afterAll(async () => {
    await connector[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  test("has a tool for each query and each mutation, and none with a schema that refers to nothing", async () => {
    expect(tools.length).toBeGreaterThan(270);
    expect(tools.filter(({ readOnlyHint }) => readOnlyHint === true).length).toBe(31);
    for (const { name, inputSchema, outputSchema } of tools) {
      for (const schema of [inputSchema, outputSchema]) {
        const defs = (schema as { readonly $defs?: object }).$defs ?? {};
        const refs = JSON.stringify(schema).matchAll(/"\$ref":"#\/\$defs\/([^"]*)"/gu);
        expect([name, [...refs].filter(([, ref = ""]) => !Object.hasOwn(defs, ref))]).toEqual([name, []]);
      }
    }
    expect((await connector.check({ signal: nobody })).tools).toBe(tools.length);
  });

  test("has tools that no server refuses as malformed, and gives what they say, whatever their types are", async () => {
    const problems: unknown[] = [];
    const ajv = new Ajv({ strict: false, validateFormats: false });
    const generated = tools.filter(({ name }) => name !== "query");
    for (const [at, tool] of generated.entries()) {
      const { name, inputSchema, outputSchema, readOnlyHint } = tool;
      // Compiling the schemas takes most of the time.
      const isJudged = readOnlyHint === true || at % 8 === 0;
      const [fitsInput, fitsOutput] = [inputSchema, outputSchema].map((schema) =>
        isJudged ? ajv.compile(schema as object) : () => true,
      );
      for (const input of inputsFor(tool)) {
        if (!(fitsInput?.(input) ?? false)) problems.push(["input", name, input]);
        try {
          const { data } = await connector.callTool(name, input, requestOf());
          if (!(fitsOutput?.(data) ?? false)) problems.push(["output", name, data]);
          if ("errors" in (data as object)) problems.push([name, data]);
        } catch (error) {
          problems.push([name, (error as Error).message]);
        }
      }
    }
    expect(problems).toEqual([]);
    expect(generated.length).toBeGreaterThan(270);
  }, 120_000);

  test("is in a catalog like any other, and is found there", async () => {
    const { sources, unready } = await connectTools([connector]);
    expect(unready).toEqual([]);
    const found = await createCatalog(sources).search("star a repository");
    expect(found.map(({ id }) => id)).toContain("graphql:github:addStar");
  });

  test("is on a server that refuses what is malformed", async () => {
    const response = await fetch(server.endpoint, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ query: "{ viewer { log } }" }),
    });
    expect(await response.json()).toMatchObject({ errors: [{ message: expect.stringContaining("log") }] });
  });

  test("takes documents of a program's own", async () => {
    const document = `query Issues($owner: String!, $name: String!) {
      repository(owner: $owner, name: $name) { issues(first: 2) { nodes { title author { login } } totalCount } }
    }`;
    const variables = { owner: "octocat", name: "hello" };
    const { data } = await connector.callTool("query", { document, variables }, requestOf());
    expect(data).toMatchObject({
      data: { repository: { issues: { nodes: [{ author: { login: "Hello World" } }, {}] } } },
    });
    const wrong = connector.callTool(
      "query",
      { document: document.replace("totalCount", "totalCuont"), variables },
      requestOf(),
    );
    await expect(wrong).rejects.toMatchObject({
      code: "REQUEST_INVALID",
      message: expect.stringContaining('Did you mean "totalCount"?'),
    });
  });
});

describe("the host's thread", () => {
  const times = { attempts: 4, enough: 50 };

  // Node 22 tells the time of all threads together, and it is another one that works.
  test.skipIf(!("threadCpuUsage" in process))(
    "is not held for 50 ms while a large schema is read and a document is checked",
    async () => {
      const opened: Connector[] = [];
      const work = async (): Promise<void> => {
        const connector = graphql({ id: "github", card, endpoint: "http://127.0.0.1:1/", schema: { file } });
        opened.push(connector);
        await connector.tools({ signal: nobody });
        await connector.callTool("query", { document: "{ viewer { log } }" }, requestOf()).catch(() => {});
      };
      expect(await largestTurnMs(() => work, times)).toBeLessThan(50);
      await Promise.all(opened.map((connector) => connector[Symbol.asyncDispose]()));
    },
    120_000,
  );
});
