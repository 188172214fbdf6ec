import { createServer } from "node:net";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
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
import { http, type HttpAction, type HttpOptions } from "./http.ts";

const SECRET = "canary-s3cret-token";
const card = { name: "Shop", description: "A shop on loopback" };
const text = { type: "string" } as const;

function input(...names: readonly string[]): NonNullable<HttpAction["input"]> {
  return { type: "object", properties: Object.fromEntries(names.map((name) => [name, {}])) };
}

testConnector("http", ({ timeoutMs, responseBytes }) =>
  openShop({ getItem: "get_item", secret: SECRET }, (baseUrl) =>
    http({
      id: "shop",
      card,
      baseUrl,
      timeoutMs,
      responseBytes,
      credentials: [{ type: "bearer", token: SECRET }],
      actions: [
        {
          name: "get_item",
          method: "GET",
          path: "/items/{id}",
          input: { type: "object", properties: { id: text } },
        },
        { name: "hang", method: "POST", path: "/hang" },
        { name: "large", method: "GET", path: "/large" },
      ],
    }),
  ),
);

function open(
  answer: Answer,
  actions: readonly HttpAction[],
  options: Partial<HttpOptions> = {},
): Promise<OpenedWeb> {
  return openWeb(answer, (baseUrl) => http({ id: "shop", card, baseUrl, actions, ...options }));
}

const ok: Answer = (_, response) => json(response, 200, "done");

describe("an action", () => {
  test("puts each input where its template says", async () => {
    const actions: HttpAction[] = [
      {
        name: "place",
        method: "POST",
        path: "/shops/{shop}/items?fixed=1",
        input: input("shop", "page", "tags", "trace", "name", "price", "note"),
        query: { page: "{page}", tag: "{tags}", sort: "by-{page}" },
        headers: { "X-Trace": "{trace}" },
        body: {
          json: { item: { name: "{name}", price: "{price}", note: "{note}" }, label: "{name}: {price}" },
        },
      },
    ];
    await using opened = await open(ok, actions);
    const given = { shop: "a b", page: 2, tags: ["x", "y&z"], trace: "t1", name: "tea", price: 3 };
    expect(await opened.call("place", given)).toBe("done");
    const [received] = opened.backend.received;
    expect(received?.method).toBe("POST");
    expect(received?.url).toBe("/shops/a%20b/items?fixed=1&page=2&tag=x&tag=y%26z&sort=by-2");
    expect(received?.headers["x-trace"]).toBe("t1");
    expect(received?.headers["content-type"]).toBe("application/json");
    expect(JSON.parse(received?.body.toString() ?? "")).toEqual({
      item: { name: "tea", price: 3 },
      label: "tea: 3",
    });
  });

  test("sends all other inputs in a body that takes them", async () => {
    const actions: HttpAction[] = [
      { name: "json", method: "PATCH", path: "/{id}", input: input("id", "a", "b"), body: "json" },
      { name: "form", method: "POST", path: "/{id}", input: input("id", "a", "b"), body: "form" },
    ];
    await using opened = await open(ok, actions);
    await opened.call("json", { id: "1", a: { deep: [1] } });
    await opened.call("form", { id: "1", a: ["x y", "z"], b: "&=" });
    const [first, second] = opened.backend.received;
    expect(first?.body.toString()).toBe('{"a":{"deep":[1]}}');
    expect(second?.body.toString()).toBe("a=x%20y&a=z&b=%26%3D");
    expect(second?.headers["content-type"]).toBe("application/x-www-form-urlencoded");
  });

  test("sends text and bytes as they are", async () => {
    const actions: HttpAction[] = [
      { name: "put", method: "PUT", path: "/", input: input("content"), body: { text: "{content}" } },
    ];
    await using opened = await open(ok, actions);
    await opened.call("put", { content: "grün" });
    const bytes = new Uint8Array([0, 255, 13, 10, 128]);
    await opened.call("put", { content: new Bytes(bytes, { mediaType: "image/png" }) });
    const [first, second] = opened.backend.received;
    expect(first?.body.toString()).toBe("grün");
    expect(first?.headers["content-type"]).toBe("text/plain; charset=utf-8");
    expect([...(second?.body ?? [])]).toEqual([...bytes]);
  });

  test("refuses bytes where only text can be, instead of changing them", async () => {
    const actions: HttpAction[] = [
      { name: "send", method: "POST", path: "/", input: input("file"), body: "json" },
    ];
    await using opened = await open(ok, actions);
    await expect(opened.call("send", { file: new Uint8Array([1]) })).rejects.toMatchObject({
      code: "REQUEST_INVALID",
      message: expect.stringContaining('"file" has bytes'),
      hasNoEffect: true,
    });
    expect(opened.backend.received).toEqual([]);
  });

  test("has the hints of its method, unless it says otherwise", async () => {
    const actions: HttpAction[] = [
      { name: "get", method: "GET", path: "/" },
      { name: "put", method: "PUT", path: "/" },
      { name: "delete", method: "DELETE", path: "/" },
      { name: "search", method: "POST", path: "/search", readOnlyHint: true },
    ];
    await using opened = await open(ok, actions);
    const hints = (await opened.connector.tools({ signal: nobody })).map(
      ({ name, readOnlyHint, idempotentHint, destructiveHint }) => [
        name,
        readOnlyHint,
        idempotentHint,
        destructiveHint,
      ],
    );
    expect(hints).toEqual([
      ["get", true, undefined, undefined],
      ["put", undefined, true, undefined],
      ["delete", undefined, true, true],
      ["search", true, undefined, undefined],
    ]);
  });

  test.each<[string, Partial<HttpAction>]>([
    ['places "b" nowhere', { input: input("b") }],
    ['places "c", which its input has not', { query: { c: "{c}" } }],
    ['cannot set the header "Host"', { headers: { Host: "evil" } }],
    ['cannot set the header "Transfer-Encoding"', { headers: { "Transfer-Encoding": "chunked" } }],
    ['cannot set the header "X-Tenant", the connector does', { headers: { "X-Tenant": "mine" } }],
    ['cannot set the header "Authorization", the connector does', { headers: { Authorization: "mine" } }],
    ["needs a path that begins with a slash", { path: "items" }],
    ["cannot have a body with GET", { body: "json" }],
  ])("that %s is refused when it is declared", (problem, action) => {
    const make = (): Connector =>
      http({
        id: "shop",
        card,
        baseUrl: "http://127.0.0.1:1",
        headers: { "x-tenant": "one" },
        credentials: [{ type: "bearer", token: SECRET }],
        actions: [{ name: "a", method: "GET", path: "/", ...action }],
      });
    expect(make).toThrow(
      expect.objectContaining({ code: "CONFIG_INVALID", message: expect.stringContaining(problem) }),
    );
  });

  test.each(["ftp://x", "nowhere", "http://user:pass@host/"])("cannot have the base URL %s", (baseUrl) => {
    expect(() => http({ id: "shop", card, baseUrl, actions: [] })).toThrow(
      expect.objectContaining({ code: "CONFIG_INVALID", message: expect.not.stringContaining("pass@") }),
    );
  });

  test("refuses a credential that would break its header, without showing it", () => {
    const token = "canary\r\nX-Evil: 1";
    const make = (): Connector =>
      http({
        id: "shop",
        card,
        baseUrl: "http://127.0.0.1:1",
        actions: [],
        credentials: [{ type: "bearer", token }],
      });
    expect(make).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
    expect(make).not.toThrow("canary");
  });
});

describe("an input cannot leave its place", () => {
  const actions: HttpAction[] = [
    { name: "get", method: "GET", path: "/base/{id}/end", input: input("id") },
    { name: "file", method: "GET", path: "/files/{+path}", input: input("path") },
    { name: "query", method: "GET", path: "/q", input: input("q"), query: { q: "{q}" } },
    { name: "header", method: "GET", path: "/h", input: input("h"), headers: { "X-H": "{h}" } },
  ];

  test.each([
    "",
    ".",
    "..",
    "../admin",
    "..\\admin",
    "a/b",
    "a/../b",
    "%2e%2e",
    "%2e%2e%2fadmin",
    "%252e%252e%252fadmin",
    "%25252e%25252e",
    "..%2fadmin",
    "..;",
    "..;x=1",
    ".. ",
    "%u002e%u002e",
    "%c0%ae%c0%ae",
    "%c0%ae%c0%ae%c0%afadmin",
    "%e0%80%ae%e0%80%ae",
    "%f0%80%80%ae%f0%80%80%ae",
    "..%c0%af",
    "..%c1%9c",
    "%25c0%25ae.",
    "．．",
    "．．／admin",
    "a\0b",
    "a\r\nb",
    "a%00b",
    "a%0d%0ab",
    "\ud800",
  ])("by %j in a path", async (id) => {
    await using opened = await open(ok, actions);
    await expect(opened.call("get", { id })).rejects.toMatchObject({
      code: "REQUEST_INVALID",
      hasNoEffect: true,
    });
    expect(opened.backend.received).toEqual([]);
  });

  test.each([
    ["?x=1", "/base/%3Fx%3D1/end"],
    ["#x", "/base/%23x/end"],
    ["@evil.example", "/base/%40evil.example/end"],
    ["100%", "/base/100%25/end"],
    ["...", "/base/.../end"],
    ["a;b", "/base/a%3Bb/end"],
    ["ü!'()*", "/base/%C3%BC%21%27%28%29%2A/end"],
    ["v1.2", "/base/v1.2/end"],
  ])("but %j goes where it belongs", async (id, url) => {
    await using opened = await open(ok, actions);
    await opened.call("get", { id });
    expect(opened.backend.received[0]?.url).toBe(url);
  });

  test("by dots that become a segment only with what is beside", async () => {
    const pair: HttpAction = { name: "pair", method: "GET", path: "/items/.{a}", input: input("a") };
    await using opened = await open(ok, [pair]);
    await expect(opened.call("pair", { a: ".x" })).resolves.toBe("done");
    await expect(opened.call("pair", { a: ";x" })).rejects.toMatchObject({ code: "REQUEST_INVALID" });
    expect(opened.backend.received).toHaveLength(1);
  });

  test.each([
    ["%2", "e"],
    ["%2", "e%2"],
    ["%2", "f.."],
    ["..%2", "fadmin"],
    [".%2", "e"],
    ["%c0", "%ae"],
    ["..%5", "cadmin"],
    [".", "."],
    [".", ".;x"],
  ])("by %j and %j, which are harmless alone", async (a, b) => {
    const pair: HttpAction = {
      name: "pair",
      method: "GET",
      path: "/items/{a}{b}/end",
      input: input("a", "b"),
    };
    await using opened = await open(ok, [pair]);
    const outcome = await opened.call("pair", { a, b }).catch((error: unknown) => error);
    const [received] = opened.backend.received;
    // However often a server decodes it, it is no other path.
    for (let [url, times] = [received?.url ?? "", 0]; times < 8; times++) {
      expect(url.split(/[/\\]/u).map((segment) => segment.replace(/;.*/u, ""))).not.toContain("..");
      expect(url.split(/[/\\]/u)).not.toContain(".");
      url = url
        .replaceAll(/%c0%ae/giu, ".")
        .replaceAll(/(?:%[0-7][0-9a-f])/giu, (code) => decodeURIComponent(code));
    }
    if (received === undefined) expect(outcome).toMatchObject({ code: "REQUEST_INVALID", hasNoEffect: true });
  });

  test("by dots, where a path may have slashes", async () => {
    await using opened = await open(ok, actions);
    await opened.call("file", { path: "docs/a b.md" });
    expect(opened.backend.received[0]?.url).toBe("/files/docs/a%20b.md");
    for (const path of ["../x", "a/../b", "a//b", "/etc", "a/%2e%2e/b", "a\\..\\b", "a/..%2f"]) {
      await expect(opened.call("file", { path })).rejects.toMatchObject({ code: "REQUEST_INVALID" });
    }
    expect(opened.backend.received).toHaveLength(1);
  });

  test("in a query", async () => {
    await using opened = await open(ok, actions);
    await opened.call("query", { q: "a&admin=1#x\r\n" });
    expect(opened.backend.received[0]?.url).toBe("/q?q=a%26admin%3D1%23x%0D%0A");
  });

  test.each(["a\r\nX-Evil: 1", "a\nb", "a\rb", "a\0b", "\u2028", "ä\u{1F600}"])(
    "by %j in a header",
    async (h) => {
      await using opened = await open(ok, actions);
      await expect(opened.call("header", { h })).rejects.toMatchObject({
        code: "REQUEST_INVALID",
        hasNoEffect: true,
      });
      expect(opened.backend.received).toEqual([]);
    },
  );

  test("to stand in for a credential, wherever it is [handles:10]", async () => {
    const open1: HttpAction[] = [
      { name: "query", method: "GET", path: "/", input: input("q"), query: { tenant: "{q}" } },
      { name: "cookie", method: "GET", path: "/", input: input("q"), headers: { Cookie: "a={q}" } },
    ];
    await using opened = await openWeb(ok, (baseUrl) =>
      http({
        id: "shop",
        card,
        baseUrl: `${baseUrl}?tenant=one`,
        actions: open1,
        credentials: [{ type: "apiKey", in: "cookie", name: "session id", value: "c-secret" }],
      }),
    );
    const refused = { code: "REQUEST_INVALID", hasNoEffect: true };
    await expect(opened.call("query", { q: "two" })).rejects.toMatchObject(refused);
    for (const q of ["x; session id=evil", "x;session%20id=evil", "x; session id"])
      await expect(opened.call("cookie", { q })).rejects.toMatchObject(refused);
    expect(opened.backend.received).toEqual([]);
    await opened.call("cookie", { q: '"x; other=1' });
    expect(opened.backend.received[0]?.headers.cookie).toBe('session%20id=c-secret; a="x; other=1');
  });

  test("by the media type of its bytes", async () => {
    const put: HttpAction = {
      name: "put",
      method: "PUT",
      path: "/",
      input: input("file"),
      body: { text: "{file}", mediaType: "*/*" },
    };
    await using opened = await open(ok, [put]);
    for (const mediaType of ["image/png\r\nX-Evil: 1", "a\nb", "ü\u{1F600}"]) {
      const file = new Bytes(new Uint8Array([1]), { mediaType });
      await expect(opened.call("put", { file })).rejects.toMatchObject({
        code: "REQUEST_INVALID",
        hasNoEffect: true,
      });
    }
    expect(opened.backend.received).toEqual([]);
  });

  test("nor be dropped without a word", async () => {
    await using opened = await open(ok, actions);
    await expect(opened.call("query", { q: "a", other: 1 })).rejects.toMatchObject({
      code: "REQUEST_INVALID",
      message: expect.stringContaining('takes no "other"'),
    });
  });
});

describe("credentials", () => {
  test("are in every request, whatever the arguments say", async () => {
    const actions: HttpAction[] = [
      {
        name: "get",
        method: "GET",
        path: "/",
        input: input("q"),
        query: { q: "{q}" },
        headers: { Cookie: "{q}" },
      },
    ];
    await using opened = await open(ok, actions, {
      headers: { "X-Tenant": "one" },
      credentials: [
        { type: "basic", username: "user", password: SECRET },
        { type: "apiKey", in: "query", name: "key", value: "q-secret&" },
        { type: "apiKey", in: "cookie", name: "session", value: "c-secret" },
      ],
    });
    await opened.call("get", { q: "mine" });
    const [received] = opened.backend.received;
    expect(received?.url).toBe("/?q=mine&key=q-secret%26");
    expect(received?.headers).toMatchObject({
      authorization: `Basic ${Buffer.from(`user:${SECRET}`).toString("base64")}`,
      cookie: "session=c-secret; mine",
      "x-tenant": "one",
    });
  });

  test("are not in what a backend repeats of them", async () => {
    const echo: Answer = ({ headers, url }, response) =>
      json(response, url.startsWith("/fails") ? 400 : 200, {
        message: `You sent ${headers.authorization}`,
        [SECRET]: 123456,
      });
    const actions: HttpAction[] = [
      { name: "echo", method: "GET", path: "/echo" },
      { name: "fails", method: "GET", path: "/fails" },
    ];
    await using opened = await open(echo, actions, {
      credentials: [
        { type: "bearer", token: SECRET },
        { type: "apiKey", in: "header", name: "X-Pin", value: "123456" },
      ],
    });
    expect(await opened.call("echo")).toEqual({
      message: "You sent Bearer [hidden]",
      "[hidden]": "[hidden]",
    });
    const error: unknown = await opened.call("fails").catch((thrown: unknown) => thrown);
    const { message, details } = error as { message: string; details: unknown };
    expect(JSON.stringify([message, details])).not.toMatch(/canary|123456/u);
  });

  test.each([
    [401, true, "AUTH_FAILED"],
    [403, true, "AUTH_FAILED"],
    [401, false, "AUTH_REQUIRED"],
    [403, false, "AUTH_REQUIRED"],
  ])("that are refused with %i, sent: %s, are %s", async (status, isSent, code) => {
    await using opened = await open(
      (_, response) => json(response, status, { message: "Go away" }),
      [{ name: "get", method: "GET", path: "/" }],
      isSent ? { credentials: [{ type: "bearer", token: SECRET }] } : {},
    );
    const expected = {
      code,
      message: expect.stringContaining("Go away"),
      details: { status, body: { message: "Go away" } },
    };
    await expect(opened.call("get")).rejects.toMatchObject(expected);
    if (status === 401)
      await expect(opened.connector.check({ signal: nobody })).rejects.toMatchObject({ code });
  });
});

describe("a redirect", () => {
  const get: HttpAction = { name: "get", method: "GET", path: "/start" };
  const post: HttpAction = { name: "post", method: "POST", path: "/start", input: input("a"), body: "json" };

  test("within the origin is followed, with the credentials", async () => {
    const answer: Answer = ({ url }, response) => {
      if (url === "/start") response.writeHead(302, { location: "/end" }).end();
      else json(response, 200, "end");
    };
    await using opened = await open(answer, [get], { credentials: [{ type: "bearer", token: SECRET }] });
    expect(await opened.call("get")).toBe("end");
    expect(opened.backend.received[1]?.headers.authorization).toBe(`Bearer ${SECRET}`);
  });

  test.each([
    [302, "GET", ""],
    [303, "GET", ""],
    [307, "POST", '{"a":1}'],
    [308, "POST", '{"a":1}'],
  ])("with %i goes on with %s", async (status, method, body) => {
    const answer: Answer = ({ url }, response) => {
      if (url === "/start") response.writeHead(status, { location: "end" }).end();
      else json(response, 200, "end");
    };
    await using opened = await open(answer, [post]);
    await opened.call("post", { a: 1 });
    expect(opened.backend.received[1]).toMatchObject({ method, url: "/end" });
    expect(opened.backend.received[1]?.body.toString()).toBe(body);
  });

  test("to another origin is not followed", async () => {
    await using other = await startWebBackend(ok);
    for (const location of [
      `${other.origin}/`,
      other.origin.replace("http:", ""),
      "http://user:pass@127.0.0.1:1/",
    ]) {
      await using opened = await open(
        (_, response) => void response.writeHead(307, { location }).end(),
        [get],
        {
          credentials: [{ type: "bearer", token: SECRET }],
        },
      );
      await expect(opened.call("get")).rejects.toMatchObject({
        code: "DOWNSTREAM_PROTOCOL_ERROR",
        message: expect.stringContaining("another origin"),
      });
    }
    expect(other.received).toEqual([]);
  });

  test("that never ends is given up", async () => {
    await using opened = await open(
      (_, response) => void response.writeHead(302, { location: "/start" }).end(),
      [get],
    );
    await expect(opened.call("get")).rejects.toMatchObject({ code: "DOWNSTREAM_PROTOCOL_ERROR" });
    expect(opened.backend.received).toHaveLength(6);
  });
});

describe("an answer", () => {
  const get: HttpAction = { name: "get", method: "GET", path: "/" };
  const answered = async (
    body: string | Uint8Array,
    headers: Record<string, string>,
    options: Partial<HttpOptions> = {},
  ): Promise<unknown> => {
    await using opened = await open(
      (_, response) => void response.writeHead(200, headers).end(body),
      [get],
      options,
    );
    return await opened.call("get");
  };

  test.each<[string, string | Uint8Array, unknown]>([
    ["application/json", '{"a":[1]}', { a: [1] }],
    ["application/json; charset=utf-8", '"x"', "x"],
    ["application/problem+json", "null", null],
    ["application/json", "", null],
    ["text/plain", "a", "a"],
    ["text/plain; charset=iso-8859-1", new Uint8Array([0xe4]), "ä"],
    ["application/xml", "<a/>", "<a/>"],
    ["text/csv", "", ""],
    ["application/octet-stream", "a", new Bytes(Buffer.from("a"), { mediaType: "application/octet-stream" })],
    ["text/plain; charset=nonsense", "a", new Bytes(Buffer.from("a"), { mediaType: "text/plain" })],
  ])("of type %s is decoded", async (type, body, data) => {
    const found = await answered(body, { "content-type": type });
    if (!(data instanceof Bytes)) return expect(found).toEqual(data);
    expect(found).toBeInstanceOf(Bytes);
    expect(found).toMatchObject({ mediaType: data.mediaType });
    expect(Buffer.from((found as Bytes).bytes)).toEqual(data.bytes);
  });

  test("without a type is text if it can be, and bytes otherwise", async () => {
    expect(await answered("grün", {})).toBe("grün");
    expect(await answered(new Uint8Array([0xff, 0]), {})).toBeInstanceOf(Bytes);
  });

  test("keeps all bytes, and a name without directories", async () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, at) => at);
    const found = await answered(bytes, {
      "content-type": "image/png",
      "content-disposition": 'attachment; filename="../../etc/pass wd"',
    });
    expect(found).toMatchObject({ mediaType: "image/png", filename: "pass wd" });
    expect([...(found as Bytes).bytes]).toEqual([...bytes]);
  });

  test("that is called JSON and is none breaks the protocol", async () => {
    await expect(answered("<html>", { "content-type": "application/json" })).rejects.toMatchObject({
      code: "DOWNSTREAM_PROTOCOL_ERROR",
    });
  });

  test.each([
    ["gzip", gzipSync],
    ["br", brotliCompressSync],
  ] as const)("that is a bomb in %s ends where the bound is", async (encoding, compress) => {
    const bomb = compress(Buffer.alloc(50_000_000, 120));
    expect(bomb.length).toBeLessThan(100_000);
    const headers = { "content-type": "text/plain", "content-encoding": encoding };
    await expect(answered(bomb, headers, { responseBytes: 100_000 })).rejects.toMatchObject({
      code: "RESPONSE_TOO_LARGE",
    });
  });

  test("that never ends is cut off", async () => {
    const endless: Answer = (_, response) => {
      response.writeHead(200, { "content-type": "text/plain" });
      const chunk = Buffer.alloc(65_536, 120);
      const write = (): void => {
        while (!response.destroyed && response.write(chunk));
        if (!response.destroyed) response.once("drain", write);
      };
      write();
    };
    await using opened = await open(endless, [get], { responseBytes: 1_000_000 });
    await expect(opened.call("get")).rejects.toMatchObject({ code: "RESPONSE_TOO_LARGE" });
    await opened.backend.left();
  });

  test("that fails at length is cut, with a sign", async () => {
    const long: Answer = (_, response) => json(response, 500, { message: "x".repeat(1_000_000) });
    await using opened = await open(long, [get]);
    await expect(opened.call("get")).rejects.toMatchObject({
      code: "DOWNSTREAM_TOOL_ERROR",
      details: { status: 500, body: expect.stringMatching(/… \(cut\)$/u) },
    });
  });

  test("says its status and headers, but none for a browser or the connection", async () => {
    const headers = { "content-type": "text/plain", "set-cookie": "a=b", link: '<x>; rel="next"' };
    await using opened = await open((_, response) => void response.writeHead(201, headers).end("a"), [get]);
    const { meta } = await opened.connector.callTool("get", {}, requestOf());
    expect(meta).toMatchObject({ status: 201, headers: { link: '<x>; rel="next"' } });
    expect(meta?.["headers"]).not.toHaveProperty("set-cookie");
  });

  test("to HEAD has no data", async () => {
    await using opened = await open(ok, [{ name: "head", method: "HEAD", path: "/" }]);
    expect(await opened.call("head")).toBe(null);
  });
});

describe("a request is repeated", () => {
  const get: HttpAction = { name: "get", method: "GET", path: "/" };
  const post: HttpAction = { name: "post", method: "POST", path: "/" };
  const keyed: HttpAction = { ...post, idempotencyHeader: "Idempotency-Key" };
  const busy =
    (times: number, headers: Record<string, string> = { "retry-after": "0" }): Answer =>
    (_, response) => {
      if (times-- > 0) json(response, 503, { message: "busy" }, headers);
      else json(response, 200, "done");
    };
  const broken =
    (times: number): Answer =>
    (_, response) => {
      if (times-- > 0) response.destroy();
      else json(response, 200, "done");
    };

  test.each([
    ["when a reading one finds the backend busy", busy(2), get],
    ["when a reading one loses its connection", broken(1), get],
    ["when the API takes a key that makes two one", busy(1), keyed],
    ["when such a one loses its connection", broken(1), keyed],
  ])("%s", async (_, answer, action) => {
    await using opened = await open(answer, [action]);
    expect(await opened.call(action.name)).toBe("done");
    const keys = opened.backend.received.map(({ headers }) => headers["idempotency-key"]);
    expect(keys).toEqual(keys.map(() => (action === keyed ? "key-1" : undefined)));
  });

  test.each([
    ["when it may act twice", busy(1), post, "DOWNSTREAM_TOOL_ERROR", 1],
    ["when it may act twice and its connection is lost", broken(1), post, "SERVER_UNAVAILABLE", 1],
    ["when the backend does not ask for it", busy(1, {}), get, "DOWNSTREAM_TOOL_ERROR", 1],
    [
      "when the backend wants a long pause",
      busy(1, { "retry-after": "3600" }),
      get,
      "DOWNSTREAM_TOOL_ERROR",
      1,
    ],
    ["for ever", busy(9), get, "DOWNSTREAM_TOOL_ERROR", 3],
    ["for ever, without a connection", broken(9), get, "SERVER_UNAVAILABLE", 3],
  ] as const)("but not %s", async (_, answer, action, code, requests) => {
    await using opened = await open(answer, [action]);
    await expect(opened.call(action.name)).rejects.toMatchObject({ code });
    expect(opened.backend.received).toHaveLength(requests);
  });

  test("never beyond its time", async () => {
    await using opened = await open(busy(1, { "retry-after": "10" }), [get], { timeoutMs: 9900 });
    await expect(opened.call("get")).rejects.toMatchObject({ details: { status: 503, retryAfter: "10" } });
  });
});

describe("a backend", () => {
  const get: HttpAction = { name: "get", method: "GET", path: "/" };

  test("that is not there has certainly not acted", async () => {
    const backend = await startWebBackend(ok);
    await backend.stop();
    const connector = http({
      id: "shop",
      card,
      baseUrl: backend.origin,
      actions: [{ ...get, method: "POST" }],
    });
    const error: unknown = await connector
      .callTool("get", {}, requestOf())
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "SERVER_UNAVAILABLE", hasNoEffect: true });
    expect((error as Error).message).not.toContain("127.0.0.1");
  });

  test("that speaks no HTTP is unavailable", async () => {
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.end("this is no HTTP\r\n\r\n");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    const connector = http({
      id: "shop",
      card,
      baseUrl: `http://127.0.0.1:${port}`,
      actions: [{ ...get, method: "POST" }],
    });
    await expect(connector.callTool("get", {}, requestOf())).rejects.toMatchObject({
      code: "SERVER_UNAVAILABLE",
      hasNoEffect: false,
    });
    server.close();
  });

  test.each([
    ["/health", 200, undefined],
    ["/health?deep=1", 204, undefined],
    ["/health", 500, "DOWNSTREAM_TOOL_ERROR"],
    ["/health", 503, "SERVER_UNAVAILABLE"],
    [undefined, 404, undefined],
    [undefined, 502, "SERVER_UNAVAILABLE"],
  ])("whose path %s answers %i is checked: %s", async (checkPath, status, code) => {
    const actions = [get];
    const answer: Answer = (_, response) => void response.writeHead(status).end();
    await using opened = await open(answer, actions, checkPath === undefined ? {} : { checkPath });
    const checked = opened.connector.check({ signal: nobody });
    if (code === undefined) await expect(checked).resolves.toEqual({ tools: 1 });
    else await expect(checked).rejects.toMatchObject({ code });
    expect(opened.backend.received[0]?.url).toBe(checkPath ?? "/");
  });
});
