import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { nobody, requestOf, startWebBackend } from "../../../../test/connectors/web-backend.ts";
import type { Connector } from "../contract/connector.ts";
import { ConnectorError } from "../contract/connector-error.ts";
import { http, type HttpOptions } from "../http/http.ts";
import { cli } from "../cli/cli.ts";
import { mcp } from "../mcp/mcp.ts";
import { openapi } from "../openapi/openapi.ts";
import { connectTools } from "../tools/connect-tools.ts";
import { resolveSecrets } from "./resolve-secrets.ts";
import type { SecretSources } from "./sources.ts";

/** Opening one waits for its writer. */
const MAKE_PIPE = "mkfifo";

const card = { name: "Shop", description: "A shop" };
const VALUE = "canary-value-0123456789";

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "codecell-secrets-"));
  writeFileSync(join(folder, "token"), `${VALUE}\n`);
  writeFileSync(join(folder, "two-lines"), `${VALUE}\r\n\r\n`);
  symlinkSync("token", join(folder, "link"));
  writeFileSync(join(folder, "empty"), "\n");
  writeFileSync(join(folder, "large"), "x".repeat(64 * 1024 + 1));
  writeFileSync(join(folder, "largest"), "x".repeat(64 * 1024));
  writeFileSync(join(folder, "bytes"), new Uint8Array([0xff, 0xfe, 0x41]));
  execFileSync(MAKE_PIPE, [join(folder, "pipe")]);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const vault = {
  read: (name: string, connector: string) => {
    if (name === "GRANTED") return `${VALUE}-${connector}`;
    throw new Error(`the vault has no "${name}"`);
  },
};

function resolved(text: string, sources: SecretSources = {}): string {
  const places = { texts: ["headers.*"], urls: [] };
  const all = { env: { TOKEN: VALUE, EMPTY: "" }, vault, baseFolder: folder, ...sources };
  return resolveSecrets("shop", { headers: { a: text } }, places, all).options.headers.a;
}

describe("a reference", () => {
  test.each([
    ["$env:TOKEN", VALUE],
    ["${env:TOKEN}", VALUE],
    ["Bearer ${env:TOKEN}!", `Bearer ${VALUE}!`],
    ["${env:TOKEN}${env:TOKEN}", VALUE + VALUE],
    ["$file:token", VALUE],
    ["$file:./link", VALUE],
    ["a ${file:token}", `a ${VALUE}`],
    ["$file:two-lines", `${VALUE}\r\n`],
    ["$file:largest", "x".repeat(64 * 1024)],
    ["$vault:GRANTED", `${VALUE}-shop`],
    ["x-${vault:GRANTED}", `x-${VALUE}-shop`],
    // These are none.
    ["$$env:TOKEN", "$env:TOKEN"],
    ["a $${env:TOKEN}", "a ${env:TOKEN}"],
    ["$$$env:TOKEN", "$$env:TOKEN"],
    ["a $$env:TOKEN", "a $env:TOKEN"],
    ["a $$$${env:TOKEN}", "a $$${env:TOKEN}"],
    ["$${TOKEN} $$ENV:TOKEN", "${TOKEN} $ENV:TOKEN"],
    ["$TOKEN cost: $5, ${}, a:$b", "$TOKEN cost: $5, ${}, a:$b"],
  ])("%s brings %s", (text, value) => {
    expect(resolved(text)).toBe(value);
  });

  test("of a file may be absolute", () => {
    expect(resolved(`$file:${join(folder, "token")}`, { baseFolder: "/" })).toBe(VALUE);
  });

  test("in what a reference brings is no reference", () => {
    expect(resolved("$env:NESTED", { env: { NESTED: "${env:TOKEN}", TOKEN: VALUE } })).toBe("${env:TOKEN}");
  });

  test.each([
    ["$env:ABSENT", "is not set, set the variable"],
    ["$env:EMPTY", "is not set"],
    ["$env:toString", "is not set"],
    ["$env:A B", "names no variable"],
    ["$env:TOKEN/x", "names no variable, inside of a longer text write ${env:NAME}"],
    ["${env:}", "names no variable"],
    ["$file:absent", "is not there"],
    ["$file:token/x", "is not there"],
    ["$file:.", "is no regular file"],
    ["$file:pipe", "is no regular file"],
    ["$file:empty", "is empty"],
    ["$file:large", "has more than 65536 bytes"],
    ["$file:bytes", "is no text in UTF-8"],
    ["$file:to\0ken", "names no file"],
    ["$vault:OTHER", 'cannot be read: the vault has no "OTHER"'],
  ])("%j that brings nothing is named: %s", (text, why) => {
    const named = text.startsWith("$file:") ? 'the "$file:" reference' : `"${text}"`;
    expect(() => resolved(text)).toThrow(
      expect.objectContaining({
        code: "CONFIG_INVALID",
        message: expect.stringContaining(`${named} in headers.a ${why}`) as unknown,
      }),
    );
    expect(() => resolved(text)).not.toThrow(VALUE);
  });

  test.each([
    ["Bearer $env:TOKEN", "inside of a longer text write ${env:NAME}"],
    ["a $ENV:TOKEN", "inside of a longer text write ${env:NAME}"],
    ["${TOKEN}", "has a reference of no kind, write ${env:NAME}"],
    ["$ENV:TOKEN", "has a reference of no kind"],
    ["a ${Env:TOKEN}", "has a reference of no kind"],
    ["a ${env:TOKEN", "without its closing brace"],
    ["${env:${env:TOKEN}}", "without its closing brace, or with a brace in it"],
  ])("that is none is refused: %s", (text, why) => {
    expect(() => resolved(text)).toThrow(
      expect.objectContaining({
        code: "CONFIG_INVALID",
        message: expect.stringContaining(
          `"shop": headers.a ${why.startsWith("has") ? "" : "has a reference"}`,
        ) as unknown,
      }),
    );
    expect(() => resolved(text)).toThrow(why);
  });

  test("of a file tells its path to the host alone", () => {
    const error = ((): unknown => {
      try {
        return resolved("$file:/home/somebody/token");
      } catch (thrown) {
        return thrown;
      }
    })() as Error;
    expect(error.message).toBe(
      'Cannot use connector "shop": the "$file:" reference in headers.a is not there, make the file',
    );
    expect(String(error.cause)).toContain("/home/somebody/token");
  });

  test("to a vault needs one", () => {
    const places = { texts: ["a"], urls: [] };
    expect(() => resolveSecrets("shop", { a: "$vault:GRANTED" }, places, {})).toThrow("needs a vault");
  });
});

const actions = [{ name: "get", method: "GET", path: "/" }] as const;

function shop(options: Partial<HttpOptions>): Connector {
  return http({ id: "shop", card, baseUrl: "http://127.0.0.1:1", actions, ...options });
}

describe("a connector with references", () => {
  test("sends what they bring", async () => {
    await using backend = await startWebBackend((_, response) => response.end());
    const secrets = { env: { TOKEN: VALUE, HOST: backend.origin }, baseFolder: folder, vault };
    await using connector = http({
      id: "shop",
      card,
      actions,
      baseUrl: "$env:HOST",
      headers: { "x-from": "file ${file:token}" },
      credentials: [
        { type: "bearer", token: "$env:TOKEN" },
        { type: "apiKey", in: "query", name: "key", value: "$vault:GRANTED" },
      ],
      secrets,
    });
    await connector.callTool("get", {}, requestOf());
    const [received] = backend.received;
    expect(received?.url).toBe(`/?key=${VALUE}-shop`);
    expect(received?.headers).toMatchObject({
      authorization: `Bearer ${VALUE}`,
      "x-from": `file ${VALUE}`,
    });
  });

  test("of which one is missing is not ready, and no other notices", async () => {
    await using ready = shop({});
    await using http1 = http({ id: "a", card, actions, baseUrl: "$env:NO_URL", secrets: { env: {} } });
    await using mcp1 = mcp({ id: "b", command: "x", env: { T: "$vault:NO_TOKEN" }, secrets: { vault } });
    await using mcp2 = mcp({ id: "c", url: "http://127.0.0.1:1", headers: { a: "Bearer ${env:NO_TOKEN}" } });
    await using cli1 = cli({
      id: "d",
      commands: [{ name: "x", program: "x" }],
      secretEnv: { T: "$file:/no" },
    });
    await using openapi1 = openapi({ id: "e", card, document: {}, credentials: { key: "$env:NO_KEY" } });
    const broken = [http1, mcp1, mcp2, cli1, openapi1];
    const { sources, unready } = await connectTools([...broken, ready]);
    expect(sources.map(({ owner }) => owner)).toEqual(["shop"]);
    expect(unready.map(({ connector, code, message }) => [connector, code, message])).toEqual([
      ["a", "CONFIG_INVALID", expect.stringContaining('"$env:NO_URL" in baseUrl is not set')],
      ["b", "CONFIG_INVALID", expect.stringContaining('"$vault:NO_TOKEN" in env.T cannot be read')],
      ["c", "CONFIG_INVALID", expect.stringContaining('"${env:NO_TOKEN}" in headers.a is not set')],
      ["d", "CONFIG_INVALID", expect.stringContaining('the "$file:" reference in secretEnv.T is not there')],
      ["e", "CONFIG_INVALID", expect.stringContaining('"$env:NO_KEY" in credentials.key is not set')],
    ]);
    for (const connector of broken) {
      await expect(connector.check({ signal: nobody })).rejects.toThrow(ConnectorError);
      await expect(connector.callTool("x", {}, requestOf())).rejects.toMatchObject({ hasNoEffect: true });
    }
  });

  test("becomes ready when the secret is there", async () => {
    await using backend = await startWebBackend((_, response) => response.end());
    const env: Record<string, string> = {};
    await using connector = shop({
      baseUrl: backend.origin,
      headers: { "x-a": "$env:LATE" },
      secrets: { env },
    });
    const told: string[] = [];
    const stop = connector.onChange((list) => told.push(list));
    await expect(connector.tools({ signal: nobody })).rejects.toThrow("$env:LATE");
    env["LATE"] = VALUE;
    // It tries again after a rest.
    await expect.poll(() => connector.tools({ signal: nobody }).then((tools) => tools.length)).toBe(1);
    expect(connector.card).toEqual(card);
    await connector.callTool("get", {}, requestOf());
    expect(backend.received[0]?.headers["x-a"]).toBe(VALUE);
    stop();
  });

  test("is not ready if what they bring cannot be used, and says so without it", async () => {
    const env = { BROKEN: `${VALUE}\nX-Injected: 1`, URL: `ftp://${VALUE}.example` };
    for (const options of [
      { headers: { "x-a": "$env:BROKEN" } },
      { credentials: [{ type: "bearer", token: "$env:BROKEN" }] as const },
      { baseUrl: "$env:URL" },
    ]) {
      await using connector = shop({ ...options, secrets: { env } });
      const error: unknown = await connector.tools({ signal: nobody }).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: "CONFIG_INVALID", connector: "shop" });
      expect(JSON.stringify([error, (error as Error).message])).not.toContain(VALUE);
    }
  });

  test("is the same for those who know it, whatever its secrets are", async () => {
    const make = (TOKEN: string): Connector[] => {
      const secrets = { env: { TOKEN } };
      return [
        http({ id: "a", card, actions, baseUrl: "http://127.0.0.1:1/x?key=${env:TOKEN}", secrets }),
        openapi({ id: "b", card, document: "https://x.example/?key=${env:TOKEN}", secrets }),
        mcp({ id: "c", command: "x", args: ["--token", "$env:TOKEN"], secrets }),
        mcp({ id: "d", url: "http://127.0.0.1:1/?key=${env:TOKEN}", secrets }),
        cli({ id: "e", commands: [{ name: "x", program: "x", args: ["${env:TOKEN}"] }], secrets }),
      ];
    };
    const [before, after] = [make(VALUE), make("another-value-9876543210")];
    expect(after.map(({ identity }) => identity)).toEqual(before.map(({ identity }) => identity));
    expect(new Set(before.map(({ identity }) => identity)).size).toBe(before.length);
    for (const connector of [...before, ...after]) await connector[Symbol.asyncDispose]();
  });

  test("refuses after its end, ready or not", async () => {
    const connector = shop({ headers: { "x-a": "$env:NOT_THERE" } });
    await connector[Symbol.asyncDispose]();
    await expect(connector.check({ signal: nobody })).rejects.toMatchObject({ code: "SERVER_UNAVAILABLE" });
  });

  test("does not change the options, and takes no references elsewhere", async () => {
    const options: HttpOptions = {
      id: "shop",
      card: { name: "$env:TOKEN", description: "${env:TOKEN}" },
      baseUrl: "http://127.0.0.1:1",
      headers: { "x-a": "$env:TOKEN" },
      actions: [{ name: "get", method: "GET", path: "/", description: "$env:TOKEN" }],
      secrets: { env: { TOKEN: VALUE } },
    };
    const before = structuredClone(options);
    await using connector = http(options);
    expect(options).toEqual(before);
    expect(connector.card.name).toBe("$env:TOKEN");
    expect((await connector.tools({ signal: nobody }))[0]?.description).toBe("$env:TOKEN");
  });
});

describe("secrets of a configuration", () => {
  /** Repeats what it was sent. */
  async function inShop(work: (origin: string) => Promise<void>): Promise<void> {
    await using backend = await startWebBackend(({ url, rawHeaders }, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify([url, rawHeaders]));
    });
    await work(backend.origin);
  }

  test("in an action are hidden, and may be references", () =>
    inShop(async (baseUrl) => {
      const secrets = { env: { TOKEN: VALUE } };
      await using connector = shop({
        baseUrl,
        secrets,
        actions: [
          {
            name: "get",
            method: "GET",
            path: "/a?token=plain-in-the-path&b=1?2",
            query: { api_key: "plain-in-the-query", more: "${env:TOKEN}", price: "${amount}" },
            headers: { "x-auth-token": "plain-in-a-header", "x-plain": "a ${env:TOKEN}" },
            input: { type: "object", properties: { amount: { type: "string" } } },
          },
        ],
      });
      const { data } = await connector.callTool("get", { amount: "5" }, requestOf());
      const [url] = data as [string];
      expect(url).toContain("b=1?2");
      expect(decodeURIComponent(url)).toContain("price=$5");
      expect(JSON.stringify(data)).not.toMatch(/canary|plain-in/u);
      expect(JSON.stringify(data).match(/\[hidden\]/gu)).toHaveLength(5);
    }));

  test("in the path of the check are hidden, and all of it is sent", async () => {
    await using backend = await startWebBackend(({ url }, response) =>
      response.writeHead(500).end(`no ${url}`),
    );
    await using connector = shop({ baseUrl: backend.origin, checkPath: "/up?a=1?2&token=plain-in-the-path" });
    const error: unknown = await connector.check({ signal: nobody }).catch((thrown: unknown) => thrown);
    expect(backend.received[0]?.url).toBe("/up?a=1?2&token=plain-in-the-path");
    expect((error as Error).message).toContain("/up?a=1?2&token=[hidden]");
  });

  test("are hidden as they are sent, without blanks around them", () =>
    inShop(async (baseUrl) => {
      const secrets = { env: { TOKEN: `  ${VALUE}\t` } };
      await using connector = shop({ baseUrl, secrets, headers: { "x-a": "$env:TOKEN" } });
      const { data } = await connector.callTool("get", {}, requestOf());
      expect(JSON.stringify(data)).toContain("[hidden]");
      expect(JSON.stringify(data)).not.toContain(VALUE);
    }));

  test("are not set by an input, whatever the case and the brackets of its name are", async () => {
    await using backend = await startWebBackend((_, response) => response.end());
    await using connector = shop({
      baseUrl: `${backend.origin}?Tenant=a`,
      headers: { Cookie: "session=own-session; theme=dark" },
      credentials: [{ type: "apiKey", in: "query", name: "key", value: VALUE }],
      actions: [
        {
          name: "get",
          method: "GET",
          path: "/",
          query: Object.fromEntries(
            ["KEY", "key[0]", "tenant", "fine"].map((name) => [name, `{${name.replace("[0]", "0")}}`]),
          ),
          input: {
            type: "object",
            properties: Object.fromEntries(
              ["KEY", "key0", "tenant", "fine"].map((name) => [name, { type: "string" }]),
            ),
          },
        },
      ],
    });
    for (const name of ["KEY", "key0", "tenant"]) {
      const call = connector.callTool("get", { [name]: "x" }, requestOf());
      await expect(call).rejects.toMatchObject({ code: "REQUEST_INVALID" });
    }
    await connector.callTool("get", { fine: "x" }, requestOf());
    expect(backend.received).toHaveLength(1);
    expect(backend.received[0]?.headers.cookie).toBe("session=own-session; theme=dark");
    await using open = openapi({
      id: "open",
      card,
      baseUrl: backend.origin,
      headers: { cookie: "session=own-session" },
      document: {
        openapi: "3.1.0",
        info: { title: "a", version: "1" },
        paths: {
          "/": {
            get: {
              operationId: "get",
              parameters: [{ name: "session", in: "cookie", schema: { type: "string" } }],
            },
          },
        },
      },
    });
    await expect(open.callTool("get", { session: "x" }, requestOf())).rejects.toMatchObject({
      code: "REQUEST_INVALID",
    });
  });

  test.each([
    [{ type: "bearer", token: undefined }, "credentials[0].token is no text"],
    [{ type: "basic", username: "a" }, "credentials[0].password is no text"],
    [{ type: "apiKey", in: "query", name: "a", value: 1 }, "credentials[0].value is no text"],
    [{ type: "oauth" }, "credentials[0] is no credential"],
    [undefined, "credentials[0] is no credential"],
  ])("that are none are refused: %j", (credential, problem) => {
    expect(() => shop({ credentials: [credential as never] })).toThrow(
      expect.objectContaining({
        code: "CONFIG_INVALID",
        message: expect.stringContaining(`"shop": ${problem}`) as unknown,
      }),
    );
    const made = { id: "shop", card, document: {}, credentials: { key: undefined as never } };
    expect(() => openapi(made)).toThrow('"shop": credentials.key is no text');
  });
});
