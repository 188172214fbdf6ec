/** What a fetch policy keeps from programs, against real servers: redirects, credentials, bodies, addresses. */
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import type { FetchPolicy } from "codecell";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { host, type Options, valueOf } from "./harness.ts";
import { redirect, startServer, type WebServer } from "./web-server.ts";

const MiB = 1024 * 1024;

let first: WebServer;
let second: WebServer;
let both: FetchPolicy;
/** Responses that began and never ended. */
const open: ServerResponse[] = [];

beforeAll(async () => {
  second = await startServer({
    "/there": (response, { headers, method, body }) =>
      response.end(JSON.stringify({ method, headers, body })),
    "/back": (response) => redirect(`${first.origin}/end`)(response, undefined as never),
  });
  first = await startServer({
    "/end": (response, { headers, method, body }) => response.end(JSON.stringify({ method, headers, body })),
    "/one": redirect("two"),
    "/two": redirect("/end?x#fragment", 307),
    "/away": redirect(`${second.origin}/there`),
    "/away307": redirect(`${second.origin}/there`, 307),
    "/around": redirect(`${second.origin}/back`),
    "/post303": redirect("/end", 303),
    "/loop": redirect("/loop"),
    "/evil": redirect("http://169.254.169.254/latest/meta-data"),
    "/file": redirect("file:///etc/passwd"),
    "/user": redirect(`http://me:pw@${second.origin.slice(7)}/there`),
    "/api/out": redirect("/admin"),
    "/api/in": redirect("/api/ok"),
    "/api/hidden": redirect("/api/..%2fadmin"),
    "/api/ok": (response) => response.end("ok"),
    "/admin": (response) => response.end("ADMIN"),
    "/bomb": (response) =>
      response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(Buffer.alloc(64 * MiB))),
    "/small": (response) =>
      response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("x".repeat(1000))),
    "/chunks": (response) => {
      response.write("x".repeat(600));
      response.write("x".repeat(600));
      open.push(response);
    },
    "/declared": (response) => {
      response.writeHead(200, { "content-length": "2000" }).write("x");
      open.push(response);
    },
    "/slow": (response) => {
      response.writeHead(200).write("begun");
      open.push(response);
    },
    "/cut": (response) => {
      response.writeHead(200, { "content-length": "100" }).write("begun", () => response.destroy());
    },
  });
  both = {
    allowedOrigins: [first.origin, second.origin],
    allowedMethods: ["GET", "POST"],
    allowRedirects: true,
  };
});
afterAll(async () => {
  await first[Symbol.asyncDispose]();
  await second[Symbol.asyncDispose]();
});

/** What fetching a path of the first server gives: the body, parsed if it is JSON, or the failure. */
async function outcomeOf(
  path: string,
  policy: FetchPolicy,
  init = "{}",
  options: Options = {},
): Promise<unknown> {
  const source = `
    try {
      const response = await fetch(${JSON.stringify(`${first.origin}${path}`)}, ${init});
      const text = await response.text();
      let body = text; try { body = JSON.parse(text) } catch {}
      return { status: response.status, url: response.url, redirected: response.redirected, body };
    } catch (error) { return error.code + " " + error.message }`;
  return valueOf(source, { fetchPolicy: policy, ...options });
}

describe("redirects", () => {
  test("are followed only if the policy allows it [fetch:redirects]", async () => {
    const before = first.seen.length;
    const policy = { ...both, allowRedirects: false };
    expect(await outcomeOf("/one", policy)).toMatchObject({ status: 302, redirected: false, body: "moved" });
    expect(first.seen.slice(before).map(({ url }) => url)).toEqual(["/one"]);
  });

  test("are followed hop by hop [fetch:redirects]", async () => {
    const before = first.seen.length;
    expect(await outcomeOf("/one", both)).toMatchObject({
      status: 200,
      redirected: true,
      url: `${first.origin}/end?x`,
    });
    expect(first.seen.slice(before).map(({ url }) => url)).toEqual(["/one", "/two", "/end?x"]);
  });

  test("to another origin carry no credentials [attack P22]", async () => {
    const headers =
      "{ authorization: 'Bearer SECRET', cookie: 'SECRET', 'x-api-key': 'SECRET', 'X-Auth-Token': 'SECRET', accept: 'text/x' }";
    for (const path of ["/away", "/around"]) {
      const outcome = await outcomeOf(path, both, `{ headers: ${headers} }`);
      expect(outcome).toMatchObject({ status: 200, body: { headers: { accept: "text/x" } } });
      expect(JSON.stringify(outcome)).not.toContain("SECRET");
    }
    expect(JSON.stringify(second.seen)).not.toContain("SECRET");
    expect(JSON.stringify(await outcomeOf("/one", both, `{ headers: ${headers} }`))).toContain("SECRET");
  });

  test("to another origin carry no body [attack P22]", async () => {
    const before = second.seen.length;
    const outcome = await outcomeOf("/away307", both, "{ method: 'POST', body: 'SECRET' }");
    expect(outcome).toMatch(/^fetch_failed .*which is not sent to another origin/u);
    expect(second.seen).toHaveLength(before);
  });

  test("turn a POST into a GET without a body", async () => {
    const init = "{ method: 'POST', body: 'data', headers: { 'content-type': 'a/b' } }";
    for (const path of ["/post303", "/away"]) {
      const outcome = (await outcomeOf(path, both, init)) as { readonly body: { readonly headers: object } };
      expect(outcome.body).toMatchObject({ method: "GET", body: "" });
      expect(outcome.body.headers).not.toHaveProperty("content-type");
    }
    expect(await outcomeOf("/two", both, init)).toMatchObject({ body: { method: "POST", body: "data" } });
  });

  test.each([
    ["/evil", 'Cannot fetch "http://169.254.169.254/latest/meta-data": it is not allowed. Allowed are '],
    ["/file", 'Cannot fetch "file:///etc/passwd": only http and https are possible'],
    ["/user", "the URL has a user name or password"],
    ["/loop", "it redirects more than 10 times"],
  ])("%s is refused", async (path, message) => {
    const before = first.seen.length;
    expect(await outcomeOf(path, both)).toContain(message);
    expect(first.seen.length - before).toBe(path === "/loop" ? 11 : 1);
  });

  test("do not lead out of a prefix [attack P23]", async () => {
    const policy = { allowedUrlPrefixes: [`${first.origin}/api`], allowRedirects: true };
    expect(await outcomeOf("/api/in", policy)).toMatchObject({ body: "ok" });
    expect(await outcomeOf("/api/out", policy)).toContain('/admin": it is not allowed');
    expect(await outcomeOf("/api/hidden", policy)).toContain("its path has an encoded separator");
    expect(await outcomeOf("/api/..%2fadmin", policy)).toContain("its path has an encoded separator");
    expect(await outcomeOf("/api/../admin", policy)).toContain("it is not allowed");
  });
});

describe("bodies", () => {
  const small = (): FetchPolicy => ({ ...both, maxResponseBytes: 1000 });

  test("that are too large after decompression are cut off [fetch:bounded]", async () => {
    expect(await outcomeOf("/bomb", both)).toMatch(/^fetch_failed .*more than the 1048576 bytes/u);
    expect(await outcomeOf("/small", small())).toMatchObject({ body: "x".repeat(1000) });
    expect(await outcomeOf("/small", { ...both, maxResponseBytes: 999 })).toContain(
      "more than the 999 bytes",
    );
  });

  test("that are too large while they stream, or declare it, end at once with their connection [fetch:bounded]", async () => {
    for (const path of ["/chunks", "/declared"]) {
      expect(await outcomeOf(path, small())).toContain("more than the 1000 bytes");
      const response = open.at(-1);
      if (response?.closed === false) await once(response, "close");
      expect(response?.writableFinished).toBe(false);
    }
  });

  test("that break off are failures", async () => {
    expect(await outcomeOf("/cut", both)).toMatch(/^fetch_failed .*the request failed/u);
  });

  test("are cancelled when the run ends [fetch:aborted]", async () => {
    const abort = new AbortController();
    const before = first.seen.length;
    const source = `return await (await fetch("${first.origin}/slow")).text()`;
    const { events, result } = host.start({ source, fetchPolicy: both, signal: abort.signal });
    for await (const { type } of events) {
      if (type === "call-start") {
        while (first.seen.length === before) await new Promise(setImmediate);
        abort.abort();
      }
    }
    expect(await result).toMatchObject({ status: "failed", failure: { code: "aborted" } });
    const response = open.at(-1);
    if (response?.closed === false) await once(response, "close");
    expect(response?.writableFinished).toBe(false);
  });

  test("do not outlast the run's time", async () => {
    const source = `return await (await fetch("${first.origin}/slow")).text()`;
    const result = await host.start({ source, fetchPolicy: both, limits: { wallTimeMs: 100 } }).result;
    expect(result).toMatchObject({ status: "failed", failure: { code: "timeout" } });
  });
});

describe("addresses", () => {
  test("that belong to this machine are not reached if blocked, by number or by name [fetch:addresses]", async () => {
    const port = first.origin.split(":").at(-1) ?? "";
    const hosts = ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "2130706433", "127.1"];
    const origins = hosts.map((name) => `http://${name}:${port}`);
    const before = first.seen.length;
    const source = `
      const told = [];
      for (const origin of ${JSON.stringify(origins)}) told.push(await fetch(origin + "/end").then(() => "fetched", (error) => error.message));
      return told;`;
    const policy = { allowedOrigins: origins, blockPrivateAddresses: true };
    const told = (await valueOf(source, { fetchPolicy: policy })) as string[];
    expect(told).toHaveLength(hosts.length);
    for (const message of told) expect(message).toContain("an address that is not on the public internet");
    expect(first.seen).toHaveLength(before);
  });

  test("cannot be checked by a custom fetch: both options together are refused", () => {
    const policy = { blockPrivateAddresses: true, fetch: globalThis.fetch };
    expect(() => host.start({ source: "", fetchPolicy: policy })).toThrow(
      "blockPrivateAddresses cannot be combined",
    );
  });
});
