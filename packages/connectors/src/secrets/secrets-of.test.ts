import { describe, expect, test } from "vitest";
import { isSecretName, secretsOfArguments, secretsOfHeaders, secretsOfUrl } from "./secrets-of.ts";

test.each([
  "TOKEN",
  "GITHUB_TOKEN",
  "API_KEY_2",
  "apiKey",
  "x-api-key",
  "authorization",
  "Proxy-Authorization",
  "authorization2",
  "X-Auth-Token",
  "PGPASSWORD",
  "MYSQL_PWD",
  "SSHPASS",
  "SECRET_KEY_BASE",
  "clientSecret",
  "Set-Cookie",
  "AWS_ACCESS_KEY_ID",
  "sig",
  "X-Amz-Signature",
  "--password",
  "GITHUB_PAT",
  "PRIVATE_KEY",
  "GOOGLE_CREDENTIALS",
])("%s is the name of a secret", (name) => expect(isSecretName(name)).toBe(true));

test.each([
  "GIT_AUTHOR_NAME",
  "GIT_AUTHOR_EMAIL",
  "MAX_TOKENS",
  "COOKIE_DOMAIN",
  "TOKEN_FILE",
  "AUTH_URL",
  "SESSION_TIMEOUT",
  "AUTHORITY",
  "KEYBOARD",
  "COMPASS",
  "PATH",
  "PATTERN",
  "tokenizer",
  "--max-tokens",
])("%s is the name of no secret", (name) => expect(isSecretName(name)).toBe(false));

describe("the secrets of", () => {
  test("headers are what is behind the scheme, and what is in it", () => {
    expect(secretsOfHeaders({ authorization: "Bearer  tok-123456 " })).toContain("tok-123456");
    const basic = Buffer.from("ann:pass-word-1").toString("base64");
    expect(secretsOfHeaders({ Authorization: `Basic ${basic}` })).toEqual(
      expect.arrayContaining(["ann:pass-word-1", "pass-word-1", basic]),
    );
    expect(secretsOfHeaders({ cookie: "a=first-one; b=second-one" })).toEqual(
      expect.arrayContaining(["first-one", "second-one"]),
    );
    expect(secretsOfHeaders({ accept: "application/json" })).toEqual([]);
  });

  test.each<[string, readonly string[], string]>([
    ["--token=x", ["--token=secret-1"], "secret-1"],
    ["--token x", ["--token", "secret-1"], "secret-1"],
    ["-H x", ["-H", "Authorization: Bearer secret-1"], "secret-1"],
    ["-Hx", ["-HX-Api-Key: secret-1"], "secret-1"],
    ["--header=x", ["--header=X-Api-Key: secret-1"], "secret-1"],
    ["-u x", ["-u", "ann:secret-1"], "secret-1"],
    ["-ux", ["-uann:secret-1"], "secret-1"],
    ["--user=x", ["--user=ann:secret-1"], "secret-1"],
    ["a user as it is sent", ["-u", "ann:secret-1"], Buffer.from("ann:secret-1").toString("base64")],
    ["an address", ["https://ann:secret-1@shop.example/a"], "secret-1"],
    ["an address with a query", ["--url=https://shop.example/a?access_token=secret-1"], "secret-1"],
  ])("arguments: %s", (_, args, secret) => expect(secretsOfArguments(args)).toContain(secret));

  test("arguments are no other arguments", () => {
    const args = [
      "--max-tokens=100000",
      "-H",
      "Accept: text/html",
      "--user-agent=a:bcdef",
      "https://shop.example/?q=words",
      "key",
    ];
    expect(secretsOfArguments(args).filter((one) => one !== "")).toEqual([]);
  });

  test("a plain URL are what its names say, and of one that is a secret all", () => {
    const url =
      "https://shop.example/short/a-long-part-of-the-path?page=second-page&api_key=secret-1&a-name-that-is-a-secret=#hash-1";
    expect(secretsOfUrl(url, false).filter((one) => one !== "")).toEqual(["secret-1"]);
    expect(secretsOfUrl(url, true)).toEqual(
      expect.arrayContaining([
        "second-page",
        "secret-1",
        "a-long-part-of-the-path",
        "a-name-that-is-a-secret",
        "hash-1",
      ]),
    );
    expect(secretsOfUrl(url, true)).not.toContain("short");
  });
});
