/** Programs with fetch: what they see, against real servers. */
import type { FetchPolicy, RunEvent } from "codecell";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FETCH_TOOL } from "../../packages/codecell/src/contract/features.ts";
import { echo, failureOf, host, type Options, valueOf } from "./harness.ts";
import { startServer, type WebServer } from "./web-server.ts";

const BINARY = Buffer.from([0xff, 0xfe, 0x00, 0x80]);

let server: WebServer;
/** The origin of a server that was closed. */
let gone: string;
let fetchPolicy: FetchPolicy;

beforeAll(async () => {
  server = await startServer({
    "/json": (response) => response.setHeader("content-type", "application/json").end('{"n":[1,{"é":"ü"}]}'),
    "/echo": (response, { method, headers, body }) => response.end(JSON.stringify({ method, headers, body })),
    "/binary": (response) => response.end(BINARY),
    "/bom": (response) => response.end(Buffer.from([0xef, 0xbb, 0xbf, 0x7b, 0x7d])),
    "/large": (response) => response.end("x".repeat(5000)),
    "/cookies": (response) =>
      response
        .writeHead(
          201,
          "Made",
          [
            ["set-cookie", "a=1"],
            ["X-Two", "1"],
            ["X-Two", "2"],
          ].flat(),
        )
        .end(),
    "/never": () => {},
  });
  const closed = await startServer({});
  gone = closed.origin;
  await closed[Symbol.asyncDispose]();
  fetchPolicy = { allowedOrigins: [server.origin, gone], allowedMethods: ["GET", "HEAD", "POST"] };
});
afterAll(() => server[Symbol.asyncDispose]());

/** Adds constants for the origins of the servers to a program. */
function withServer(program: string): string {
  return `const origin = ${JSON.stringify(server.origin)}, gone = ${JSON.stringify(gone)};\n${program}`;
}

function fetching(program: string, options: Options = {}): Promise<unknown> {
  return valueOf(withServer(program), { fetchPolicy, ...options });
}

describe("a program", () => {
  test("has fetch when its run has a fetch policy, and only then [fetch:policy]", async () => {
    const source = "return [typeof fetch, 'fetch' in globalThis, Object.keys(globalThis).includes('fetch')]";
    expect(await valueOf(source, { fetchPolicy: {} })).toEqual(["function", true, false]);
    expect(await valueOf(source)).toEqual(["undefined", false, false]);
    expect(await valueOf("return [fetch.name, fetch.length, typeof Response]", { fetchPolicy: {} })).toEqual([
      "fetch",
      1,
      "undefined",
    ]);
  });

  test("reads a response as on the web [fetch:policy]", async () => {
    const program = `
      const response = await fetch(new URL("/json?x#f", origin));
      const { ok, status, statusText, url, redirected, bodyUsed } = response;
      return { ok, status, statusText, url: url.slice(origin.length), redirected, bodyUsed,
        type: response.headers.get("Content-Type"), value: await response.json(), used: response.bodyUsed,
        tag: String(response), missing: (await fetch(origin + "/none")).ok };`;
    expect(await fetching(program)).toEqual({
      ok: true,
      status: 200,
      statusText: "OK",
      url: "/json?x",
      redirected: false,
      bodyUsed: false,
      type: "application/json",
      value: { n: [1, { é: "ü" }] },
      used: true,
      tag: "[object Response]",
      missing: false,
    });
  });

  test("gets every byte of a body [attack P24]", async () => {
    const program = `
      const bytes = async (path) => [...await (await fetch(origin + path)).bytes()];
      const buffer = await (await fetch(origin + "/binary")).arrayBuffer();
      return [await bytes("/binary"), [...new Uint8Array(buffer)], buffer.byteLength, await bytes("/bom"),
        await (await fetch(origin + "/bom")).text(), await (await fetch(origin + "/bom")).json(),
        await (await fetch(origin + "/binary")).text()];`;
    const bom = [0xef, 0xbb, 0xbf, 0x7b, 0x7d];
    expect(await fetching(program)).toEqual([
      [...BINARY],
      [...BINARY],
      4,
      bom,
      "{}",
      {},
      "\uFFFD\uFFFD\0\uFFFD",
    ]);
  });

  test("reads a body once, or clones before", async () => {
    const program = `
      const response = await fetch(origin + "/json");
      const copy = response.clone();
      await response.text();
      const again = await response.json().catch((error) => error.name + ": " + error.message);
      let late; try { response.clone() } catch (error) { late = error.name }
      return [again, late, copy.bodyUsed, (await copy.json()).n[0]];`;
    expect(await fetching(program)).toEqual([
      expect.stringMatching(/^TypeError: Cannot read the body: it was already read/u),
      "TypeError",
      false,
      1,
    ]);
  });

  test("cannot change a response", async () => {
    const program = `
      const response = await fetch(origin + "/json");
      const attempt = (action) => { try { return action() } catch (error) { return error.name } };
      return [
        attempt(() => response.headers.set("a", "b")), attempt(() => response.headers.append("a", "b")),
        attempt(() => response.headers.delete("date")), attempt(() => { "use strict"; response.status = 1; }),
        attempt(() => Object.getOwnPropertyDescriptor(response.constructor.prototype, "status").get.call({})),
        attempt(() => { const copy = new Headers(response.headers); copy.set("a", "b"); return copy.get("a") }),
        response.status,
      ];`;
    const refused = "TypeError";
    expect(await fetching(program)).toEqual([refused, refused, refused, refused, refused, "b", 200]);
  });

  test("gets the Response that programs with the web's globals can make themselves [handles:103]", async () => {
    const program = `
      const response = await fetch(origin + "/json");
      const parts = [];
      for await (const chunk of response.clone().body) parts.push(chunk.length);
      return [response instanceof Response, response.type, (await response.blob()).type, parts.length,
        await fetch(origin + "/json").then((one) => one.formData()).catch((error) => error.name)];`;
    const expected = [true, "basic", "application/json", 1, "TypeError"];
    expect(await fetching(program, { webGlobals: true })).toEqual(expected);
    const alone = `const { constructor } = await fetch(origin + "/json"); return [constructor.name, typeof Response]`;
    expect(await fetching(alone)).toEqual(["Response", "undefined"]);
  });

  test("sends a Request, a form, a blob and a stream [handles:103]", async () => {
    const program = `
      const form = new FormData();
      form.append("a", "b");
      const stream = () => new ReadableStream({ start(c) { c.enqueue(new TextEncoder().encode("st")); c.enqueue(new TextEncoder().encode("ream")); c.close() } });
      const sent = [
        fetch(new Request(origin + "/echo", { method: "POST", body: "req", headers: { x: "y" } })),
        fetch(new Request(origin + "/echo", { method: "POST", body: "old" }), { body: "new" }),
        fetch(origin + "/echo", { method: "POST", body: form }),
        fetch(origin + "/echo", { method: "POST", body: new Blob(["blob"], { type: "text/x" }) }),
        fetch(origin + "/echo", { method: "POST", body: stream(), duplex: "half" }),
        fetch(new Request(origin + "/echo", { method: "POST", body: stream(), duplex: "half" })),
      ];
      return await Promise.all(sent.map(async (one) => {
        const { method, headers, body } = await (await one).json();
        return [method, headers["content-type"]?.slice(0, 19), headers.x, body.includes("name=\\"a\\"") ? "form" : body];
      }));`;
    expect(await fetching(program, { webGlobals: true })).toEqual([
      ["POST", "text/plain;charset=", "y", "req"],
      ["POST", "text/plain;charset=", null, "new"],
      ["POST", "multipart/form-data", null, "form"],
      ["POST", "text/x", null, "blob"],
      ["POST", null, null, "stream"],
      ["POST", null, null, "stream"],
    ]);
  });

  test("that aborts while its body is read makes no request [handles:103]", async () => {
    const program = `
      const abort = new AbortController();
      const body = new ReadableStream({ pull() { abort.abort("stop"); return new Promise(() => {}) } });
      const failed = await fetch(origin + "/echo", { method: "POST", body, signal: abort.signal }).catch((reason) => reason);
      const request = new Request(origin + "/echo", { signal: AbortSignal.abort("before") });
      return [failed, await fetch(request).catch((reason) => reason)];`;
    expect(await fetching(program, { webGlobals: true })).toEqual(["stop", "before"]);
  });

  test("sees the headers of a response, but no cookies and no inherited properties [attack P24]", async () => {
    const program = `
      const response = await fetch(origin + "/cookies");
      const seen = [];
      response.headers.forEach((value, name) => seen.push(name));
      const names = ["constructor", "__proto__", "toString", "set-cookie", "X-TWO"];
      return [response.status, response.statusText, names.map((name) => response.headers.get(name)),
        response.headers.has("set-cookie"), seen.includes("x-two"), [...response.headers.entries()].length === seen.length,
        new Map(response.headers).get("x-two"), response.headers.getSetCookie()];`;
    expect(await fetching(program)).toEqual([
      201,
      "Made",
      [null, null, null, null, "1, 2"],
      false,
      true,
      true,
      "1, 2",
      [],
    ]);
  });

  test("can return a response, as far as JSON can carry it", async () => {
    expect(await fetching("return await fetch(origin + '/cookies')")).toEqual({
      ok: true,
      status: 201,
      statusText: "Made",
      url: `${server.origin}/cookies`,
      redirected: false,
      headers: expect.objectContaining({ "x-two": "1, 2" }) as object,
    });
  });

  test.each([
    ["text", "'é'", "Ã©", "text/plain;charset=UTF-8"],
    [
      "a form",
      "new URLSearchParams({ a: 'b c', d: 'é' })",
      "a=b+c&d=%C3%A9",
      "application/x-www-form-urlencoded;charset=UTF-8",
    ],
    ["bytes", "new Uint8Array([1, 255, 254, 0]).subarray(1)", "\u00FF\u00FE\0", undefined],
    ["a buffer", "new Uint8Array([255, 0]).buffer", "\u00FF\0", undefined],
    ["a view", "new DataView(new Uint8Array([9, 255]).buffer, 1)", "\u00FF", undefined],
    ["a number", "7", "7", "text/plain;charset=UTF-8"],
    ["a text object", "new String('x')", "x", "text/plain;charset=UTF-8"],
    ["nothing", "null", "", undefined],
  ])("sends %s as a body", async (_what, body, sent, type) => {
    const program = `return await (await fetch(origin + "/echo", { method: "post", body: ${body} })).json()`;
    const value = (await fetching(program)) as { readonly headers: object };
    expect(value).toMatchObject({ method: "POST", body: sent });
    expect((value.headers as Record<string, unknown>)["content-type"]).toBe(type);
  });

  test.each([
    ["an object", "{ 'X-A': '1', 'content-type': 'a/b' }"],
    ["pairs", "[['x-a', '1'], ['Content-Type', 'a/b']]"],
    ["Headers", "new Headers({ 'x-a': '1', 'content-type': 'a/b' })"],
    ["a Map", "new Map([['x-a', '1'], ['content-type', 'a/b']])"],
  ])("sends headers given as %s, but no headers of the connection", async (_what, headers) => {
    const program = `
      const headers = new Headers(${headers});
      for (const name of ["Host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade"]) headers.set(name, "evil");
      return await (await fetch(origin + "/echo", { method: "POST", body: new URLSearchParams("a"), headers })).json();`;
    expect(await fetching(program)).toMatchObject({
      headers: {
        "x-a": "1",
        "content-type": "a/b",
        host: server.origin.slice(7),
        connection: "keep-alive",
        "content-length": "2",
      },
    });
  });

  test.each([
    ["no URL", "fetch()", /^TypeError: Cannot fetch: 1 argument required/u],
    ["an object as body", "fetch(origin, { method: 'POST', body: { a: 1 } })", /JSON\.stringify\(body\)/u],
    [
      "a line break in a header",
      "fetch(origin, { headers: { a: 'b\\r\\nhost: c' } })",
      /^TypeError: Cannot use the header value/u,
    ],
    [
      "an invalid name of a header",
      "fetch(origin, { headers: { 'a b': 'c' } })",
      /^TypeError: Cannot use the header name/u,
    ],
    [
      "a text in place of options",
      "fetch(origin, 'POST')",
      /^TypeError: Cannot fetch: the second argument is a string/u,
    ],
    [
      "a value that is not a signal",
      "fetch(origin, { signal: {} })",
      /^TypeError: Cannot fetch: the signal is not an AbortSignal/u,
    ],
    ["a symbol as URL", "fetch(Symbol('x'))", /^TypeError: Cannot convert a Symbol/u],
    [
      "options that throw",
      "fetch(origin, { get method() { throw new RangeError('mine') } })",
      /^RangeError: mine/u,
    ],
    ["a relative URL", "fetch('/x')", /^CallError: Cannot fetch "\/x": this is not an absolute URL/u],
    [
      "a body of a GET",
      "fetch(origin, { body: 'x' })",
      /^CallError: Cannot fetch .*a GET request has no body/u,
    ],
    [
      "a method that is not allowed",
      "fetch(origin, { method: 'DELETE' })",
      /the method "DELETE" is not allowed\. Allowed are GET, HEAD, POST$/u,
    ],
    [
      "a header that asks for a refused method",
      "fetch(origin, { headers: { 'x-http-method-override': 'DELETE' } })",
      /asks for a method that is not allowed/u,
    ],
    [
      "a URL that is not allowed",
      "fetch('http://169.254.169.254/')",
      /^CallError: Cannot fetch "http:\/\/169\.254\.169\.254\/": it is not allowed\. Allowed are http/u,
    ],
    [
      "a server that is not there",
      "fetch(gone)",
      /^CallError: Cannot fetch .*the request failed with ECONNREFUSED$/u,
    ],
  ])("gets a rejected promise, and no exception, for %s", async (_what, call, message) => {
    const program = `return await ${call}.then(() => "fetched", (error) => error.name + ": " + error.message)`;
    expect(await fetching(program)).toMatch(message);
  });

  test("gets failures with a code, where it called", async () => {
    const program =
      "try {\n  await fetch('https://evil.test/') } catch (e) { return [e.code, e instanceof Error, e.stack] }";
    expect(await fetching(program)).toEqual([
      "fetch_failed",
      true,
      expect.stringMatching(/^ {4}at .*source:\d+:\d+\)\n$/u),
    ]);
    expect(await failureOf("await fetch('https://evil.test/')", { fetchPolicy: {} })).toMatchObject({
      code: "tool_failed",
      message: expect.stringMatching(
        /^A fetch failed and the program did not catch it: Cannot fetch .*\(line 1, column \d+\)$/u,
      ) as string,
      details: { tool: FETCH_TOOL, call: { code: "fetch_failed" } },
    });
  });

  test("that redefines everything it can still fetches [attack P2]", async () => {
    const program = `
      globalThis.JSON = { stringify() { return "null" }, parse: JSON.parse };
      Object.defineProperty(Object.prototype, "body", { get() { return "mine" }, configurable: true });
      Array.prototype.push = Map.prototype.get = String.prototype.slice = () => { throw new Error("replaced") };
      Headers.prototype.get = undefined; URLSearchParams.prototype.toString = () => "evil";
      const response = await fetch(origin + "/echo", { method: "POST", body: new URLSearchParams("a=b"), headers: { x: "y" } });
      delete Object.prototype.body;
      const value = await response.json();
      return [value.body, value.headers.x];`;
    expect(await fetching(program)).toEqual(["a=b", "y"]);
  });

  test("may have tools called fetch, and cannot get around its own fetch", async () => {
    const program = `return [
      await tools.fetch({ a: 1 }), (await fetch(origin + "/json")).status,
      await tools["${FETCH_TOOL}"]({ url: origin }).catch((error) => [error.code, error.message]),
    ]`;
    const tools = { fetch: { execute: (input: unknown) => ["mine", input] } };
    expect(await fetching(program, { tools })).toEqual([
      ["mine", { a: 1 }],
      200,
      [
        "unknown_tool",
        `Cannot call tool "${FETCH_TOOL}": no such tool, it is a function of its own: await fetch(url)`,
      ],
    ]);
  });

  test("has fetch in the catalog profile as well", async () => {
    const catalog = { names: new Set(["echo"]), allTools: () => "[]" };
    const program = `
      const hidden = await tools.call("${FETCH_TOOL}", { url: origin }).catch((error) => error.code);
      return [(await fetch(origin + "/json")).status, await tools.echo({ a: 1 }), hidden];`;
    expect(await fetching(program, { tools: echo, catalog })).toEqual([200, { a: 1 }, "unknown_tool"]);
  });
});

describe("an abort in the program", () => {
  test("before the fetch makes no request", async () => {
    const before = server.seen.length;
    const program = `
      const named = await fetch(origin + "/json", { signal: AbortSignal.abort() }).catch((error) => error.name);
      const own = await fetch(origin + "/json", { signal: AbortSignal.abort("why") }).catch((error) => error);
      return [named, own];`;
    expect(await fetching(program)).toEqual(["AbortError", "why"]);
    expect(server.seen).toHaveLength(before);
  });

  test("during the fetch rejects its promise, and the outcome of the call is ignored", async () => {
    const program = `
      const abort = new AbortController();
      const large = fetch(origin + "/json", { signal: abort.signal }).catch((error) => error.name);
      const denied = fetch("https://evil.test/", { signal: abort.signal }).catch((error) => error.name);
      abort.abort();
      return await Promise.all([large, denied]);`;
    expect(await fetching(program)).toEqual(["AbortError", "AbortError"]);
  });

  test("by a timeout rejects the promise", async () => {
    const program = `return await fetch(origin + "/never", { signal: AbortSignal.timeout(20) }).catch((error) => { throw error.name })`;
    expect(await failureOf(withServer(program), { fetchPolicy })).toMatchObject({
      message: expect.stringContaining("TimeoutError") as string,
    });
  });

  test.each(["wait", "fail"] as const)(
    "ends the fetch: the program goes on and returns, and the request ends with the run (%s)",
    async (detachedCalls) => {
      const program = `
        const lost = await fetch(origin + "/never", { signal: AbortSignal.timeout(1) }).catch((error) => error.name);
        return [lost, (await fetch(origin + "/json")).status];`;
      const handle = host.start({ source: withServer(program), fetchPolicy, detachedCalls });
      const value = ["TimeoutError", 200];
      expect(await handle.result).toMatchObject({ status: "completed", value });
      expect(await host.replay(handle.ledger()).result).toMatchObject({ status: "completed", value });
    },
  );

  test("ends one fetch, and the others are still waited for", async () => {
    const program = `
      const abort = new AbortController();
      const lost = fetch(origin + "/never", { signal: abort.signal }).catch((error) => error.name);
      tools.echo(1).then(() => console.log("waited for"));
      abort.abort();
      return await lost;`;
    const { result } = host.start({ source: withServer(program), fetchPolicy, tools: echo });
    expect(await result).toMatchObject({ value: "AbortError", logs: [{ text: "waited for" }] });
    expect(
      await failureOf(withServer(program), { fetchPolicy, tools: echo, detachedCalls: "fail" }),
    ).toMatchObject({ code: "detached_call", details: { tool: "echo", state: "pending" } });
  });

  test("cannot be faked by changed prototypes", async () => {
    const program = `
      Object.prototype[0] = true;
      Object.prototype.givenUp = true;
      void fetch(origin + "/never").then(() => {});
      return 1;`;
    expect(await failureOf(withServer(program), { fetchPolicy, detachedCalls: "fail" })).toMatchObject({
      code: "detached_call",
      message: expect.stringContaining("while its call of fetch was still pending (line 5") as string,
    });
  });

  test("is not needed when a run's time is up: the failure says that the run waited for fetch", async () => {
    // Long enough for the program to reach its fetch on a busy machine.
    const limits = { wallTimeMs: 2000 };
    expect(
      await failureOf(withServer('return await fetch(origin + "/never")'), { fetchPolicy, limits }),
    ).toMatchObject({
      code: "timeout",
      message: expect.stringContaining("while waiting for fetch:") as string,
    });
  });

  test("after the fetch changes nothing", async () => {
    const program = `
      const abort = new AbortController();
      const response = await fetch(origin + "/json", { signal: abort.signal });
      abort.abort();
      return (await response.json()).n.length;`;
    expect(await fetching(program)).toBe(2);
  });
});

describe("a fetch is a call", () => {
  test("in the events, under its own name, without asking authorize [fetch:call]", async () => {
    const source = withServer(
      `await fetch(origin + "/json", { headers: { a: "b" } }); await fetch("https://evil.test/").catch(() => {}); return await tools.echo(1)`,
    );
    const asked: string[] = [];
    const handle = host.start({
      source,
      fetchPolicy,
      tools: echo,
      authorize: ({ tool }) => {
        asked.push(tool);
        return "allow";
      },
    });
    const events: RunEvent[] = [];
    for await (const event of handle.events) events.push(event);
    expect(events.filter(({ type }) => type.startsWith("call-"))).toMatchObject([
      {
        type: "call-start",
        index: 0,
        tool: FETCH_TOOL,
        input: { url: `${server.origin}/json`, method: "GET", headers: { a: "b" } },
      },
      { type: "call-end", index: 0, outcome: { status: "completed" } },
      { type: "call-start", index: 1, tool: FETCH_TOOL },
      { type: "call-end", index: 1, outcome: { status: "failed", failure: { code: "fetch_failed" } } },
      { type: "call-start", index: 2, tool: "echo" },
      { type: "call-end", index: 2 },
    ]);
    expect(asked).toEqual(["echo"]);
    expect((await handle.result).stats.calls).toBe(3);
  });

  test("within the limits of calls [fetch:call]", async () => {
    const many = withServer("for (let n = 0; n < 5; n++) await fetch(origin + '/json'); return 1");
    expect(await failureOf(many, { fetchPolicy, limits: { calls: 4 } })).toMatchObject({
      code: "call_limit",
    });
    const large =
      "return await fetch(origin + '/echo', { method: 'POST', body: 'x'.repeat(3000) }).catch((error) => error.code)";
    expect(await fetching(large, { limits: { callInputBytes: 2000 } })).toBe("input_limit");
    const output = "return await fetch(origin + '/large').catch((error) => [error.code, error.message])";
    expect(await fetching(output, { limits: { callOutputBytes: 2000 } })).toEqual([
      "fetch_failed",
      expect.stringContaining("2000 bytes that limits.callOutputBytes allows"),
    ]);
  });

  test("whose response may be larger than a result", async () => {
    expect(
      await fetching("return (await (await fetch(origin + '/large')).text()).length", {
        limits: { resultBytes: 100 },
      }),
    ).toBe(5000);
  });

  test("that runs in parallel with others, up to the limit", async () => {
    const program =
      "return (await Promise.all(Array.from({ length: 60 }, () => fetch(origin + '/json').then((r) => r.json())))).length";
    expect(await fetching(program, { limits: { callsInFlight: 8 } })).toBe(60);
  });

  test("that is finished before the run ends, also if nobody awaits it", async () => {
    const before = server.seen.length;
    await fetching("fetch(origin + '/json?unawaited'); return 1");
    expect(server.seen.slice(before).map(({ url }) => url)).toEqual(["/json?unawaited"]);
  });
});
