import { describe, expect, test } from "vitest";
import { checkUrl, readUrl } from "./check-url.ts";
import { type FetchPolicy, resolveFetchPolicy } from "./policy.ts";
import { CallRefusal } from "../calls/call-failure.ts";

function messageFor(url: string, policy: FetchPolicy): string | undefined {
  try {
    checkUrl(url, resolveFetchPolicy(policy));
    return undefined;
  } catch (error) {
    if (!(error instanceof CallRefusal)) throw error;
    expect(error.code).toBe("fetch_failed");
    return error.message;
  }
}

describe("by origin", () => {
  const policy = {
    allowedOrigins: ["https://api.example.com", "http://10.0.0.1:8080", "http://bücher.example"],
  };

  test.each([
    "https://api.example.com",
    "https://api.example.com/any/..%2fpath?q#f",
    "HTTPS://API.EXAMPLE.COM:443/",
    "https://api。example。com/",
    "\thttps://api.exa\nmple.com/ ",
    "https:api.example.com",
    "https:\\\\api.example.com\\x",
    "http://10.1:8080/",
    "http://0x0a000001:8080/",
    "http://167772161:8080/",
    "http://xn--bcher-kva.example/",
    "http://B%C3%9CCHER.example/",
  ])("%j is allowed", (url) => {
    expect(messageFor(url, policy)).toBeUndefined();
  });

  test.each([
    ["another scheme", "http://api.example.com/"],
    ["another port", "https://api.example.com:8443/"],
    ["another host", "https://example.com/"],
    ["below the host", "https://x.api.example.com/"],
    ["a longer host", "https://api.example.com.evil.test/"],
    ["a final dot", "https://api.example.com./"],
    ["a user name that looks like the host", "https://api.example.com@evil.test/"],
    ["a user name", "https://me@api.example.com/"],
    ["a password", "https://:secret@api.example.com/"],
    ["a backslash before the host", "https://evil.test\\@api.example.com/"],
    ["file", "file:///etc/passwd"],
    ["data", "data:text/plain,x"],
    ["blob", "blob:https://api.example.com/7"],
    ["javascript", "javascript:1"],
    ["ftp", "ftp://api.example.com/"],
    ["ws", "wss://api.example.com/"],
    ["a relative URL", "/path"],
    ["nothing", ""],
    ["no URL", "https://"],
    ["a URL that is too long", `https://api.example.com/${"x".repeat(20_000)}`],
  ])("%s is refused", (_what, url) => {
    const message = messageFor(url, policy);
    expect(message).toMatch(/^Cannot fetch "/u);
    expect(message).not.toContain("secret");
    expect(message?.length).toBeLessThan(600);
  });

  test("a host that is too long is not parsed, since parsing it would block the event loop", () => {
    const long = Array.from({ length: 4000 }, (_, n) => String.fromCodePoint(0x4e00 + ((n * 7919) % 20_000)));
    const name = long.join("");
    const urls = [
      `http://${name}/`,
      `http:${name}`,
      ` \nht\ttp:\\\\\\${name}?x`,
      `http://me@${name}`,
      `http:/\r/${name}#`,
    ];
    for (const url of urls) expect(messageFor(url, policy)).toMatch(/its host has \d+ characters/u);
    const base = new URL("https://api.example.com/x");
    for (const location of [`//${name}`, `\\\\${name}/y`, `/\n/${name}`])
      expect(() => checkUrl(location, resolveFetchPolicy(policy), base)).toThrow();
    expect(messageFor(`https://api.example.com/${name.slice(0, 1000)}`, policy)).toBeUndefined();
    expect(checkUrl(`/${"y".repeat(1000)}`, resolveFetchPolicy(policy), base).pathname).toHaveLength(1001);
  });

  test("a final dot is allowed where it is listed", () => {
    expect(messageFor("https://a.example./x", { allowedOrigins: ["https://a.example."] })).toBeUndefined();
    expect(messageFor("https://a.example/x", { allowedOrigins: ["https://a.example."] })).toBeDefined();
  });

  test("the message says what is allowed", () => {
    expect(messageFor("https://evil.test/x", policy)).toBe(
      'Cannot fetch "https://evil.test/x": it is not allowed. Allowed are https://api.example.com, http://10.0.0.1:8080, http://xn--bcher-kva.example',
    );
    expect(messageFor("https://evil.test/x", {})).toContain("Nothing is allowed");
    const many = Array.from({ length: 12 }, (_, n) => `https://n${n}.example`);
    expect(messageFor("https://evil.test/x", { allowedOrigins: many })).toMatch(/n9\.example and 2 more$/u);
  });
});

describe("by prefix", () => {
  const policy = { allowedUrlPrefixes: ["https://example.com/api", "https://example.com/v2/"] };

  test.each([
    "/api",
    "/api/",
    "/api/x",
    "/api?x=/../",
    "/api/%20",
    "/x/../api/y",
    "/v2/",
    "/v2/x",
    "/api//x",
  ])("%s is allowed", (path) => {
    expect(messageFor(`https://example.com${path}`, policy)).toBeUndefined();
  });

  test.each([
    "/",
    "/api-evil",
    "/apix",
    "/API",
    "/v2",
    "/v20",
    "/api/../admin",
    "/api/%2e%2e/admin",
    "/api/.%2E/x",
  ])("%s is not allowed", (path) => {
    expect(messageFor(`https://example.com${path}`, policy)).toContain("it is not allowed");
  });

  test.each(["/api/..%2fadmin", "/api/..%5cadmin", "/api/%252e%252e/admin", "/api/..;/admin"])(
    "%s is refused with the reason [attack P23]",
    (path) => {
      expect(messageFor(`https://example.com${path}`, policy)).toContain("its path has an encoded");
    },
  );

  test("a prefix does not allow another origin", () => {
    expect(messageFor("https://example.org/api", policy)).toContain("Allowed are https://example.com/api");
    expect(messageFor("http://example.com/api", policy)).toBeDefined();
  });
});

test("an address that is not public is refused where those are blocked, even if it is listed", () => {
  const allowedOrigins = ["http://127.0.0.1", "http://[::1]", "http://8.8.8.8", "http://example.com"];
  const policy = { allowedOrigins, blockPrivateAddresses: true };
  expect(messageFor("http://2130706433/", policy)).toContain("not on the public internet");
  expect(messageFor("http://[0:0::1]/", policy)).toContain("not on the public internet");
  expect(messageFor("http://8.8.8.8/", policy)).toBeUndefined();
  expect(messageFor("http://example.com/", policy)).toBeUndefined();
  expect(messageFor("http://127.0.0.1/", { allowedOrigins })).toBeUndefined();
});

test("the target of a redirect is refused in the same way", () => {
  const base = new URL("https://example.com/");
  for (const origin of ["http://127.0.0.1", "http://[::1]"]) {
    const resolved = resolveFetchPolicy({ allowedOrigins: [origin], blockPrivateAddresses: true });
    expect(() => checkUrl(origin, resolved, base)).toThrow("not on the public internet");
    expect(checkUrl(origin, { ...resolved, blocksPrivateAddresses: false }, base).origin).toBe(origin);
  }
});

test("readUrl does not parse a URL to which no fetch would be made", () => {
  expect(readUrl("http://bücher.example/x?y")?.href).toBe("http://xn--bcher-kva.example/x?y");
  expect(readUrl("no URL")).toBeUndefined();
  // Writing a long name in ASCII takes time that grows with the square of its length.
  expect(readUrl(`http://${"ü".repeat(300_000)}/`)).toBeUndefined();
  expect(readUrl(`http://${"ü".repeat(301)}/`)).toBeUndefined();
  expect(readUrl(`http://a.example/${"x".repeat(20_000)}`)).toBeUndefined();
});
