import { describe, expect, test } from "vitest";
import { resolveFetchPolicy } from "./policy.ts";
import { type FetchRequest, parseRequest, redirected } from "./request.ts";
import { CallRefusal } from "../calls/call-failure.ts";

const policy = resolveFetchPolicy({
  allowedOrigins: ["https://a.example", "https://b.example"],
  allowedMethods: ["GET", "HEAD", "POST", "PUT"],
});
const url = "https://a.example/x";

function requestOf(input: object): FetchRequest {
  return parseRequest({ url, ...input }, policy).request;
}

function refusalOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof CallRefusal) return error.message;
    throw error;
  }
  throw new Error("Not refused");
}

describe("what a program asks for", () => {
  test("is sent as it was checked", () => {
    const { request, redirect } = parseRequest(
      { url: `${url}#f`, method: "post", headers: { "X-A": "1" }, body: "b", redirect: "manual" },
      policy,
    );
    expect(request).toEqual({
      url: new URL(url),
      method: "POST",
      headers: new Map([["x-a", "1"]]),
      body: "b",
    });
    expect(redirect).toBe("manual");
    expect(requestOf({ method: "PUT", bodyBase64: "//4AgA==" }).body).toEqual(
      new Uint8Array([0xff, 0xfe, 0, 0x80]),
    );
  });

  test.each([
    "Host",
    "connection",
    "Content-Length",
    "TRANSFER-ENCODING",
    "te",
    "Trailer",
    "upgrade",
    "expect",
    "keep-alive",
    "proxy-connection",
    "Proxy-Authorization",
    "http2-settings",
    "content_length",
  ])("the header %s is left out: it belongs to the connection", (name) => {
    expect([...requestOf({ headers: { [name]: "x", "x-b": "2" } }).headers]).toEqual([["x-b", "2"]]);
  });

  test.each<[string, object]>([
    ["a line break", { "x-a": "1\r\nhost: evil" }],
    ["a line feed", { "x-a": "1\nhost: evil" }],
    ["a NUL", { "x-a": "\0" }],
    ["DEL", { "x-a": "\u007F" }],
    ["a character beyond bytes", { "x-a": "\u010a" }],
    ["a name with a line break", { "x\r\ny": "1" }],
    ["a name with a colon", { "x:y": "1" }],
    ["an empty name", { "": "1" }],
    ["a name of other letters", { é: "1" }],
    ["a value that is not a text", { "x-a": 1 }],
    ["too long", { "x-a": "a".repeat(70_000) }],
    ["too many", Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`x-${n}`, "1"]))],
    ["another method than the policy saw", { "X-HTTP-Method-Override": "DELETE" }],
    ["another method, differently", { "x-method-override": " patch" }],
    ["another path than the policy saw", { "X-Original-URL": "/admin" }],
    ["another path, differently", { "x-rewrite-url": "/admin" }],
    ["another path, with underscores that some servers read as dashes", { X_Original_URL: "/admin" }],
    ["several methods", { "x-http-method": "GET, DELETE" }],
  ])("headers with %s are refused", (_what, headers) => {
    expect(refusalOf(() => requestOf({ headers }))).toMatch(/^Cannot fetch "https:\/\/a\.example\/x": /u);
  });

  test("a method that is allowed may be asked for by a header", () => {
    expect(requestOf({ headers: { "x-http-method-override": "put" } }).headers.size).toBe(1);
  });

  test("a header called __proto__ is a header", () => {
    const headers = JSON.parse('{"__proto__":"1","constructor":"2"}') as object;
    expect([...requestOf({ headers }).headers]).toEqual([
      ["__proto__", "1"],
      ["constructor", "2"],
    ]);
  });

  test.each<[string, object]>([
    ["DELETE", { method: "DELETE" }],
    ["TRACE", { method: "TRACE" }],
    ["no method", { method: "GET /x HTTP/1.1\r\nhost: evil" }],
    ["a number", { method: 7 }],
    ["a body of a GET", { body: "x" }],
    ["an empty body of a GET", { body: "" }],
    ["a body of a HEAD", { method: "HEAD", bodyBase64: "" }],
    ["an object as body", { method: "POST", body: {} }],
    ["no list of headers", { headers: "x" }],
    ["an odd way with redirects", { redirect: "maybe" }],
    ["no URL", { url: 7 }],
  ])("%s is refused", (_what, input) => {
    expect(refusalOf(() => requestOf(input))).toMatch(/^Cannot fetch /u);
  });

  test("a refused method tells which are allowed", () => {
    expect(refusalOf(() => requestOf({ method: "DELETE" }))).toContain("Allowed are GET, HEAD, POST, PUT");
  });
});

describe("a redirect", () => {
  const headers = new Map(
    Object.entries({
      accept: "a",
      authorization: "Bearer SECRET",
      cookie: "c",
      "x-api-key": "k",
      "x-custom": "v",
      "content-type": "t",
      "user-agent": "u",
    }),
  );
  const request: FetchRequest = { url: new URL(url), method: "POST", headers, body: "b" };
  const follow = (from: FetchRequest, status: number, location: string, under = policy): FetchRequest =>
    redirected(from, { status, location, from: from.url }, under);

  test.each([
    [301, "POST", "GET"],
    [302, "POST", "GET"],
    [303, "POST", "GET"],
    [303, "PUT", "GET"],
    [303, "HEAD", "HEAD"],
    [301, "PUT", "PUT"],
    [302, "HEAD", "HEAD"],
    [307, "POST", "POST"],
    [308, "PUT", "PUT"],
  ])("%d of a %s is followed by a %s", (status, method, next) => {
    const body = method === "HEAD" ? undefined : "b";
    const followed = follow({ ...request, method, body }, status, "/y");
    expect(followed).toMatchObject({ method: next, body: next === method ? body : undefined });
    expect(followed.url.href).toBe("https://a.example/y");
    expect(followed.headers.has("content-type")).toBe(next === method);
    expect(followed.headers.get("authorization")).toBe("Bearer SECRET");
  });

  test("to another origin loses all headers that may be meant for the first origin [attack P22]", () => {
    const { headers: left } = follow(request, 302, "https://b.example/y");
    expect([...left.keys()]).toEqual(["accept", "user-agent"]);
  });

  test("after a redirect that the host's fetch followed itself, credentials depend on the request's own URL [attack P22]", () => {
    const elsewhere = { status: 302, location: "/z", from: new URL("https://b.example/y") };
    const followed = redirected(request, elsewhere, policy);
    expect(followed.url.href).toBe("https://b.example/z");
    expect([...followed.headers.keys()]).toEqual(["accept", "user-agent"]);
  });

  test("that is refused names the URL that redirects", () => {
    expect(refusalOf(() => follow(request, 302, "https://c.example/"))).toMatch(
      /^Cannot fetch "https:\/\/c\.example\/": it is not allowed\. Allowed are .*\. "https:\/\/a\.example\/x" redirects there$/u,
    );
  });

  test("to another origin never takes the body along [attack P22]", () => {
    for (const status of [307, 308]) {
      expect(refusalOf(() => follow(request, status, "https://b.example/y"))).toContain(
        "not sent to another origin",
      );
    }
    const bare = { ...request, body: undefined };
    expect(follow(bare, 307, "https://b.example/y").method).toBe("POST");
  });

  test.each([
    "https://c.example/",
    "http://a.example/x",
    "ftp://a.example/",
    "//evil.test/x",
    "https://me@b.example/",
  ])("to %s is refused", (location) => {
    expect(refusalOf(() => follow(request, 302, location))).toMatch(/^Cannot fetch /u);
  });

  test("to a method that is not allowed is refused", () => {
    const posting = resolveFetchPolicy({ allowedOrigins: ["https://a.example"], allowedMethods: ["POST"] });
    expect(refusalOf(() => follow(request, 303, "/y", posting))).toContain('the method "GET" is not allowed');
  });
});
