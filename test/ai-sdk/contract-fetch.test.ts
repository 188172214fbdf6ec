/** The contract's section on fetch: its block runs, and each of its rules holds, against a real server. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tool } from "ai";
import * as codeMode from "codecell/ai";
import { type CodeModeFetchPolicy, runCodeMode } from "codecell/ai";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { blockOf, runBlock } from "./contract/readme.ts";

const OUTER = { toolCallId: "call_1", messages: [] };
const BYTES = [0xff, 0xfe, 0x00, 0x80];

let server: Server;
let origin: string;
let elsewhere: string;
const requests: string[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    requests.push(`${request.method} ${request.headers.host} ${request.url}`);
    if (request.url === "/away") response.writeHead(302, { location: `${elsewhere}/json` }).end();
    else if (request.url === "/hop") response.writeHead(302, { location: "/json" }).end();
    else if (request.url?.startsWith("/hops")) response.writeHead(302, { location: `${request.url}x` }).end();
    else if (request.url === "/bytes") response.end(Buffer.from(BYTES));
    else if (request.url === "/endless") {
      // Says no length, and never ends.
      const write = (): void =>
        void (response.destroyed || (response.write("x".repeat(1000)), setImmediate(write)));
      write();
    } else response.writeHead(200, { "x-kind": "test" }).end('{"a":1}');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  origin = `http://127.0.0.1:${port}`;
  elsewhere = `http://localhost:${port}`;
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

afterEach(() => vi.unstubAllGlobals());

const run = async (js: string, policy: CodeModeFetchPolicy = {}): Promise<unknown> =>
  runCodeMode({
    js: js.replaceAll("ORIGIN", origin),
    tools: {},
    options: { fetchPolicy: { allowedOrigins: [origin], ...policy } },
  });

/** Its status, or the name of what it fails with. */
const tryFetch = async (url: string, policy: CodeModeFetchPolicy = {}, init = "{}"): Promise<unknown> =>
  run(
    `return await fetch(${JSON.stringify(url)}, ${init}).then((r) => r.status, (e) => e.name + " " + e.code)`,
    policy,
  );

const REFUSED = "CodeModeFetchError CODE_MODE_FETCH_ERROR";

describe("the contract's README on fetch", () => {
  test("its block: a host's fetch, under the policy that it names", async () => {
    const asked: unknown[] = [];
    vi.stubGlobal("fetch", async (url: string, init: RequestInit) => {
      asked.push([url, init.method]);
      return new Response("x".repeat(url.endsWith("/large") ? 256 * 1024 + 1 : 3));
    });
    const made = await runBlock(blockOf("Fetch"), {
      imports: 'import { createCodeModeTool } from "experimental-ai-sdk-code-mode";',
      free: { tools: {} },
      gives: ["codeMode"],
    });
    const js = `const name = (e) => e.name; const at = "https://api.example.com";
      return [
        await (await fetch(at + "/a")).text(),
        (await fetch(at + "/a", { method: "POST", body: "b" })).status,
        await fetch(at + "/a", { method: "DELETE" }).catch(name),
        await fetch("https://example.com/").catch(name),
        await fetch(at + "/large").then((r) => r.text()).catch(name),
      ]`;
    const refused = "CodeModeFetchError";
    const output = await (made["codeMode"] as codeMode.CodeModeTool).execute({ js }, OUTER);
    expect(output).toEqual(["xxx", 200, refused, refused, refused]);
    expect(asked.slice(0, 2)).toEqual([
      ["https://api.example.com/a", "GET"],
      ["https://api.example.com/a", "POST"],
    ]);
  });

  test("URLs must be http or https, and match an origin or a prefix", async () => {
    expect(await tryFetch("ORIGIN/json")).toBe(200);
    for (const url of ["file:///etc/passwd", "data:text/plain,x", "ftp://127.0.0.1/", `${elsewhere}/json`]) {
      expect(await tryFetch(url)).toBe(REFUSED);
    }
    const prefix = { allowedOrigins: [], allowedUrlPrefixes: [`${origin}/api`] };
    expect(await tryFetch("ORIGIN/api/x?q=1", prefix)).toBe(200);
    expect(await tryFetch("ORIGIN/apis", prefix)).toBe(REFUSED);
    expect(await tryFetch("ORIGIN/api/../json", prefix)).toBe(REFUSED);
  });

  test("prefixes with a query or a fragment are rejected", async () => {
    for (const end of ["?q=1", "#here"]) {
      const allowedUrlPrefixes = [`${origin}/api${end}`];
      await expect(run("return 1", { allowedUrlPrefixes })).rejects.toThrow(/allowedUrlPrefixes/u);
    }
  });

  test("GET and HEAD are allowed unless others are", async () => {
    const withMethod = async (method: string, policy: CodeModeFetchPolicy = {}): Promise<unknown> =>
      tryFetch("ORIGIN/json", policy, `{ method: "${method}" }`);
    expect([await withMethod("GET"), await withMethod("HEAD")]).toEqual([200, 200]);
    expect([await withMethod("POST"), await withMethod("DELETE")]).toEqual([REFUSED, REFUSED]);
    expect(await withMethod("post", { allowedMethods: ["POST"] })).toBe(200);
    expect(await withMethod("GET", { allowedMethods: ["POST"] })).toBe(REFUSED);
  });

  test("redirects are not followed unless allowed, and each is subject to the policy", async () => {
    expect(await tryFetch("ORIGIN/hop")).toBe(302);
    expect(await run("const r = await fetch('ORIGIN/hop'); return r.url", { allowRedirects: true })).toBe(
      `${origin}/json`,
    );
    const before = requests.length;
    expect(await tryFetch("ORIGIN/away", { allowRedirects: true })).toBe(REFUSED);
    expect(requests.slice(before)).toEqual([`GET ${new URL(origin).host} /away`]);
    const start = requests.length;
    expect(await tryFetch("ORIGIN/hops", { allowRedirects: true, maxRedirects: 3 })).toBe(REFUSED);
    expect(requests.slice(start)).toHaveLength(4);
    const first = requests.length;
    expect(await tryFetch("ORIGIN/hops", { allowRedirects: true })).toBe(REFUSED);
    expect(requests.slice(first), "maxRedirects is 10").toHaveLength(11);
  });

  test("bodies are limited while they stream, and before they enter the sandbox; 1 MiB by default", async () => {
    expect(await tryFetch("ORIGIN/endless", { maxResponseBytes: 10_000 })).toBe(REFUSED);
    expect(await tryFetch("ORIGIN/endless")).toBe(REFUSED);
    // A response without a stream of its own.
    const whole = {
      headers: new Headers(),
      status: 200,
      statusText: "",
      url: "",
      body: undefined,
      text: async () => "x".repeat(50),
    };
    const fetch = async (): Promise<Response> => whole as unknown as Response;
    expect(await tryFetch("ORIGIN/json", { fetch, maxResponseBytes: 10 })).toBe(REFUSED);
    const exactly = async (): Promise<Response> => new Response("x".repeat(1024 * 1024));
    expect(await run("return (await (await fetch('ORIGIN/')).text()).length", { fetch: exactly })).toBe(
      1024 * 1024,
    );
  });

  test("a response has what it is said to have", async () => {
    const js = `const r = await fetch("ORIGIN/json");
      return { ok: r.ok, status: r.status, statusText: r.statusText, url: r.url, kind: r.headers.get("X-Kind"),
        entries: [...r.headers.entries()].filter(([name]) => name === "x-kind"), text: await r.text(),
        json: await (await fetch("ORIGIN/json")).json(),
        bytes: [...new Uint8Array(await (await fetch("ORIGIN/bytes")).arrayBuffer())],
        odd: r.headers.get("constructor") }`;
    expect(await run(js)).toEqual({
      ok: true,
      status: 200,
      statusText: "OK",
      url: `${origin}/json`,
      kind: "test",
      entries: [["x-kind", "test"]],
      text: '{"a":1}',
      json: { a: 1 },
      bytes: BYTES,
      odd: null,
    });
  });

  test("fetches are told to hooks and the trace, counted, and not repeated by a continuation", async () => {
    const told: string[] = [];
    const ask = tool({ inputSchema: z.object({}), needsApproval: true, execute: async () => "asked" });
    const lifecycle: codeMode.CodeModeLifecycle = {
      onFetchRequest: ({ url, method, bridgeIndex }) => void told.push(`${bridgeIndex} ${method} ${url}`),
      onFetchResult: ({ status, replayed }) => void told.push(`${status} ${replayed}`),
      onTrace: ({ bridgeRequests }) => void told.push(bridgeRequests.map(({ kind }) => kind).join()),
    };
    const fetchPolicy = { allowedOrigins: [origin] };
    const options = { lifecycle, fetchPolicy, approval: { mode: "interrupt" } } as const;
    const before = requests.length;
    const js = `const { a } = await (await fetch("${origin}/json")).json(); return [a, await tools.ask({})]`;
    const interrupt = (await runCodeMode({
      js,
      tools: { ask },
      options,
    })) as codeMode.CodeModeApprovalInterrupt;
    const approvalResponse = { approvalId: interrupt.interruptId, approved: true };
    const done = codeMode.continueCodeModeApproval({ interrupt, approvalResponse, tools: { ask }, options });
    expect(await done).toEqual([1, "asked"]);
    expect(requests).toHaveLength(before + 1);
    const asked = `1 GET ${origin}/json`;
    expect(told).toEqual([asked, "fulfilled false", "fetch,tool", asked, "fulfilled true", "fetch,tool"]);
    const limited = runCodeMode({
      js: `await fetch("${origin}/json"); await fetch("${origin}/json"); return 1`,
      tools: {},
      options: { fetchPolicy, executionPolicy: { maxBridgeRequests: 1 } },
    });
    await expect(limited).rejects.toThrow(codeMode.CodeModeBridgeLimitError);
  });

  test("an error of the host's fetch is told without its stack; the host is told all of it", async () => {
    const failing = async (): Promise<Response> => {
      throw Object.assign(new TypeError("down", { cause: "secret" }), { secret: "secret" });
    };
    const js = `return await fetch("ORIGIN/").catch((e) => JSON.stringify([e.name, e.message, e.code, e.stack, { ...e }]))`;
    const text = String(await run(js, { fetch: failing }));
    expect(text).toContain("CODE_MODE_FETCH_ERROR");
    expect(text).not.toMatch(/secret|contract-fetch|node_modules/u);
    const told: unknown[] = [];
    const lifecycle: codeMode.CodeModeLifecycle = {
      onFetchResult: (event) => void told.push(event.status === "rejected" ? event.error : undefined),
      onTrace: ({ bridgeRequests }) => void told.push(bridgeRequests[0]?.error),
    };
    const fetchPolicy = { allowedOrigins: [origin], fetch: failing };
    const js2 = `return await fetch("${origin}/")`;
    const running = runCodeMode({ js: js2, tools: {}, options: { fetchPolicy, lifecycle } });
    const full = { code: "CODE_MODE_FETCH_ERROR", cause: { message: "down", secret: "secret" } };
    await expect(running).rejects.toMatchObject(full);
    await expect(running).rejects.toThrow(codeMode.CodeModeFetchError);
    const [event, entry] = told as { details: { cause: { stack: string } } }[];
    expect(event).toMatchObject(full);
    expect(entry?.details.cause.stack).toContain("contract-fetch");
  });

  test("a model is shown fetches where asked for, without what was fetched", async () => {
    const modelOutput = { includeNestedToolSummary: true, includeFetchSummary: true };
    const fetchPolicy = { allowedOrigins: [origin] };
    const made = codeMode.createCodeModeTool({}, { fetchPolicy, modelOutput });
    const input = { js: `return (await fetch("${origin}/json")).status` };
    const output = await made.execute(input, OUTER);
    const shown = await made.toModelOutput?.({ toolCallId: "call_1", input, output });
    const fetched = {
      kind: "fetch",
      url: `${origin}/json`,
      method: "GET",
      status: "fulfilled",
      replayed: false,
    };
    expect(shown).toEqual({ type: "json", value: { result: 200, nestedTools: [fetched] } });
  });
});
