import { describe, expect, test } from "vitest";
import { type FetchPolicy, resolveFetchPolicy, toMethod } from "./policy.ts";

describe("a fetch policy", () => {
  test("has defaults that allow nothing", () => {
    expect(resolveFetchPolicy({})).toEqual({
      fetch: globalThis.fetch,
      origins: new Set(),
      prefixes: [],
      methods: new Set(["GET", "HEAD"]),
      maxResponseBytes: 1024 * 1024,
      allowRedirects: false,
      maxRedirects: 10,
      blocksPrivateAddresses: false,
    });
  });

  test("normalises its entries to the form in which URLs are compared", () => {
    const { origins, prefixes, methods } = resolveFetchPolicy({
      allowedOrigins: ["https://API.Example.com:443/", "http://bücher.example", "http://0x7f.1:8080"],
      allowedUrlPrefixes: ["https://example.com/a/../api", "https://example.com"],
      allowedMethods: ["get", "Post"],
    });
    expect([...origins]).toEqual([
      "https://api.example.com",
      "http://xn--bcher-kva.example",
      "http://127.0.0.1:8080",
    ]);
    expect(prefixes).toEqual([
      { origin: "https://example.com", path: "/api" },
      { origin: "https://example.com", path: "/" },
    ]);
    expect([...methods]).toEqual(["GET", "POST"]);
  });

  test.each<[unknown, string]>([
    [null, "it must be an object"],
    ["https://a", "it must be an object"],
    [{ allowedOrigin: [] }, 'no such option "allowedOrigin"'],
    [{ fetch: 1 }, "fetch must be a function"],
    [{ allowedOrigins: "https://a.example" }, "allowedOrigins must be a list"],
    [{ allowedOrigins: [7] }, "allowedOrigins has a number"],
    [{ allowedOrigins: ["*"] }, 'allowedOrigins has "*"'],
    [{ allowedOrigins: ["https://*.example.com"] }, 'allowedOrigins has "https://*.example.com", patterns'],
    [{ allowedOrigins: ["a.example"] }, 'allowedOrigins has "a.example"'],
    [{ allowedOrigins: ["https://a.example/api"] }, 'allowedOrigins has "https://a.example/api"'],
    [{ allowedOrigins: ["https://a.example?"] }, 'allowedOrigins has "https://a.example?"'],
    [{ allowedOrigins: ["ftp://a.example"] }, 'allowedOrigins has "ftp://a.example"'],
    [{ allowedOrigins: ["file:///etc"] }, 'allowedOrigins has "file:///etc"'],
    [
      { allowedOrigins: ["https://u:secret@a.example"] },
      'allowedOrigins has "https://a.example/…" with a user',
    ],
    [{ allowedUrlPrefixes: ["https://a.example/x?y=1"] }, 'allowedUrlPrefixes has "https://a.example/x?y=1"'],
    [{ allowedUrlPrefixes: ["https://a.example/x#"] }, 'allowedUrlPrefixes has "https://a.example/x#"'],
    [{ allowedUrlPrefixes: ["https://a.example/x%2fy"] }, 'allowedUrlPrefixes has "https://a.example/x%2fy"'],
    [{ allowedMethods: ["TRACE"] }, 'allowedMethods has "TRACE"'],
    [{ allowedMethods: ["connect"] }, 'allowedMethods has "connect"'],
    [{ allowedMethods: ["GET "] }, 'allowedMethods has "GET "'],
    [{ maxResponseBytes: 0 }, "maxResponseBytes is 0"],
    [{ maxResponseBytes: 1.5 }, "maxResponseBytes is 1.5"],
    [{ maxRedirects: -1 }, "maxRedirects is -1"],
    [{ maxRedirects: Number.NaN }, "maxRedirects is NaN"],
    [{ allowRedirects: "yes" }, "allowRedirects must be a boolean"],
    [{ blockPrivateAddresses: 1 }, "blockPrivateAddresses must be a boolean"],
    [{ blockPrivateAddresses: true, fetch: globalThis.fetch }, "blockPrivateAddresses cannot be combined"],
  ])("%j is refused, and the message has the entry", (policy, problem) => {
    const resolve = (): unknown => resolveFetchPolicy(policy as FetchPolicy);
    expect(resolve).toThrow(TypeError);
    expect(resolve).toThrow(`Cannot use the fetch policy: ${problem}`);
    expect(resolve).not.toThrow("secret");
  });

  test("may have options that are undefined", () => {
    expect(resolveFetchPolicy({ maxRedirects: undefined, fetch: undefined }).maxRedirects).toBe(10);
    expect(resolveFetchPolicy({ maxRedirects: 0 }).maxRedirects).toBe(0);
  });

  test("that blocks private addresses has a fetch of its own", () => {
    const { fetch, blocksPrivateAddresses } = resolveFetchPolicy({ blockPrivateAddresses: true });
    expect(blocksPrivateAddresses).toBe(true);
    expect(fetch).not.toBe(globalThis.fetch);
  });
});

test("methods are compared in upper case, and some are never allowed", () => {
  expect(["get", "PoSt", "x-y"].map(toMethod)).toEqual(["GET", "POST", "X-Y"]);
  for (const odd of ["", "GE T", "GET\r\n", "é", "connect", "Trace", "TRACK", "A".repeat(33)])
    expect(toMethod(odd)).toBeUndefined();
});
