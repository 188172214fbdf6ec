import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type Answer,
  json,
  nobody,
  type OpenedWeb,
  openWeb,
  type Received,
  requestOf,
} from "../../../../test/connectors/web-backend.ts";
import { Bytes } from "../contract/connector.ts";
import { testConnector } from "../testing/index.ts";
import { graphql, type GraphqlOptions } from "./graphql.ts";

const SECRET = "canary-s3cret-key";
const card = { name: "Shop", description: "A shop on loopback" };
const credentials = [{ type: "bearer", token: SECRET }] as const;
type Node = Record<string, unknown>;

const SHOP = `
  type Query { item(id: ID!): Item  large: String  items: [Item!] }
  type Mutation { hang: Int  buy(id: ID!, count: Int! = 1): Item }
  type Item { id: ID!  tags: [String!]! }
`;

/** What was asked, as a GraphQL server reads it. */
function askedIn({ body }: Received): { query: string; variables?: Node; operationName?: string } {
  return JSON.parse(body.toString()) as { query: string; variables?: Node; operationName?: string };
}

testConnector("graphql [handles:107]", async ({ timeoutMs, responseBytes }) => {
  const opened = await openWeb(
    (received, response) => {
      const { query, variables } = askedIn(received);
      if (query.includes("hang")) return;
      if (query.includes("__typename")) json(response, 200, { data: { __typename: "Query" } });
      else if (query.includes("large")) json(response, 200, { data: { large: "x".repeat(200_000) } });
      else if (variables?.["id"] === "1") json(response, 200, { data: { item: { id: "1", tags: ["a"] } } });
      else
        json(response, 200, {
          data: { item: null },
          errors: [{ message: "There is no item 2", path: ["item"] }],
        });
    },
    (endpoint) =>
      graphql({
        id: "shop",
        card,
        endpoint,
        schema: { sdl: SHOP },
        credentials,
        timeoutMs,
        responseBytes,
      }),
  );
  const { arrived, left, stop } = opened.backend;
  return {
    connector: opened.connector,
    succeeds: { tool: "item", input: { id: "1" }, data: { data: { id: "1", tags: ["a"] } } },
    fails: { tool: "item", input: { id: "2" }, words: "There is no item 2" },
    hangs: { tool: "hang", input: {}, started: async () => void (await arrived()), stopped: left },
    large: { tool: "large", input: {} },
    secret: SECRET,
    stop,
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  };
});

interface Api extends OpenedWeb {
  readonly asked: () => readonly ReturnType<typeof askedIn>[];
  readonly received: readonly Received[];
}

const nothing: Answer = (_, response) => json(response, 200, { data: {} });

async function withApi(
  options: Partial<GraphqlOptions> & { readonly sdl?: string },
  work: (api: Api) => Promise<void>,
  answer: Answer = nothing,
): Promise<void> {
  const { sdl, ...more } = options;
  const schema = sdl === undefined ? {} : { schema: { sdl } };
  const opened = await openWeb(answer, (origin) =>
    graphql({ id: "shop", card, endpoint: `${origin}/graphql`, ...schema, ...more }),
  );
  const { received } = opened.backend;
  try {
    await work({ ...opened, received, asked: () => received.map(askedIn) });
  } finally {
    await opened[Symbol.asyncDispose]();
  }
}

/** One API, and so one thread, for the rows of a table. */
function sharedApi(options: Partial<GraphqlOptions> = {}): (answer?: Answer) => Api {
  let api: Api;
  let current = nothing;
  beforeAll(async () => {
    const opened = await openWeb(
      (received, response) => current(received, response),
      (endpoint) => graphql({ id: "shop", card, endpoint, schema: { sdl: SHOP }, ...options }),
    );
    const { received } = opened.backend;
    api = { ...opened, received, asked: () => received.map(askedIn) };
  });
  afterAll(() => api[Symbol.asyncDispose]());
  return (answer = nothing) => {
    current = answer;
    return api;
  };
}

/** Answers every operation with this. */
function answering(body: unknown, status = 200): Answer {
  return (_, response) => json(response, status, body);
}

async function errorOf(action: Promise<unknown>): Promise<unknown> {
  return action.then(
    () => expect.fail("it succeeded"),
    (error: unknown) => error,
  );
}

describe("a generated tool", () => {
  test("takes the arguments of its field", async () => {
    const sdl = `
      "When something is." scalar Date @specifiedBy(url: "https://dates.example")
      scalar Json
      enum Kind { "The first." A  B @deprecated(reason: "Use A") }
      input Filter { kinds: [Kind!], and: [Filter!], since: Date, "How many." most: Int! = 5, old: Int @deprecated }
      input Key @oneOf { id: ID  name: String }
      type Query {
        "Finds things." find(
          "What to find." text: String!
          filter: Filter = { kinds: [A], most: 3 }
          key: Key!
          page: Int! = 1
          any: Json
          matrix: [[Float!]]
          old: Boolean @deprecated(reason: "No more")
        ): Int
      }`;
    await withApi(
      { sdl, scalars: { Json: { type: ["object", "array"] } } },
      async ({ tool, call, asked }) => {
        const { description, inputSchema, readOnlyHint } = await tool("find");
        expect({ description, readOnlyHint }).toEqual({ description: "Finds things.", readOnlyHint: true });
        expect(inputSchema).toEqual({
          type: "object",
          properties: {
            text: { type: "string", description: "What to find." },
            filter: {
              anyOf: [{ $ref: "#/$defs/Filter" }, { type: "null" }],
              default: { kinds: ["A"], most: 3 },
            },
            key: { $ref: "#/$defs/Key" },
            page: { type: "integer", default: 1 },
            any: { type: ["object", "array", "null"] },
            matrix: {
              type: ["array", "null"],
              items: { type: ["array", "null"], items: { type: "number" } },
            },
            old: { type: ["boolean", "null"], description: "Deprecated: No more", deprecated: true },
          },
          required: ["text", "key"],
          additionalProperties: false,
          $defs: {
            Filter: {
              type: "object",
              properties: {
                kinds: { type: ["array", "null"], items: { $ref: "#/$defs/Kind" } },
                and: { type: ["array", "null"], items: { $ref: "#/$defs/Filter" } },
                since: { description: "Date: When something is.: https://dates.example" },
                most: { type: "integer", description: "How many.", default: 5 },
                old: {
                  type: ["integer", "null"],
                  description: "Deprecated: No longer supported",
                  deprecated: true,
                },
              },
              additionalProperties: false,
            },
            Key: {
              type: "object",
              properties: { id: { type: ["string", "integer", "null"] }, name: { type: ["string", "null"] } },
              additionalProperties: false,
              minProperties: 1,
              maxProperties: 1,
            },
            Kind: {
              type: "string",
              enum: ["A", "B"],
              description: "A: The first.\nB: Deprecated: Use A",
            },
          },
        });
        const input = { text: 'a"}\n{', key: { id: 1 }, filter: { most: 1 }, matrix: [[1.5], null] };
        await errorOf(call("find", input));
        const [{ query, variables } = { query: "", variables: {} }] = asked();
        expect(variables).toEqual(input);
        expect(query).toBe(
          "query find($text: String!, $filter: Filter, $key: Key!, $page: Int! = 1, $any: Json, $matrix: [[Float!]], " +
            "$old: Boolean) { find(text: $text, filter: $filter, key: $key, page: $page, any: $any, matrix: $matrix, old: $old) }",
        );
      },
    );
  });

  test("says what it gives, as the backend gives it", async () => {
    const sdl = `
      enum Kind { A B }
      scalar Date
      type Query { thing: Thing!  kinds: [Kind]! }
      type Thing { "Its key." id: ID!  kind: Kind!  at: Date  size: Float  parts: [Thing!]  "Who has it." owner: Owner! }
      type Owner { name: String }`;
    const thing = { id: "1", kind: "A", at: 5, size: null, parts: [], owner: { name: null } };
    await withApi(
      { sdl },
      async ({ tool, call, asked }) => {
        const owner = {
          type: "object",
          properties: { name: { type: ["string", "null"] } },
          required: ["name"],
          description: "Who has it.",
        };
        const plain = {
          id: { type: "string", description: "Its key." },
          // Also one that came after the schema was read.
          kind: { anyOf: [{ $ref: "#/$defs/Kind" }, { type: "string" }] },
          at: { description: "Date" },
          size: { type: ["number", "null"] },
        };
        const errors = expect.objectContaining({ type: "array" }) as unknown;
        const part = { type: "object", properties: plain, required: ["id", "kind", "at", "size"] };
        const { outputSchema } = await tool("thing");
        expect(outputSchema).toEqual({
          type: "object",
          properties: {
            data: {
              type: "object",
              properties: { ...plain, parts: { type: ["array", "null"], items: part }, owner },
              required: ["id", "kind", "at", "size", "parts", "owner"],
            },
            errors,
          },
          required: ["data"],
          additionalProperties: false,
          $defs: { Kind: { type: "string", enum: ["A", "B"] } },
        });
        expect(await call("thing")).toEqual({ data: thing });
        expect(asked()[0]?.query).toBe(
          "query thing { thing { id kind at size parts { id kind at size } owner { name } } }",
        );
        expect((await tool("kinds")).outputSchema).toMatchObject({
          properties: {
            data: {
              type: "array",
              items: { anyOf: [{ $ref: "#/$defs/Kind" }, { type: "string" }, { type: "null" }] },
            },
          },
        });
      },
      answering({ data: { thing } }),
    );
  });

  test("has a name of its own, also if a query, a mutation and the tool for documents want the same", async () => {
    const long = "x".repeat(70);
    const sdl = `
      type Query { query: Int  both: Int  other_mutation: Int  other: Int  ${long}: Int  ${long}y: Int }
      type Mutation { both: Int  other: Int  query: Int  own: Int }`;
    await withApi({ sdl }, async ({ connector, call, asked }) => {
      const tools = await connector.tools({ signal: nobody });
      expect(tools.map(({ name, readOnlyHint }) => [name, readOnlyHint])).toEqual([
        ["query", undefined],
        ["query_query", true],
        ["both", true],
        ["other_mutation", true],
        ["other", true],
        [`${"x".repeat(58)}_query`, true],
        [`${"x".repeat(56)}_query_2`, true],
        ["both_mutation", undefined],
        ["other_mutation_2", undefined],
        ["query_mutation", undefined],
        ["own", undefined],
      ]);
      for (const name of ["both", "both_mutation", "query_mutation"]) await errorOf(call(name));
      expect(asked().map(({ query }) => query)).toEqual([
        "query both { both }",
        "mutation both { both }",
        "mutation query { query }",
      ]);
    });
  });

  test("that is deprecated says so, and why", async () => {
    const sdl = `type Query { old: Int @deprecated(reason: "Use new")  new: Int }`;
    await withApi({ sdl }, async ({ tool }) => {
      expect(await tool("old")).toMatchObject({
        description: "Deprecated: Use new",
        avoidWhen: expect.stringContaining("deprecated"),
      });
      expect(await tool("new")).toMatchObject({ description: 'The query "new", which gives Int' });
    });
  });

  test("takes nothing that its field has not, and no bytes", async () => {
    await withApi({ sdl: SHOP }, async ({ call, received }) => {
      for (const input of [{ id: "1", query: "{ x }" }, { id: new Bytes(new Uint8Array(3)) }]) {
        await expect(call("item", input)).rejects.toMatchObject({
          code: "REQUEST_INVALID",
          hasNoEffect: true,
        });
      }
      expect(received).toEqual([]);
    });
  });
});

describe("an answer", () => {
  test("with data and errors gives both", async () => {
    const errors = [
      {
        message: "Not yours",
        path: ["items", 1, "tags"],
        extensions: { code: "FORBIDDEN" },
        type: "FORBIDDEN",
      },
    ];
    await withApi(
      { sdl: SHOP },
      async ({ connector, call }) => {
        expect(await call("items")).toEqual({ data: [{ id: "1", tags: null }], errors });
        const document = "{ items { id } }";
        const { data, meta } = await connector.callTool("query", { document }, requestOf());
        expect(data).toEqual({ data: { items: [{ id: "1", tags: null }] }, errors });
        expect(meta).toMatchObject({ status: 200, extensions: { cost: 1 } });
      },
      answering({ data: { items: [{ id: "1", tags: null }] }, errors, extensions: { cost: 1 } }),
    );
  });

  test("with errors and no data fails in the backend's words, of a bounded length and without secrets", async () => {
    const errors = Array.from({ length: 60 }, (_, at) => ({
      message: `Error ${at} for ${SECRET} ${"x".repeat(5000)}`,
      extensions: { code: "BAD", stacktrace: "y".repeat(10_000) },
    }));
    await withApi(
      { sdl: SHOP, credentials },
      async ({ call }) => {
        const error = (await errorOf(call("items"))) as Error & { details: { errors: Node[] } };
        expect(error).toMatchObject({ code: "DOWNSTREAM_TOOL_ERROR", hasNoEffect: false });
        expect(error.message).toContain("Error 0 for [hidden]");
        expect(error.message.length).toBeLessThanOrEqual(1000);
        expect(error.details.errors).toHaveLength(21);
        expect(error.details.errors[0]).toMatchObject({ extensions: { code: "BAD" } });
        expect(error.details.errors[20]).toEqual({ message: "There are 40 more errors" });
        expect(JSON.stringify(error.details).length).toBeLessThan(30_000);
        expect(JSON.stringify(error.details)).not.toContain(SECRET);
      },
      answering({ data: null, errors }),
    );
  });

  const anyAnswer = sharedApi();

  test.each<[string, Answer, string, string]>([
    [
      "a refusal in GraphQL's words",
      answering({ errors: [{ message: "Too complex" }] }, 400),
      "DOWNSTREAM_TOOL_ERROR",
      "Too complex",
    ],
    ["a status", answering({ message: "Broken" }, 500), "DOWNSTREAM_TOOL_ERROR", "500"],
    ["no credentials", answering({ message: "Who?" }, 401), "AUTH_REQUIRED", "Who?"],
    [
      "a page",
      (_, response) => response.writeHead(200, { "content-type": "text/html" }).end("<html>"),
      "DOWNSTREAM_PROTOCOL_ERROR",
      "no response of GraphQL",
    ],
    ["a list", answering([{ data: {} }]), "DOWNSTREAM_PROTOCOL_ERROR", "no response of GraphQL"],
    ["neither data nor errors", answering({ data: null }), "DOWNSTREAM_PROTOCOL_ERROR", "neither data nor"],
    ["another field", answering({ data: { other: 1 } }), "DOWNSTREAM_PROTOCOL_ERROR", "neither data nor"],
    ["no field", answering({ data: 5, errors: [] }), "DOWNSTREAM_PROTOCOL_ERROR", "neither data nor"],
    ["odd errors", answering({ errors: [5, { message: 1 }] }), "DOWNSTREAM_TOOL_ERROR", "does not say why"],
    ["errors of no kind", answering({ errors: "no" }), "DOWNSTREAM_PROTOCOL_ERROR", "neither data nor"],
    [
      "what is no JSON",
      (_, response) => response.writeHead(200, { "content-type": "application/json" }).end("{"),
      "DOWNSTREAM_PROTOCOL_ERROR",
      "is none",
    ],
    [
      "another origin",
      (_, response) => response.writeHead(307, { location: "http://127.0.0.2:9/graphql" }).end(),
      "DOWNSTREAM_PROTOCOL_ERROR",
      "another origin",
    ],
  ])("that is %s fails, and says why", async (_, answer, code, words) => {
    const failure = { code, message: expect.stringContaining(words) as unknown };
    await expect(anyAnswer(answer).call("items")).rejects.toMatchObject(failure);
  });

  test("to a field of an odd name is that of the field", async () => {
    const sdl = "type Query { constructor: Int  toString: Int }";
    await withApi(
      { sdl },
      async ({ call }) => {
        expect(await call("constructor")).toEqual({ data: 1 });
        await expect(call("toString")).rejects.toMatchObject({ code: "DOWNSTREAM_PROTOCOL_ERROR" });
      },
      answering({ data: { constructor: 1 } }),
    );
  });
});

describe("a request", () => {
  test("goes to the endpoint as it was written, with all that it needs", async () => {
    for (const place of ["/graphql", "/api/graphql/", "/g?key=1"]) {
      await withApi({ sdl: SHOP, credentials }, async ({ backend }) => {
        const endpoint = `${backend.origin}${place}`;
        const headers = { "X-Tenant": "one" };
        const connector = graphql({
          id: "shop",
          card,
          endpoint,
          schema: { sdl: SHOP },
          credentials,
          headers,
        });
        await errorOf(connector.callTool("items", {}, requestOf()));
        expect(backend.received.at(-1)).toMatchObject({
          method: "POST",
          url: place,
          headers: {
            authorization: `Bearer ${SECRET}`,
            "x-tenant": "one",
            accept: "application/graphql-response+json, application/json;q=0.9",
            "content-type": "application/json",
          },
        });
        await connector[Symbol.asyncDispose]();
      });
    }
  });

  test("is repeated if it only reads, and never if it may write", async () => {
    const busy: Answer = (_, response) => json(response, 503, {}, { "retry-after": "0" });
    await withApi(
      { sdl: SHOP },
      async ({ call, asked }) => {
        const count = async (name: string, input: Node): Promise<number> => {
          const before = asked().length;
          await expect(call(name, input)).rejects.toMatchObject({ code: "DOWNSTREAM_TOOL_ERROR" });
          return asked().length - before;
        };
        expect(await count("items", {})).toBe(3);
        expect(await count("buy", { id: "1" })).toBe(1);
        expect(await count("query", { document: "{ items { id } }" })).toBe(3);
        expect(await count("query", { document: 'mutation { buy(id: "1") { id } }' })).toBe(1);
        const document = 'query A { items { id } } mutation B { buy(id: "1") { id } }';
        expect(await count("query", { document, operationName: "A" })).toBe(1);
      },
      busy,
    );
  });
});

describe("a document", () => {
  test("is sent as it was written", async () => {
    await withApi(
      { sdl: SHOP },
      async ({ call, asked }) => {
        const document =
          "query One($id: ID!) { item(id: $id) { ...Tags } }\nfragment Tags on Item { tags } # all";
        const input = { document, variables: { id: "1" }, operationName: "One" };
        expect(await call("query", input)).toEqual({ data: { item: { tags: [] } } });
        expect(asked()).toEqual([{ query: document, variables: { id: "1" }, operationName: "One" }]);
      },
      answering({ data: { item: { tags: [] } } }),
    );
  });

  const anyDocument = sharedApi();

  test.each<[Node, string]>([
    [
      { document: "{ items { idd } }" },
      'line 1, column 11: Cannot query field "idd" on type "Item". Did you mean "id"?',
    ],
    [
      { document: "{\n  items {\n  zzzzz } }" },
      'line 3, column 3: Cannot query field "zzzzz" on type "Item". It has id, tags.',
    ],
    [{ document: "{ items { id }" }, "line 1, column 15: Syntax Error: Expected Name, found <EOF>."],
    [{ document: "" }, "line 1, column 1: Syntax Error: Unexpected <EOF>."],
    [{ document: "{ item { id } }" }, 'Argument "Query.item(id:)" of type "ID!" is required'],
    [{ document: "type X { a: Int }" }, "not executable"],
    [{ document: "subscription { items { id } }" }, "line 1, column 1: it has a subscription"],
    [
      { document: "query A { items { id } } query B { items { id } }" },
      "say in operationName which one to run: A, B",
    ],
    [{ document: "query A { items { id } }", operationName: "C" }, 'it has no operation "C", it has: A'],
    [{ document: "query ($id: ID!) { item(id: $id) { id } }" }, 'Variable "$id"'],
    [{ document: "query ($id: ID!) { item(id: $id) { id } }", variables: { id: {} } }, '"$id"'],
    [{ document: "{ items { id } }", variables: { id: 1 } }, 'declares no variable "$id"'],
    [{ document: "{ items { id } }", variables: [] }, '"variables" has to be an object'],
    [{ document: 5 }, '"document" has to be a text'],
    [{ document: "{ items { id } }", operationName: 5 }, '"operationName" has to be a text'],
    [{ document: "{ items { id } }", extensions: {} }, 'it takes no "extensions"'],
    [{ document: "{ items { id } }", variables: { id: new Bytes(new Uint8Array()) } }, "bytes"],
    [{ document: "fragment A on Item { ...B } fragment B on Item { ...A } { items { ...A } }" }, "itself"],
  ])("%j is refused before it is sent, and the refusal says why", async (input, words) => {
    const { call, received } = anyDocument();
    const error = (await errorOf(call("query", input))) as Error;
    expect(error).toMatchObject({ code: "REQUEST_INVALID", hasNoEffect: true });
    expect(error.message).toContain(words);
    expect(received).toEqual([]);
  });

  test("may write, which its tool says, unless only queries are allowed", async () => {
    const document = 'mutation { buy(id: "1") { id } }';
    await withApi({ sdl: SHOP }, async ({ tool, call, asked }) => {
      expect(await tool("query")).not.toHaveProperty("readOnlyHint");
      expect((await tool("query")).description).toContain("mutation");
      await call("query", { document });
      expect(asked()).toHaveLength(1);
    });
    await withApi({ sdl: SHOP, queriesOnly: true }, async ({ connector, tool, call, received }) => {
      const names = (await connector.tools({ signal: nobody })).map(({ name }) => name);
      expect(names).toEqual(["query", "item", "large", "items"]);
      expect((await tool("query")).readOnlyHint).toBe(true);
      for (const one of [document, `query A { items { id } } ${document}`]) {
        await expect(call("query", { document: one, operationName: "A" })).rejects.toMatchObject({
          message: expect.stringContaining("this connector is for queries only"),
        });
      }
      await expect(call("buy", { id: "1" })).rejects.toMatchObject({ code: "TOOL_NOT_FOUND" });
      expect(received).toEqual([]);
    });
  });

  test("may ask for the schema itself", async () => {
    const document = '{ __type(name: "Item") { fields { name type { name kind } } } }';
    await withApi({ sdl: SHOP }, async ({ call, asked }) => {
      await call("query", { document });
      expect(asked()).toHaveLength(1);
    });
  });
});

const INTROSPECTION = {
  __schema: {
    queryType: { name: "Query" },
    mutationType: null,
    subscriptionType: null,
    directives: [],
    types: [
      { kind: "SCALAR", name: "Int" },
      { kind: "SCALAR", name: "String" },
      { kind: "SCALAR", name: "Boolean" },
      {
        kind: "OBJECT",
        name: "Query",
        interfaces: [],
        fields: [
          {
            name: "count",
            description: `Counts, says ${SECRET}`,
            args: [],
            type: { kind: "SCALAR", name: "Int", ofType: null },
            isDeprecated: false,
            deprecationReason: null,
          },
        ],
      },
    ],
  },
};

describe("the schema", () => {
  test("is asked for with the credentials, once for all who wait, and has no secret", async () => {
    const answer: Answer = (received, response) => {
      const { query } = askedIn(received);
      json(response, 200, { data: query.includes("__schema") ? INTROSPECTION : { count: 5 } });
    };
    await withApi(
      { credentials },
      async ({ connector, call, received }) => {
        const lists = await Promise.all([1, 2, 3].map(() => connector.tools({ signal: nobody })));
        expect(lists[0]?.map(({ name, description }) => [name, description])[1]).toEqual([
          "count",
          "Counts, says [hidden]",
        ]);
        expect(await call("count")).toEqual({ data: 5 });
        expect(received.map(({ headers }) => headers.authorization)).toEqual([
          `Bearer ${SECRET}`,
          `Bearer ${SECRET}`,
        ]);
      },
      answer,
    );
  });

  test("is asked for in simpler words if the backend does not know the first", async () => {
    for (const status of [200, 400]) {
      const answer: Answer = (received, response) => {
        const isPlain = !/isOneOf|specifiedByURL|\(includeDeprecated: true\) \{ name description type/u.test(
          askedIn(received).query,
        );
        if (isPlain) json(response, 200, { data: INTROSPECTION });
        else json(response, status, { errors: [{ message: 'Cannot query field "isOneOf"' }] });
      };
      await withApi(
        {},
        async ({ tool, received }) => {
          expect((await tool("count")).readOnlyHint).toBe(true);
          expect(received).toHaveLength(3);
        },
        answer,
      );
    }
  });

  test.each<[string, Answer, string, string]>([
    ["forbids it", answering({ errors: [{ message: `No, ${SECRET}` }] }), "CONFIG_INVALID", "No, [hidden]"],
    ["refuses it", answering({ errors: [{ message: "No way" }] }, 400), "CONFIG_INVALID", "No way"],
    ["wants credentials", answering({ message: "Who?" }, 401), "AUTH_FAILED", "Who?"],
    ["answers nothing of it", answering({ data: {} }), "CONFIG_INVALID", 'set "schema"'],
    [
      "answers a page",
      (_, response) => response.writeHead(200, { "content-type": "text/html" }).end("<html>"),
      "DOWNSTREAM_PROTOCOL_ERROR",
      "does not parse: line 1, column 1",
    ],
    [
      "lies about it",
      answering({ data: { __schema: { types: 5 } } }),
      "DOWNSTREAM_PROTOCOL_ERROR",
      "cannot be used",
    ],
    [
      "has names that are none",
      answering(JSON.parse(JSON.stringify({ data: INTROSPECTION }).replace('"count"', '"count { x } #"'))),
      "DOWNSTREAM_PROTOCOL_ERROR",
      "cannot be used",
    ],
    [
      "has none",
      answering({ data: { __schema: { ...INTROSPECTION.__schema, queryType: null } } }),
      "DOWNSTREAM_PROTOCOL_ERROR",
      "no type for queries",
    ],
    [
      "tells too much",
      (_, response) => response.writeHead(200).end(Buffer.alloc(300_000)),
      "RESPONSE_TOO_LARGE",
      "200000 bytes",
    ],
  ])("of a backend that %s is no schema, and the error says why", async (_, answer, code, words) => {
    await withApi(
      { schemaBytes: 200_000, credentials },
      async ({ connector }) => {
        const error = (await errorOf(connector.tools({ signal: nobody }))) as Error;
        expect(error).toMatchObject({ code, message: expect.stringContaining(words) });
        expect(error.message).not.toContain(SECRET);
      },
      answer,
    );
  });

  test.each<[string, string]>([
    ["type Query {", "line 1, column 13: Syntax Error"],
    ["type Query { a: Missing }", "Missing"],
    ["type A { a: Int }", "no type for queries"],
    ["{", "looks like JSON"],
    [`type Query { a: ${"[".repeat(90_000)}Int${"]".repeat(90_000)} }`, "nested too deeply"],
    ["type Query { a: Int } ".padEnd(200_001), "more than 200000 bytes"],
  ])("that is no schema (%#) is refused, and the error says why", async (sdl, words) => {
    await withApi({ sdl, schemaBytes: 200_000 }, async ({ connector }) => {
      const failure = { code: "CONFIG_INVALID", message: expect.stringContaining(words) as unknown };
      await expect(connector.tools({ signal: nobody })).rejects.toMatchObject(failure);
    });
  });

  test("may have lists in lists in lists, of which a tool describes so many", async () => {
    const type = `${"[".repeat(3000)}Int${"]".repeat(3000)}`;
    await withApi({ sdl: `type Query { a(b: ${type}): ${type}  c: Int }` }, async ({ tool }) => {
      const { inputSchema, outputSchema } = await tool("a");
      expect(JSON.stringify([inputSchema, outputSchema]).length).toBeLessThan(3000);
    });
  });

  test("that would become far larger as tools has so many of them, and says so", async () => {
    const said = "x".repeat(10_000);
    const fields = Array.from({ length: 150 }, (_, at) => `"${said}" f${at}: Int`).join(" ");
    const roots = Array.from({ length: 6000 }, (_, at) => `q${at}: Big`).join(" ");
    const sdl = `type Query { ${roots} } type Big { ${fields} }`;
    await withApi({ sdl }, async ({ connector, tool }) => {
      const tools = await connector.tools({ signal: nobody });
      expect(tools.length).toBeGreaterThan(50);
      expect(tools.length).toBeLessThan(1000);
      expect(await tool("q0")).not.toHaveProperty("outputSchema");
      expect(await tool("q0")).toHaveProperty("inputSchema");
    });
  });

  test("may break rules that no tool depends on", async () => {
    const sdl = "type Query { a: Int  a: Int  __b: Int  e: Empty } type Empty input In { a: In! }";
    await withApi({ sdl }, async ({ connector, tool }) => {
      expect((await connector.tools({ signal: nobody })).map(({ name }) => name)).toEqual([
        "query",
        "a",
        "__b",
        "e",
      ]);
      expect((await tool("e")).outputSchema).toMatchObject({
        properties: { data: { properties: { __typename: { anyOf: [{ enum: ["Empty"] }, {}] } } } },
      });
    });
  });

  test("comes from a file in either form, and is read again when its time is over", async () => {
    const directory = await mkdtemp(path.join(tmpdir(), "codecell-graphql-"));
    try {
      const file = path.join(directory, "schema.graphql");
      await writeFile(file, "\uFEFF# ours\ntype Query { one: Int }");
      const introspection = path.join(directory, "schema.json");
      await writeFile(introspection, JSON.stringify(INTROSPECTION));
      await withApi({ schema: { file }, schemaTtlMs: 0 }, async ({ connector }) => {
        const changes: string[] = [];
        connector.onChange((list) => changes.push(list));
        const names = async (): Promise<string[]> =>
          (await connector.tools({ signal: nobody })).map(({ name }) => name);
        expect(await names()).toEqual(["query", "one"]);
        expect(await names()).toEqual(["query", "one"]);
        expect(changes).toEqual([]);
        await writeFile(file, "type Query { two: Int }");
        expect(await names()).toEqual(["query", "two"]);
        expect(changes).toEqual(["tools"]);
        await writeFile(file, "type Query {");
        expect(await names()).toEqual(["query", "two"]);
      });
      await withApi({ schema: { file: introspection } }, async ({ tool }) => {
        expect((await tool("count")).readOnlyHint).toBe(true);
      });
      await withApi({ schema: { file: path.join(directory, "none") } }, async ({ connector }) => {
        const error = (await errorOf(connector.tools({ signal: nobody }))) as Error;
        expect(error).toMatchObject({ code: "CONFIG_INVALID" });
        expect(error.message).not.toContain(directory);
      });
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  test("that nobody waits for any more is left alone", async () => {
    await withApi(
      {},
      async ({ connector, backend }) => {
        const caller = new AbortController();
        const listing = connector.tools({ signal: caller.signal });
        await backend.arrived();
        caller.abort();
        await expect(listing).rejects.toMatchObject({ code: "CALL_ABORTED" });
        await backend.left();
      },
      () => {},
    );
  });
});

describe("a connector", () => {
  test.each<[Partial<GraphqlOptions>, string]>([
    [{ endpoint: "ftp://x" }, "endpoint"],
    [{ endpoint: "https://u:p@x/" }, "endpoint"],
    [{ selectionDepth: 0 }, "selectionDepth"],
    [{ selectionFields: 1.5 }, "selectionFields"],
    [{ schemaBytes: -1 }, "schemaBytes"],
    [{ timeoutMs: 0 }, "timeoutMs"],
    [{ credentials: [{ type: "bearer", token: "a\r\nb" }] }, "credential"],
  ])("with %j is refused", (options, words) => {
    expect(() => graphql({ id: "shop", card, endpoint: "https://x/", ...options })).toThrow(words);
  });

  test("that was ended answers nothing, and its thread ends", async () => {
    await withApi({ sdl: SHOP }, async ({ connector, call }) => {
      await connector.tools({ signal: nobody });
      await connector[Symbol.asyncDispose]();
      await expect(call("items")).rejects.toMatchObject({ code: "SERVER_UNAVAILABLE" });
      await expect(call("query", { document: "{ items { id } }" })).rejects.toMatchObject({
        code: "SERVER_UNAVAILABLE",
      });
    });
  });

  test("is the same service by its endpoint alone", () => {
    const of = (endpoint: string, more: Partial<GraphqlOptions> = {}): string =>
      graphql({ id: "shop", card, endpoint, ...more }).identity;
    expect(of("https://x/", { credentials, schema: { sdl: SHOP } })).toBe(of("https://x/"));
    expect(of("https://x/")).not.toBe(of("https://y/"));
  });
});
