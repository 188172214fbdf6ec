import { describe, expect, test } from "vitest";
import type { CallContext } from "../contract/tool.ts";
import { AddressRefused } from "./guarded-fetch.ts";
import { createFetchTool } from "./fetch-tool.ts";
import { type FetchPolicy, resolveFetchPolicy } from "./policy.ts";
import { CallRefusal } from "../calls/call-failure.ts";

type Given = (url: string, init: RequestInit) => unknown;

const ORIGIN = "https://a.example";

interface Options extends Omit<FetchPolicy, "fetch"> {
  readonly input?: object;
  readonly callOutputBytes?: number;
  readonly signal?: AbortSignal;
}

/** What a program gets for a URL when `given` is the host's fetch. */
async function fetched(given: Given, options: Options = {}): Promise<Record<string, unknown>> {
  const { input, callOutputBytes = 100_000, signal = new AbortController().signal, ...policy } = options;
  const fetch = (async (url: string, init: RequestInit) => given(url, init)) as typeof globalThis.fetch;
  const resolved = resolveFetchPolicy({ allowedOrigins: [ORIGIN], ...policy, fetch });
  const tool = createFetchTool(resolved, { callOutputBytes });
  const call = { signal } as unknown as CallContext;
  return (await tool.execute({ url: `${ORIGIN}/x`, ...input }, call)) as Record<string, unknown>;
}

async function refused(given: Given, options: Options = {}): Promise<string> {
  const error: unknown = await fetched(given, options).then(
    () => new Error("Not refused"),
    (reason: unknown) => reason,
  );
  if (!(error instanceof CallRefusal)) throw error;
  expect(error.code).toBe("fetch_failed");
  return error.message;
}

const redirectTo = (location: string, status = 302): Response =>
  new Response("moved", { status, headers: { location } });

describe("the host's fetch", () => {
  test("gets the request that was checked, and is told not to follow redirects", async () => {
    let seen: unknown;
    await fetched(
      (url, { signal, ...init }) => {
        seen = { url, init, isSignal: signal instanceof AbortSignal };
        return new Response("ok");
      },
      { input: { headers: { "X-A": "1", host: "evil" }, method: "get" } },
    );
    expect(seen).toEqual({
      url: "https://a.example/x",
      init: { method: "GET", headers: { "x-a": "1" }, redirect: "manual" },
      isSignal: true,
    });
  });

  test("that ends at another URL is refused, also if its response denies a redirect", async () => {
    const ended = (): Response =>
      Object.defineProperties(new Response("x"), { url: { value: `${ORIGIN}/elsewhere` } });
    expect(await refused(ended)).toContain("redirects are not allowed");
    expect(await fetched(ended, { allowRedirects: true })).toMatchObject({ url: `${ORIGIN}/elsewhere` });
  });

  test("that follows redirects all the same has to end at an allowed URL", async () => {
    const ended = (url: string): Response =>
      Object.defineProperties(new Response("x"), { url: { value: url }, redirected: { value: true } });
    expect(await refused(() => ended("https://evil.test/"), { allowRedirects: true })).toContain("evil.test");
    expect(await refused(() => ended(`${ORIGIN}/y`))).toContain("redirects are not allowed");
    expect(await fetched(() => ended(`${ORIGIN}/y`), { allowRedirects: true })).toMatchObject({
      url: `${ORIGIN}/y`,
      redirected: true,
    });
  });

  test("that hides where a redirect leads is refused", async () => {
    const opaque = { type: "opaqueredirect", status: 0, headers: new Headers(), url: "", body: null };
    expect(await refused(() => opaque, { allowRedirects: true })).toContain("it redirects");
  });

  test.each<[string, unknown]>([
    ["nothing", undefined],
    ["a text", "hello"],
    ["an object that is not a response", { status: "200" }],
    ["a response without headers", { status: 200, body: null }],
  ])("that gives %s fails", async (_what, response) => {
    expect(await refused(() => response)).toContain("the host's fetch gave no response");
  });

  test("may give something simpler than a Response", async () => {
    const headers = new Headers({ "Content-Type": "text/plain" });
    expect(await fetched(() => ({ status: 200, headers, text: async () => "hi" }))).toEqual({
      url: "https://a.example/x",
      status: 200,
      statusText: "",
      redirected: false,
      headers: { "content-type": "text/plain" },
      body: "hi",
    });
  });

  test("that fails tells a code, and no words, addresses or causes", async () => {
    const failing = (error: unknown) => () => {
      throw error;
    };
    const cause = Object.assign(new Error("connect ECONNREFUSED 10.1.2.3:443"), { code: "ECONNREFUSED" });
    expect(await refused(failing(new TypeError("fetch failed", { cause })))).toBe(
      'Cannot fetch "https://a.example/x": the request failed with ECONNREFUSED',
    );
    const several = new AggregateError([null, "SECRET", cause], "SECRET");
    expect(await refused(failing(new TypeError("fetch failed", { cause: several })))).toContain(
      "ECONNREFUSED",
    );
    expect(await refused(failing(new Error("SECRET")))).toBe(
      'Cannot fetch "https://a.example/x": the request failed',
    );
    expect(await refused(failing("SECRET"))).not.toContain("SECRET");
    const odd = Object.assign(new Error("x"), { code: "/etc/passwd SECRET" });
    expect(await refused(failing(odd))).not.toContain("SECRET");
    expect(await refused(failing(new TypeError("x", { cause: new AddressRefused("y") })))).toContain(
      "not on the public internet",
    );
  });

  test("that ignores its signal is not waited for", async () => {
    const abort = new AbortController();
    const waiting = refused(() => new Promise(() => {}), { signal: abort.signal });
    abort.abort();
    expect(await waiting).toContain("the run has ended");
  });
});

describe("redirects", () => {
  test("are given to the program as responses unless the policy follows them [fetch:redirects]", async () => {
    const urls: string[] = [];
    const response = await fetched((url) => {
      urls.push(url);
      return redirectTo("/y");
    });
    expect(response).toMatchObject({
      status: 302,
      redirected: false,
      headers: { location: "/y" },
      body: "moved",
    });
    expect(urls).toEqual([`${ORIGIN}/x`]);
  });

  test("are followed hop by hop, each under the policy [fetch:redirects]", async () => {
    const hops: Record<string, string> = {
      "/x": "/y",
      "/y": "https://b.example/z",
      "/z": "https://evil.test/",
    };
    const urls: string[] = [];
    const given: Given = (url) => {
      urls.push(url);
      return redirectTo(hops[new URL(url).pathname] ?? "");
    };
    const options = { allowRedirects: true, allowedOrigins: [ORIGIN, "https://b.example"] };
    expect(await refused(given, options)).toContain('Cannot fetch "https://evil.test/": it is not allowed');
    expect(urls).toEqual([`${ORIGIN}/x`, `${ORIGIN}/y`, "https://b.example/z"]);
  });

  test("end after maxRedirects", async () => {
    let requests = 0;
    const loop: Given = () => {
      requests++;
      return redirectTo("/x");
    };
    expect(await refused(loop, { allowRedirects: true, maxRedirects: 3 })).toContain("more than 3 times");
    expect(requests).toBe(4);
    expect(await refused(loop, { allowRedirects: true, maxRedirects: 0 })).toContain("more than 0 times");
  });

  test("without a location are responses, and to no valid URL are failures", async () => {
    const options = { allowRedirects: true };
    expect(await fetched(() => new Response("x", { status: 302 }), options)).toMatchObject({ status: 302 });
    expect(await fetched(() => new Response("x", { status: 300 }), options)).toMatchObject({ status: 300 });
    expect(await refused(() => redirectTo("https://"), options)).toContain("not an absolute URL");
  });

  test("that come back to the first origin do not bring back a header that was dropped [attack P22]", async () => {
    const hops: Record<string, string> = { "/x": "https://b.example/y", "/y": `${ORIGIN}/z` };
    const seen: unknown[] = [];
    await fetched(
      (url, { headers }) => {
        seen.push(headers);
        const next = hops[new URL(url).pathname];
        return next === undefined ? new Response("end") : redirectTo(next);
      },
      {
        allowRedirects: true,
        allowedOrigins: [ORIGIN, "https://b.example"],
        input: { headers: { authorization: "SECRET", accept: "text/plain" } },
      },
    );
    const bare = { accept: "text/plain" };
    expect(seen).toEqual([{ authorization: "SECRET", ...bare }, bare, bare]);
  });

  test("are followed, refused or shown as the program says, within the policy", async () => {
    const options = { allowRedirects: true };
    expect(
      await fetched(() => redirectTo("/y"), { ...options, input: { redirect: "manual" } }),
    ).toMatchObject({
      status: 302,
    });
    expect(await refused(() => redirectTo("/y"), { ...options, input: { redirect: "error" } })).toContain(
      "the program asked for none",
    );
    expect(await fetched(() => redirectTo("/y"), { input: { redirect: "follow" } })).toMatchObject({
      status: 302,
    });
  });

  test("cancel the bodies of the responses on the way", async () => {
    let cancelled = 0;
    const body = (): ReadableStream => new ReadableStream({ cancel: () => void cancelled++ });
    const given: Given = (url) =>
      url.endsWith("/y")
        ? new Response("end")
        : new Response(body(), {
            status: 307,
            headers: { location: url.endsWith("/bad") ? "ftp://x" : "/y" },
          });
    await fetched(given, { allowRedirects: true });
    expect(cancelled).toBe(1);
    await refused(given, { allowRedirects: true, input: { url: `${ORIGIN}/bad` } });
    expect(cancelled).toBe(2);
  });
});

describe("a response", () => {
  test("keeps every byte: as text where it is UTF-8, else as base64 [attack P24]", async () => {
    const bodyOf = async (...bytes: number[]): Promise<unknown> => {
      const { body, bodyBase64 } = await fetched(() => new Response(new Uint8Array(bytes)));
      return body ?? { bodyBase64 };
    };
    expect(await bodyOf(0xff, 0xfe, 0, 0x80)).toEqual({ bodyBase64: "//4AgA==" });
    expect(await bodyOf(0xef, 0xbb, 0xbf, 0x61)).toBe("\uFEFFa");
    expect(await bodyOf(0, 0xc3, 0xa9)).toBe("\0é");
    expect(await bodyOf()).toBe("");
  });

  test("shows no cookies", async () => {
    const headers = new Headers([
      ["set-cookie", "a=1"],
      ["Set-Cookie", "b=2"],
      ["Set-Cookie2", "c=3"],
      ["x", "y"],
    ]);
    expect((await fetched(() => new Response("", { headers })))["headers"]).toEqual({
      "content-type": "text/plain;charset=UTF-8",
      x: "y",
    });
  });

  test("to a HEAD has no body, whatever its length says", async () => {
    const given = (): Response => new Response("", { headers: { "content-length": "99999999" } });
    expect(await fetched(given, { input: { method: "HEAD" } })).toMatchObject({ status: 200, body: "" });
    expect(await refused(given)).toContain("more than the 100000 bytes");
  });

  test("that is too large is refused with the bound that it exceeds", async () => {
    const large = (): Response => new Response("x".repeat(1000));
    expect(await refused(large, { maxResponseBytes: 999 })).toContain(
      "999 bytes that the fetch policy allows",
    );
    expect(await refused(large, { callOutputBytes: 900 })).toContain(
      "900 bytes that limits.callOutputBytes allows",
    );
    expect(await fetched(large, { maxResponseBytes: 1000 })).toMatchObject({ status: 200 });
  });

  test("that grows as JSON is measured as JSON", async () => {
    const controls = (): Response => new Response("\u0001".repeat(1000));
    expect(await refused(controls, { callOutputBytes: 5000 })).toMatch(
      /takes 6\d\d\d bytes on its way to the program, limits\.callOutputBytes allows 5000/u,
    );
    expect(await fetched(controls, { callOutputBytes: 7000 })).toMatchObject({ status: 200 });
    const binary = (): Response => new Response(new Uint8Array(1000).fill(255));
    expect(await refused(binary, { callOutputBytes: 1200 })).toContain("on its way to the program");
    const chatty = (): Response => new Response("", { headers: { x: "y".repeat(2000) } });
    expect(await refused(chatty, { callOutputBytes: 1000 })).toContain("on its way to the program");
  });
});

test("without a policy every fetch is refused, and the message says what to do", async () => {
  const tool = createFetchTool(undefined, { callOutputBytes: 1000 });
  const call = { signal: new AbortController().signal } as unknown as CallContext;
  await expect(tool.execute({ url: ORIGIN }, call)).rejects.toMatchObject({
    code: "fetch_failed",
    message: expect.stringContaining("fetchPolicy") as string,
  });
});
