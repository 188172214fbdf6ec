import { mkdtemp, rm, writeFile } from "node:fs/promises";
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
  requestOf,
  startWebBackend,
} from "../../../../test/connectors/web-backend.ts";
import { Bytes, type Connector } from "../contract/connector.ts";
import { testConnector } from "../testing/index.ts";
import { discovery, type DiscoveryOptions } from "./discovery.ts";

const SECRET = "canary-s3cret-token";
const card = { name: "Library", description: "A library on loopback" };
type Json = Record<string, unknown>;

function documentOf(methods: Json, more: Json = {}): Json {
  return {
    kind: "discovery#restDescription",
    discoveryVersion: "v1",
    protocol: "rest",
    id: "library:v1",
    name: "library",
    version: "v1",
    title: "Library API",
    rootUrl: "https://library.example/",
    servicePath: "library/v1/",
    methods,
    ...more,
  };
}

testConnector("discovery [handles:107]", ({ timeoutMs, responseBytes }) => {
  const id = { type: "string", location: "path", required: true };
  const document = documentOf(
    {
      hang: { id: "library.hang", path: "hang", httpMethod: "POST" },
      large: { id: "library.large", path: "large", httpMethod: "GET" },
    },
    {
      servicePath: "",
      resources: {
        items: {
          methods: {
            get: { id: "library.items.get", path: "items/{id}", httpMethod: "GET", parameters: { id } },
          },
        },
      },
    },
  );
  return openShop({ getItem: "items_get", secret: SECRET }, (rootUrl) =>
    discovery({
      id: "library",
      card,
      document,
      rootUrl,
      timeoutMs,
      responseBytes,
      credentials: [{ type: "bearer", token: SECRET }],
    }),
  );
});

const echo: Answer = ({ url }, response) => json(response, 200, { url });

function openLibrary(
  options: Omit<DiscoveryOptions, "id" | "card">,
  answer: Answer = echo,
): Promise<OpenedWeb> {
  return openWeb(answer, (rootUrl) => discovery({ id: "library", card, rootUrl, ...options }));
}

async function withLibrary(
  options: Omit<DiscoveryOptions, "id" | "card">,
  work: (library: OpenedWeb) => Promise<void>,
  answer: Answer = echo,
): Promise<void> {
  await using library = await openLibrary(options, answer);
  await work(library);
}

function namesOf(connector: Connector): Promise<string[]> {
  return connector.tools({ signal: nobody }).then((tools) => tools.map(({ name }) => name));
}

/** A document that uses what the format has. */
const LIBRARY = documentOf(
  {
    about: { id: "library.about", path: "about", httpMethod: "GET", response: { $ref: "About" } },
  },
  {
    auth: { oauth2: { scopes: { full: { description: "All" }, read: { description: "Reads" } } } },
    parameters: {
      $: { type: "string" },
      "$.xgafv": { type: "string", enum: ["1", "2"], location: "query" },
      access_token: { type: "string", location: "query" },
      alt: { type: "string", default: "json", enum: ["json", "media", "proto"], location: "query" },
      callback: { type: "string", location: "query" },
      fields: { type: "string", location: "query", description: "Which fields to include" },
      key: { type: "string", location: "query" },
      oauth_token: { type: "string", location: "query" },
      prettyPrint: { type: "boolean", default: "true", location: "query" },
      quotaUser: { type: "string", location: "query" },
      uploadType: { type: "string", location: "query" },
      upload_protocol: { type: "string", location: "query" },
    },
    schemas: {
      About: {
        id: "About",
        type: "object",
        properties: {
          size: { type: "string", format: "int64" },
          rate: { type: "number", format: "double" },
          pages: { type: "integer", format: "int32", minimum: "1", maximum: "9" },
          anything: { type: "any" },
        },
      },
      Book: {
        id: "Book",
        type: "object",
        description: "A book",
        properties: {
          id: { type: "string", readOnly: true },
          title: {
            type: "string",
            description: "Its title",
            annotations: { required: ["library.books.insert"] },
          },
          size: { type: "string", format: "uint64", minimum: "1", maximum: "99" },
          labels: { type: "object", additionalProperties: { $ref: "Label" } },
          parts: { type: "array", items: { $ref: "Book" } },
          data: { type: "string", format: "byte" },
          state: {
            type: "string",
            default: "OPEN",
            enum: ["OPEN", "SHUT"],
            enumDescriptions: ["Can be read", "Cannot"],
            enumDeprecated: [false, true],
          },
          item: { $ref: "Item", description: "What it is about" },
          stray: { $ref: "Missing" },
          old: { type: "boolean", deprecated: true },
        },
      },
      "La~b/e%l": { type: "string" },
      Label: { id: "Label", type: "object", properties: { text: { type: "string", required: true } } },
      Item: {
        id: "Item",
        type: "object",
        properties: { kind: { type: "string" } },
        variant: {
          discriminant: "kind",
          map: [
            { type_value: "label", $ref: "Label" },
            { type_value: "odd", $ref: "La~b/e%l" },
          ],
        },
      },
      Books: {
        id: "Books",
        type: "object",
        properties: {
          items: { type: "array", items: { $ref: "Book" } },
          nextPageToken: { type: "string" },
        },
      },
    },
    resources: {
      books: {
        methods: {
          list: {
            id: "library.books.list",
            path: "{+parent}/books",
            flatPath: "shelves/{shelvesId}/books",
            httpMethod: "GET",
            description: "Lists books",
            parameterOrder: ["parent"],
            parameters: {
              maxResults: {
                type: "integer",
                format: "uint32",
                default: "20",
                minimum: "1",
                maximum: "100",
                location: "query",
              },
              parent: {
                type: "string",
                location: "path",
                required: true,
                pattern: "^shelves/[^/]+$",
                description: "The shelf",
              },
              pageToken: { type: "string", location: "query" },
              label: { type: "string", repeated: true, location: "query", description: "Labels" },
              order: { type: "string", enum: ["title", "size"], location: "query" },
              isOpen: { type: "boolean", default: "false", location: "query", required: true },
            },
            response: { $ref: "Books" },
            scopes: ["full", "read"],
          },
          get: {
            id: "library.books.get",
            path: "books/{bookId}",
            httpMethod: "GET",
            parameters: { bookId: { type: "string", location: "path", required: true } },
            response: { $ref: "Book" },
            scopes: ["full", "read"],
            supportsMediaDownload: true,
            useMediaDownloadService: true,
          },
          export: {
            id: "library.books.export",
            path: "books/{bookId}/export",
            httpMethod: "GET",
            parameters: { bookId: { type: "string", location: "path", required: true } },
            scopes: ["full"],
            supportsMediaDownload: true,
          },
          insert: {
            id: "library.books.insert",
            path: "books",
            httpMethod: "POST",
            apiVersion: "2024-01-01",
            request: { $ref: "Book", parameterName: "resource" },
            response: { $ref: "Book" },
            scopes: ["full", "write"],
            supportsMediaUpload: true,
            mediaUpload: {
              accept: ["image/*", "text/plain"],
              maxSize: "1KB",
              protocols: {
                simple: { path: "/upload/library/v1/books", multipart: true },
                resumable: { path: "/resumable/upload/library/v1/books", multipart: true },
              },
            },
          },
          delete: {
            id: "library.books.delete",
            path: "books/{bookId}",
            httpMethod: "DELETE",
            deprecated: true,
            scopes: ["full"],
          },
        },
        resources: {
          notes: {
            methods: {
              update: {
                path: "books/{bookId}/notes/{noteId}",
                httpMethod: "PUT",
                request: { $ref: "Label" },
                parameters: {
                  body: { type: "string", location: "query" },
                  bookId: { type: "string", location: "path" },
                },
              },
            },
          },
        },
      },
    },
  },
);

describe("a document", () => {
  let library: OpenedWeb;
  beforeAll(async () => {
    library = await openLibrary({ document: LIBRARY });
  });
  afterAll(() => library[Symbol.asyncDispose]());
  const last = (): OpenedWeb["backend"]["received"][number] =>
    library.backend.received.at(-1) ?? expect.fail("nothing was received");

  test("has a tool for each method, and one more where a method also gives bytes", async () => {
    expect(await namesOf(library.connector)).toEqual([
      "about",
      "books_list",
      "books_get",
      "books_get_media",
      "books_export",
      "books_insert",
      "books_delete",
      "books_notes_update",
    ]);
  });

  test("says of its methods what they do", async () => {
    const tools = await library.connector.tools({ signal: nobody });
    const hints = tools.map(({ name, readOnlyHint, destructiveHint, idempotentHint }) => [
      name,
      readOnlyHint === true,
      destructiveHint === true,
      idempotentHint === true,
    ]);
    expect(hints).toContainEqual(["books_list", true, false, false]);
    expect(hints).toContainEqual(["books_insert", false, false, false]);
    expect(hints).toContainEqual(["books_notes_update", false, false, true]);
    expect(hints).toContainEqual(["books_delete", false, true, true]);
    expect(library.connector.isTrusted).toBe(false);
    const { description, tags } = await library.tool("books_list");
    expect(description).toMatch(/^Lists books\nGives one page: .*pageToken.*nextPageToken/u);
    expect(tags).toEqual(["books"]);
    expect((await library.tool("books_delete")).avoidWhen).toContain("deprecated");
    expect((await library.tool("books_notes_update")).tags).toEqual(["books", "notes"]);
  });

  test("has parameters with types, bounds, defaults and words, without those that are ours", async () => {
    expect((await library.tool("books_list")).inputSchema).toEqual({
      type: "object",
      properties: {
        parent: { type: "string", description: "The shelf\nPattern: ^shelves/[^/]+$" },
        maxResults: { type: "integer", format: "uint32", minimum: 1, maximum: 100, default: 20 },
        pageToken: { type: "string" },
        label: { type: "array", items: { type: "string" }, description: "Labels" },
        order: { type: "string", enum: ["title", "size"] },
        isOpen: { type: "boolean", default: false },
        $: { type: "string" },
        fields: { type: "string", description: "Which fields to include" },
        quotaUser: { type: "string" },
      },
      required: ["parent", "isOpen"],
      additionalProperties: false,
    });
  });

  test("has answers with all that they refer to, and bodies without what only the API writes", async () => {
    const { inputSchema, outputSchema } = await library.tool("books_insert");
    const { properties, $defs } = inputSchema as { properties: Json; $defs: Record<string, Json> };
    expect(properties["body"]).toEqual({ $ref: "#/$defs/BookInput" });
    expect($defs["BookInput"]).toEqual({
      type: "object",
      description: "A book",
      properties: {
        title: { type: "string", description: "Its title\nRequired by library.books.insert." },
        size: { type: "string", format: "uint64", description: "At least 1.\nAt most 99." },
        labels: { type: "object", additionalProperties: { $ref: "#/$defs/Label" } },
        parts: { type: "array", items: { $ref: "#/$defs/BookInput" } },
        data: { type: "string", format: "byte" },
        state: {
          type: "string",
          enum: ["OPEN", "SHUT"],
          default: "OPEN",
          description: "- OPEN: Can be read\n- SHUT: (deprecated) Cannot",
        },
        item: { $ref: "#/$defs/Item", description: "What it is about" },
        stray: {},
        old: { type: "boolean", deprecated: true },
      },
    });
    expect($defs["Item"]).toEqual({
      type: "object",
      properties: { kind: { type: "string" } },
      anyOf: [
        { $ref: "#/$defs/Label", properties: { kind: { const: "label" } }, required: ["kind"] },
        { $ref: "#/$defs/La_b_e_l", properties: { kind: { const: "odd" } }, required: ["kind"] },
      ],
    });
    const output = outputSchema as { $ref: string; $defs: Record<string, { properties: Json }> };
    expect(output.$ref).toBe("#/$defs/Book");
    expect(Object.keys(output.$defs["Book"]?.properties ?? {})).toContain("id");
    expect((await library.tool("about")).outputSchema).toEqual({
      $ref: "#/$defs/About",
      $defs: {
        About: {
          type: "object",
          properties: {
            size: { type: "string", format: "int64" },
            rate: { type: "number", format: "double" },
            pages: { type: "integer", format: "int32", minimum: 1, maximum: 9 },
            anything: {},
          },
        },
      },
    });
    expect((await library.tool("books_delete")).outputSchema).toBeUndefined();
  });

  test("says which scopes a token needs, in its facts and its check", async () => {
    const { about, tools } = await library.connector.check({ signal: nobody });
    expect(tools).toBe(8);
    expect(about).toEqual({ title: "Library API", version: "v1", problems: 0, scopes: "full" });
    expect(library.connector.facts).toMatchObject({ description: "object", scopes: "full" });
  });

  test("has its parameters put where they belong", async () => {
    const input = {
      parent: "shelves/a b",
      label: ["x", "y&z"],
      isOpen: true,
      maxResults: 5,
      fields: "items(id,title)",
      pageToken: null,
    };
    const { url } = (await library.call("books_list", input)) as { url: string };
    expect(url).toBe(
      "/library/v1/shelves/a%20b/books?alt=json" +
        "&maxResults=5&label=x&label=y%26z&isOpen=true&fields=items%28id%2Ctitle%29",
    );
    await library.call("books_get", { bookId: "1:2@3" });
    expect(last().url).toBe("/library/v1/books/1%3A2%403?alt=json");
    await library.call("books_notes_update", { bookId: "1", noteId: "2", body: "q", body_2: { text: "t" } });
    expect(last()).toMatchObject({ method: "PUT", url: "/library/v1/books/1/notes/2?alt=json&body=q" });
    expect(JSON.parse(last().body.toString())).toEqual({ text: "t" });
  });

  test("has nothing that a program could say of what is ours", async () => {
    for (const name of ["alt", "key", "access_token", "callback", "uploadType", "prettyPrint"]) {
      await expect(library.call("about", { [name]: "x" })).rejects.toMatchObject({
        code: "REQUEST_INVALID",
        message: expect.stringContaining(`takes no "${name}"`),
      });
    }
  });

  test.each([
    "..",
    "../admin",
    "shelves/../admin",
    "shelves/..",
    "./x",
    "%2e%2e",
    "shelves/%2e%2e/admin",
    "%252e%252e",
    "shelves%2f..%2fadmin",
    "/etc",
    "//evil.example",
    "https://evil.example/x",
    "\\\\evil.example",
    "shelves\\..\\x",
    "shelves/..;/x",
    "shelves//x",
    "a\r\nb",
    "",
    "．．/x",
  ])("cannot be left by the reserved expansion of %j", async (parent) => {
    const before = library.backend.received.length;
    await expect(library.call("books_list", { parent, isOpen: true })).rejects.toMatchObject({
      code: "REQUEST_INVALID",
      hasNoEffect: true,
    });
    expect(library.backend.received).toHaveLength(before);
  });

  test.each(["..", "a/b", "%2e%2e", "a%2fb", "", "https://evil.example"])(
    "cannot be left by %j in one segment",
    async (bookId) => {
      await expect(library.call("books_get", { bookId })).rejects.toMatchObject({ code: "REQUEST_INVALID" });
      await expect(library.call("books_export", { bookId })).rejects.toMatchObject({
        code: "REQUEST_INVALID",
      });
    },
  );

  test("keeps what looks like a host or a query in its path", async () => {
    await library.call("books_list", { parent: "@evil.example?x=1#y", isOpen: false });
    expect(last().url).toMatch(/^\/library\/v1\/%40evil\.example%3Fx%3D1%23y\/books\?/u);
  });

  test("has media that goes up alone", async () => {
    const bytes = new Uint8Array([0, 255, 13, 10]);
    await library.call("books_insert", { media: new Bytes(bytes, { mediaType: "image/png" }) });
    expect(last().url).toBe("/upload/library/v1/books?alt=json&uploadType=media");
    expect(last().headers["content-type"]).toBe("image/png");
    expect(last().headers["x-goog-api-version"]).toBe("2024-01-01");
    expect([...last().body]).toEqual([...bytes]);
    await library.call("books_insert", { media: "grün" });
    expect(last().headers["content-type"]).toBe("text/plain; charset=utf-8");
    expect(last().body.toString()).toBe("grün");
    await library.call("books_insert", { media: bytes, mediaType: "image/gif" });
    expect(last().headers["content-type"]).toBe("image/gif");
  });

  test("has media that goes up with what is said of it", async () => {
    const bytes = new Uint8Array([0, 255, 13, 10, 45, 45]);
    const media = new Bytes(bytes, { mediaType: "image/png" });
    await library.call("books_insert", { body: { title: "Zoë" }, media, fields: "id" });
    const { url, headers, body } = last();
    expect(url).toBe("/upload/library/v1/books?alt=json&uploadType=multipart&fields=id");
    const boundary = /^multipart\/related; boundary=(\S+)$/u.exec(headers["content-type"] ?? "")?.[1] ?? "";
    const about = '{"title":"Zoë"}';
    const head = `--${boundary}\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n${about}\r\n--${boundary}\r\nContent-Type: image/png\r\n\r\n`;
    const expected = Buffer.concat([Buffer.from(head), bytes, Buffer.from(`\r\n--${boundary}--\r\n`)]);
    expect(body.equals(expected)).toBe(true);
  });

  test("has a body that goes without media", async () => {
    await library.call("books_insert", { body: { title: "x" } });
    expect(last()).toMatchObject({ method: "POST", url: "/library/v1/books?alt=json" });
    expect(last().headers["content-type"]).toBe("application/json");
    await library.call("books_insert");
    expect(last().body).toHaveLength(0);
  });

  test.each<[Json, string]>([
    [{ media: new Bytes(new Uint8Array(1), { mediaType: "video/mp4" }) }, 'of type "video/mp4"'],
    [{ media: new Uint8Array(1) }, 'of type "application/octet-stream"'],
    [{ media: "x".repeat(1025) }, "has 1025 bytes, at most 1024"],
    [{ media: "x", mediaType: "text/plain\r\nX-Evil: 1" }, "has to be a media type"],
    [{ media: "x", mediaType: "text" }, "has to be a media type"],
    [{ media: "x", mediaType: `text/plain;${"x".repeat(300)}` }, "has to be a media type"],
    [{ mediaType: "image/png" }, '"media" is absent'],
    [{ body: { data: new Uint8Array(1) } }, '"data" has bytes'],
    [{ quotaUser: new Uint8Array(1) }, '"quotaUser" has bytes'],
  ])("refuses what cannot go up: %j", async (input, problem) => {
    const before = library.backend.received.length;
    await expect(library.call("books_insert", input)).rejects.toMatchObject({
      code: "REQUEST_INVALID",
      message: expect.stringContaining(problem),
      hasNoEffect: true,
    });
    expect(library.backend.received).toHaveLength(before);
  });
});

describe("media that comes down", () => {
  const typed: Answer = ({ url }, response) => {
    const type = url.includes("json") ? "application/json" : "text/plain; charset=latin1";
    response.writeHead(200, {
      "content-type": url.includes("none") ? "image/png" : type,
      "content-disposition": 'attachment; filename="../a.txt"',
    });
    response.end(url.includes("canary") ? `token: ${SECRET}` : Buffer.from([123, 0xfc, 125]));
  };

  test.each(["none", "json", "text"])("is bytes, whatever it says of itself: %s", async (bookId) => {
    await withLibrary(
      { document: LIBRARY },
      async ({ call, backend }) => {
        const data = await call("books_get_media", { bookId });
        expect(data).toBeInstanceOf(Bytes);
        expect([...(data as Bytes).bytes]).toEqual([123, 0xfc, 125]);
        expect((data as Bytes).filename).toBe("a.txt");
        expect(backend.received[0]?.url).toBe(`/download/library/v1/books/${bookId}?alt=media`);
        expect(await call("books_export", { bookId })).toBeInstanceOf(Bytes);
        expect(backend.received[1]?.url).toBe(`/library/v1/books/${bookId}/export?alt=media`);
      },
      typed,
    );
  });

  test("does not show a credential that the backend repeats in a text", async () => {
    await withLibrary(
      { document: LIBRARY, credentials: [{ type: "bearer", token: SECRET }] },
      async ({ call }) => {
        const { bytes } = (await call("books_get_media", { bookId: "canary" })) as Bytes;
        expect(Buffer.from(bytes).toString()).toBe(`token: ${"*".repeat(SECRET.length)}`);
      },
      typed,
    );
  });

  test("has no more bytes than the connector takes", async () => {
    await withLibrary({ document: LIBRARY, responseBytes: 2 }, async ({ call }) => {
      await expect(call("books_get_media", { bookId: "1" })).rejects.toMatchObject({
        code: "RESPONSE_TOO_LARGE",
      });
    });
  });
});

describe("a place", () => {
  const about = { about: { id: "library.about", path: "/about", httpMethod: "get" } };
  const seen = async (document: Json, rootPath = ""): Promise<string | undefined> => {
    const opened = await openWeb(echo, (origin) =>
      discovery({ id: "library", card, document, rootUrl: origin + rootPath }),
    );
    await using _ = opened;
    await opened.call("about");
    return opened.backend.received[0]?.url;
  };

  test.each<[Json, string, string]>([
    [{ servicePath: "/v2/" }, "", "/v2/about"],
    [{ servicePath: "" }, "", "/about"],
    [{ servicePath: undefined }, "", "/about"],
    [{ servicePath: "v2/" }, "/proxy/", "/proxy/v2/about"],
    [{ rootUrl: undefined, baseUrl: "https://old.example/base/v1/" }, "", "/base/v1/about"],
  ])("of %j below %j is %s", async (more, rootPath, url) => {
    expect(await seen(documentOf(about, more), rootPath)).toBe(url);
  });

  test("is what the document says, unless the operator says another", async () => {
    await using backend = await startWebBackend(echo);
    const document = documentOf(about, { rootUrl: `${backend.origin}/` });
    await using connector = discovery({ id: "library", card, document });
    await connector.callTool("about", {}, requestOf());
    expect(backend.received[0]?.url).toBe("/library/v1/about");
  });

  test.each<[Json, string]>([
    [{ rootUrl: undefined }, "names no root URL"],
    [{ rootUrl: "ftp://library.example" }, "https://host/path"],
  ])("that cannot be used is a fault of the configuration: %j", async (more, problem) => {
    await using connector = discovery({ id: "library", card, document: documentOf(about, more) });
    await expect(connector.tools({ signal: nobody })).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining(problem),
    });
  });

  test("of a document from the web gets no credentials unless the operator says so", async () => {
    await using backend = await startWebBackend(({ url }, response) =>
      json(response, 200, url === "/rest" ? documentOf(about) : "done"),
    );
    const options = { id: "library", card, document: `${backend.origin}/rest` };
    const credentials = [{ type: "apiKey", in: "query", name: "key", value: SECRET }] as const;
    await using refused = discovery({ ...options, credentials });
    await expect(refused.tools({ signal: nobody })).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining("set rootUrl"),
    });
    await using connector = discovery({ ...options, credentials, rootUrl: backend.origin });
    await connector.callTool("about", {}, requestOf());
    expect(backend.received.at(-1)?.url).toBe(`/library/v1/about?key=${SECRET}`);
  });
});

test("the identity is that of the service, whatever its document says otherwise", () => {
  const identityOf = (more: Json, options: Partial<DiscoveryOptions> = {}): string =>
    discovery({ id: "library", card, document: documentOf({}, more), ...options }).identity;
  const own = identityOf({});
  const token = [{ type: "bearer", token: SECRET }] as const;
  expect(identityOf({ revision: "2", schemas: { A: {} } }, { credentials: token, include: ["a"] })).toBe(own);
  expect(identityOf({ version: "v2" })).not.toBe(own);
  expect(identityOf({}, { rootUrl: "https://other.example" })).not.toBe(own);
});

describe("credentials", () => {
  test("cannot be replaced by a parameter of the same name", async () => {
    const parameters = { token: { type: "string", location: "query" } };
    const document = documentOf({
      about: { id: "library.about", path: "about", httpMethod: "GET", parameters },
    });
    const credentials = [{ type: "apiKey", in: "query", name: "token", value: SECRET }] as const;
    await withLibrary({ document, credentials }, async ({ call, tool, backend }) => {
      expect(((await tool("about")).inputSchema as Json)["properties"]).toEqual({});
      await expect(call("about", { token: "mine" })).rejects.toMatchObject({ code: "REQUEST_INVALID" });
      expect(await call("about")).toEqual({ url: "/library/v1/about?token=[hidden]" });
      expect(backend.received.at(-1)?.url).toBe(`/library/v1/about?token=${SECRET}`);
    });
  });

  test("that are refused are said to be, in the words of the API", async () => {
    const answer: Answer = (_, response) =>
      json(response, 403, {
        error: { code: 403, message: "Insufficient scopes", status: "PERMISSION_DENIED" },
      });
    const credentials = [{ type: "bearer", token: SECRET }] as const;
    await withLibrary(
      { document: LIBRARY, credentials },
      async ({ call }) => {
        await expect(call("about")).rejects.toMatchObject({
          code: "AUTH_FAILED",
          message: expect.stringContaining("Insufficient scopes"),
        });
      },
      answer,
    );
  });
});

describe("methods", () => {
  test.each<[Partial<DiscoveryOptions>, string[]]>([
    [{ include: ["books.get"] }, ["books_get", "books_get_media"]],
    [{ include: ["library.books.notes.*"] }, ["books_notes_update"]],
    [{ include: ["*.list", "about"] }, ["about", "books_list"]],
    [
      { include: ["b*s.*t"], exclude: ["*insert", "books.export"] },
      ["books_list", "books_get", "books_get_media"],
    ],
    [{ exclude: ["books.*"] }, ["about"]],
  ])("are chosen by %j", async (options, names) => {
    await withLibrary({ document: LIBRARY, ...options }, async ({ connector }) => {
      expect(await namesOf(connector)).toEqual(names);
    });
  });

  test.each<[Partial<DiscoveryOptions>]>([
    [{ exclude: ["books.remove"] }],
    [{ include: ["Books.*"] }],
    [{ include: [""] }],
  ])("cannot be chosen by a pattern that stands for none: %j", async (options) => {
    await withLibrary({ document: LIBRARY, ...options }, async ({ connector }) => {
      await expect(connector.tools({ signal: nobody })).rejects.toMatchObject({
        code: "CONFIG_INVALID",
        message: expect.stringContaining("has no method that"),
      });
    });
  });

  test("have sound names of their own, however they are called", async () => {
    const get = (id: unknown, at: string): Json => ({ id, path: at, httpMethod: "GET" });
    const document = documentOf(
      {
        a: get("library.files.list", "1"),
        b: get("library.files_list", "2"),
        c: get("", "3"),
        d: get(5, "4"),
      },
      {
        resources: {
          "größe & co": { methods: { "1st": get(undefined, "5") } },
          x: {
            methods: { get: { ...get("library.x.get", "6"), supportsMediaDownload: true, response: {} } },
          },
          y: { methods: { m: get("library.x.get.media", "7"), n: get(`library.${"n".repeat(90)}`, "8") } },
        },
      },
    );
    await withLibrary({ document }, async ({ connector }) => {
      const names = await namesOf(connector);
      expect(names).toEqual([
        "files_list",
        "files_list_2",
        "c",
        "d",
        "gro_e_co_1st",
        "x_get",
        "x_get_media",
        "x_get_media_2",
        "n".repeat(64),
      ]);
      for (const name of names) expect(name).toMatch(/^[A-Za-z_]\w{0,63}$/u);
    });
  });

  test("that are odd are left out, and the others are there", async () => {
    const nested = (depth: number): Json => (depth === 0 ? {} : { resources: { deep: nested(depth - 1) } });
    const document = documentOf({
      pathless: { id: "library.pathless", httpMethod: "GET" },
      traced: { id: "library.traced", httpMethod: "TRACE", path: "x" },
      matrix: { id: "library.matrix", httpMethod: "GET", path: "x{/rest*}" },
      resumable: {
        id: "library.resumable",
        httpMethod: "POST",
        path: "x",
        mediaUpload: { protocols: { resumable: { path: "/resumable/x" } } },
      },
      none: null,
      fine: {
        id: "library.fine",
        httpMethod: "GET",
        path: "fine/{gone}",
        parameters: {
          ["__proto__"]: { type: "boolean", location: "query" },
          constructor: { type: "string", location: "query" },
          bad: 5,
          elsewhere: { type: "string", location: "path" },
          integer: { type: "integer", location: "query", default: "x", minimum: "", enum: ["1", "two"] },
        },
      },
    });
    const given = JSON.parse(JSON.stringify({ ...document, ...nested(200) })) as Json;
    await withLibrary({ document: given }, async ({ connector, tool, call, backend }) => {
      expect(await namesOf(connector)).toEqual(["resumable", "fine"]);
      const { properties } = (await tool("fine")).inputSchema as { properties: Json };
      expect(Object.entries(properties)).toEqual([
        ["gone", { type: "string" }],
        ["__proto__", { type: "boolean" }],
        ["constructor", { type: "string" }],
        ["integer", { type: "integer", enum: [1] }],
      ]);
      expect(((await tool("resumable")).inputSchema as Json)["properties"]).toEqual({});
      await call("fine", { gone: "1", constructor: "c" });
      expect(backend.received[0]?.url).toBe("/library/v1/fine/1?constructor=c");
      await expect(call("fine", {})).rejects.toMatchObject({ code: "REQUEST_INVALID" });
      const { about } = await connector.check({ signal: nobody });
      expect(about).toMatchObject({ problems: 5 });
    });
  });

  test("that upload take a body beside only if the API does", async () => {
    const mediaUpload = {
      accept: ["*/*"],
      protocols: { simple: { path: "/upload/{id}", multipart: false } },
    };
    const document = documentOf(
      {
        put: {
          id: "library.put",
          httpMethod: "PATCH",
          path: "x/{id}",
          parameters: { id: { type: "string", location: "path", required: true, repeated: true } },
          request: { $ref: "A" },
          mediaUpload,
        },
      },
      { schemas: { A: { type: "object" } } },
    );
    await withLibrary({ document }, async ({ call, backend }) => {
      await call("put", { id: ["1", "2"], media: new Uint8Array([1]) });
      expect(backend.received[0]).toMatchObject({ method: "PATCH", url: "/upload/1,2?uploadType=media" });
      expect(backend.received[0]?.headers["content-type"]).toBe("application/octet-stream");
      await expect(call("put", { id: ["1"], media: "x", body: {} })).rejects.toMatchObject({
        code: "REQUEST_INVALID",
        message: expect.stringContaining("cannot go together"),
      });
      await expect(call("put", { id: [".."], media: "x" })).rejects.toMatchObject({
        code: "REQUEST_INVALID",
      });
      await expect(call("put", { id: [], media: "x" })).rejects.toMatchObject({ code: "REQUEST_INVALID" });
    });
  });

  test("of APIs that wrap their data have it unwrapped", async () => {
    const document = documentOf(
      { put: { id: "library.put", httpMethod: "POST", path: "x", request: { $ref: "A" } } },
      { schemas: { A: { type: "object" } }, features: ["dataWrapper"] },
    );
    const answer: Answer = (_, response) => json(response, 200, { data: [1] });
    await withLibrary(
      { document },
      async ({ call, backend }) => {
        expect(await call("put", { body: { a: 1 } })).toEqual([1]);
        expect(backend.received[0]?.body.toString()).toBe('{"data":{"a":1}}');
      },
      answer,
    );
  });

  test("need scopes of which one token has the fewest", async () => {
    const method = (at: string, scopes?: unknown): Json => ({ path: at, httpMethod: "GET", scopes });
    const document = documentOf({
      a: method("a", ["a", "all", 5]),
      b: method("b", ["b", "all"]),
      c: method("c", ["c"]),
      d: method("d"),
      e: method("e", "all"),
    });
    await withLibrary({ document }, async ({ connector }) => {
      expect(connector.facts).not.toHaveProperty("scopes");
      await connector.tools({ signal: nobody });
      expect(connector.facts["scopes"]).toBe("all c");
    });
    await withLibrary({ document, exclude: ["c"] }, async ({ connector }) => {
      await connector.tools({ signal: nobody });
      expect(connector.facts["scopes"]).toBe("all");
    });
  });
});

describe("a document that cannot be used", () => {
  const inFile = async (text: string, work: (file: string) => Promise<void>): Promise<void> => {
    const directory = await mkdtemp(path.join(tmpdir(), "codecell-discovery-"));
    try {
      const file = path.join(directory, "rest.json");
      await writeFile(file, text);
      await work(file);
    } finally {
      await rm(directory, { recursive: true });
    }
  };

  test.each<[string, string, string]>([
    ["does not parse", "{", "does not parse"],
    ["is a list", "[]", "is no object"],
    ["is of another format", '{"openapi":"3.1.0"}', "no Discovery document"],
    ["is the list of all APIs", '{"kind":"discovery#directoryList"}', "a list of APIs"],
    ["is of another kind", '{"kind":"x","methods":{}}', "no Discovery document"],
    ["is of another protocol", '{"protocol":"rpc","methods":{}}', "another protocol"],
    ["is too large", `{"methods":{},"x":"${"x".repeat(5000)}"}`, "too many bytes"],
  ])("because it %s is a fault of the configuration", async (_, text, problem) => {
    await inFile(text, async (document) => {
      await using connector = discovery({ id: "library", card, document, documentBytes: 5000 });
      await expect(connector.tools({ signal: nobody })).rejects.toMatchObject({
        code: "CONFIG_INVALID",
        connector: "library",
        message: expect.stringContaining(problem),
      });
    });
  });

  test("says so without its place", async () => {
    for (const [document, code] of [
      ["/nowhere/canary.json", "CONFIG_INVALID"],
      ["http://127.0.0.1:1/canary.json", "SERVER_UNAVAILABLE"],
    ] as const) {
      await using connector = discovery({ id: "library", card, document });
      const error: unknown = await connector.tools({ signal: nobody }).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code });
      expect((error as Error).message).not.toContain("canary");
    }
  });

  test("because it never comes is not waited for by nobody", async () => {
    await using backend = await startWebBackend(() => {});
    await using connector = discovery({ id: "library", card, document: `${backend.origin}/rest` });
    const caller = new AbortController();
    const failed = expect(connector.tools({ signal: caller.signal })).rejects.toMatchObject({
      code: "CALL_ABORTED",
    });
    await backend.arrived();
    caller.abort();
    await failed;
    await backend.left();
  });

  test("any more leaves the one before, and a new one is told of", async () => {
    const version = (name: string): string =>
      JSON.stringify(documentOf({ [name]: { path: "a", httpMethod: "GET" } }));
    await inFile(version("one"), async (document) => {
      await using connector = discovery({ id: "library", card, document, documentTtlMs: 0 });
      const changes: string[] = [];
      connector.onChange((list) => changes.push(list));
      expect(await namesOf(connector)).toEqual(["one"]);
      await writeFile(document, "{");
      expect(await namesOf(connector)).toEqual(["one"]);
      expect(changes).toEqual([]);
      await writeFile(document, version("two"));
      expect(await namesOf(connector)).toEqual(["two"]);
      expect(changes).toEqual(["tools"]);
    });
  });

  test("is never more than its own: schemas that nest without end, or refer to each other", async () => {
    const deep: Json = { type: "array" };
    let node = deep;
    for (let depth = 0; depth < 3000; depth++) {
      node["items"] = { type: "array" };
      node = node["items"] as Json;
    }
    const count = 3000;
    const chain = Object.fromEntries(
      Array.from({ length: count }, (_, at) => [
        `S${at}`,
        {
          type: "object",
          description: "d".repeat(500),
          properties: { next: { $ref: `S${(at + 1) % count}` }, own: { type: "string", readOnly: at === 7 } },
        },
      ]),
    );
    const document = documentOf(
      {
        deep: { path: "a", httpMethod: "GET", response: { $ref: "Deep" } },
        chain: { path: "b", httpMethod: "POST", request: { $ref: "S0" }, response: { $ref: "S0" } },
      },
      { schemas: { Deep: deep, ...chain } },
    );
    await withLibrary({ document }, async ({ tool }) => {
      const sizes = [await tool("deep"), await tool("chain")].flatMap(({ inputSchema, outputSchema }) =>
        [inputSchema, outputSchema].map((schema?: JsonSchema) => JSON.stringify(schema).length),
      );
      for (const size of sizes) expect(size).toBeLessThan(1_000_000);
    });
  });
});
