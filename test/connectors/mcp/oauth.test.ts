/** Logins of connectors to MCP servers, against servers that keep the standards, and against some that do not. */
import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import {
  type Connector,
  ConnectorError,
  type McpOAuthOptions,
  mcp,
  openVault,
  type TokenStore,
  vaultTokens,
} from "@codecell/connectors";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { afterEach, describe, expect, test, vi } from "vitest";
import { allForms } from "../canaries/leaks.ts";
import { mcpAnswers, MCP_LEAKS, type Request } from "../canaries/mcp-leaks.ts";
import { addressOf, closeServer, listen } from "./control.ts";
import { createFixtureServer } from "./fixture-server.ts";
import { json, OAuthWorld, REDIRECT_URL } from "./oauth-world.ts";
import { START_TIMEOUT_MS } from "./opened.ts";

const nobody = { signal: new AbortController().signal };
const request = { ...nobody, idempotencyKey: "1" };

const opened: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).toReversed()) await one[Symbol.asyncDispose]();
});

async function openWorld(): Promise<OAuthWorld> {
  const world = await OAuthWorld.open();
  opened.push(world);
  return world;
}

function connect(world: OAuthWorld, oauth: McpOAuthOptions, options: object = {}): Connector {
  const connector = mcp({
    id: "guarded",
    url: world.url,
    oauth,
    startTimeoutMs: START_TIMEOUT_MS,
    timeoutMs: START_TIMEOUT_MS,
    ...options,
  });
  opened.push(connector);
  return connector;
}

/** With a person who says yes. */
function withPerson(world: OAuthWorld, oauth: McpOAuthOptions = {}): McpOAuthOptions {
  return { onAuthorize: world.person, redirectUrl: REDIRECT_URL, ...oauth };
}

/** Counts how often a person was asked. */
function counted(world: OAuthWorld, oauth: McpOAuthOptions = {}): { oauth: McpOAuthOptions; urls: URL[] } {
  const urls: URL[] = [];
  const onAuthorize: NonNullable<McpOAuthOptions["onAuthorize"]> = (asked) => {
    urls.push(asked.url);
    return world.person(asked);
  };
  return { oauth: { redirectUrl: REDIRECT_URL, onAuthorize, ...oauth }, urls };
}

const count = (connector: Connector): Promise<unknown> =>
  connector.callTool("count", {}, request).then(({ data }) => data);

async function errorOf(action: Promise<unknown>): Promise<ConnectorError> {
  return (await action.then(
    () => new Error("It should have failed"),
    (error: unknown) => error,
  )) as ConnectorError;
}

/** What two processes have in common. */
function storeOf(): { readonly tokens: TokenStore; readonly kept: Map<string, string> } {
  const kept = new Map<string, string>();
  const tokens: TokenStore = {
    load: ({ connector }) => kept.get(connector),
    save: ({ connector }, value) => void kept.set(connector, value),
    delete: ({ connector }) => void kept.delete(connector),
  };
  return { tokens, kept };
}

/** A server that nobody should ask. */
async function openTrap(): Promise<{ readonly origin: string; readonly asked: () => number }> {
  let asked = 0;
  const server = createServer((_, response) => {
    asked++;
    response.end();
  });
  await listen(server);
  opened.push({ [Symbol.asyncDispose]: () => closeServer(server) });
  return { origin: addressOf(server), asked: () => asked };
}

describe("a login", () => {
  test("registers the client, proves itself with PKCE, and names the server that its tokens are for", async () => {
    const world = await openWorld();
    const { oauth, urls } = counted(world, { clientName: "Desk" });
    expect(await count(connect(world, oauth))).toBe("call 1");
    const [registration] = world.of("/register");
    expect(registration?.params).toMatchObject({
      client_name: "Desk",
      redirect_uris: [REDIRECT_URL],
      application_type: "native",
      grant_types: ["authorization_code", "refresh_token"],
    });
    const asked = Object.fromEntries(urls[0]?.searchParams ?? []);
    expect(asked).toMatchObject({
      response_type: "code",
      client_id: "client-0",
      code_challenge_method: "S256",
      redirect_uri: REDIRECT_URL,
      resource: world.url,
    });
    expect(asked["state"]?.length).toBeGreaterThan(40);
    const [token] = world.of("/token");
    expect(token?.params).toMatchObject({ grant_type: "authorization_code", resource: world.url });
    const verifier = String(token?.params["code_verifier"]);
    expect(createHash("sha256").update(verifier).digest("base64url")).toBe(asked["code_challenge"]);
    expect(new Set(world.shown)).toEqual(new Set([`Bearer ${[...world.access.keys()][0]}`]));
  });

  test("uses a client that was registered before, whose secret a reference brings", async () => {
    const world = await openWorld();
    const secret = world.secret("given");
    world.clients.set("desk", { secret });
    const connector = connect(
      world,
      withPerson(world, { clientId: "${env:ID}", clientSecret: "$env:SECRET", issuer: world.issuer }),
      { secrets: { env: { ID: "desk", SECRET: secret } } },
    );
    expect(await count(connector)).toBe("call 1");
    expect(world.of("/register")).toEqual([]);
    const basic = `Basic ${Buffer.from(`desk:${secret}`).toString("base64")}`;
    expect(world.of("/token")[0]?.authorization).toBe(basic);
  });

  test("is not ready where the reference to its secret brings nothing", async () => {
    const world = await openWorld();
    const oauth = withPerson(world, { clientId: "desk", clientSecret: "$env:ABSENT", issuer: world.issuer });
    const error = await errorOf(count(connect(world, oauth, { secrets: { env: {} } })));
    expect(error).toMatchObject({ code: "CONFIG_INVALID" });
    expect(error.message).toContain('"$env:ABSENT" in oauth.clientSecret is not set');
  });

  test("is one for all who wait for it", async () => {
    const world = await openWorld();
    const { oauth, urls } = counted(world);
    const connector = connect(world, oauth);
    const all = await Promise.all(Array.from({ length: 10 }, () => count(connector)));
    expect(new Set(all).size).toBe(10);
    expect(urls).toHaveLength(1);
    // The tokens run out for all at once.
    world.access.clear();
    await Promise.all(Array.from({ length: 10 }, () => count(connector)));
    expect(urls).toHaveLength(1);
    expect(world.of("/token").map(({ params }) => params["grant_type"])).toEqual([
      "authorization_code",
      "refresh_token",
    ]);
    expect(world.calls).toBe(20);
  });

  test("is begun by nobody where the host offers none, and the error says what to do", async () => {
    const world = await openWorld();
    const error = await errorOf(count(connect(world, {})));
    expect(error).toMatchObject({ code: "AUTH_REQUIRED", connector: "guarded", hasNoEffect: true });
    expect(error.message).toBe(
      '"guarded" wants somebody to log in: give its connector oauth.onAuthorize, or tokens of a login in oauth.tokens',
    );
    expect(world.of("/register")).toEqual([]);
  });

  test("goes on for the others when one of them leaves, and ends when nobody waits", async () => {
    const world = await openWorld();
    const asked = Promise.withResolvers<AbortSignal>();
    const answer = Promise.withResolvers<string>();
    const connector = connect(world, {
      redirectUrl: REDIRECT_URL,
      onAuthorize: async ({ url, signal }) => {
        asked.resolve(signal);
        await answer.promise;
        return world.person({ url });
      },
    });
    const leaver = new AbortController();
    const [left, stayed] = [
      errorOf(connector.callTool("count", {}, { ...request, signal: leaver.signal })),
      count(connector),
    ];
    const signal = await asked.promise;
    leaver.abort();
    expect(await left).toMatchObject({ code: "CALL_ABORTED" });
    expect(signal.aborted).toBe(false);
    answer.resolve("");
    expect(await stayed).toBe("call 1");
  });

  test("ends with its connector", async () => {
    const world = await openWorld();
    const asked = Promise.withResolvers<AbortSignal>();
    const connector = connect(world, {
      redirectUrl: REDIRECT_URL,
      onAuthorize: ({ signal }) => {
        asked.resolve(signal);
        return new Promise(() => {});
      },
    });
    const open = errorOf(count(connector));
    const signal = await asked.promise;
    await connector[Symbol.asyncDispose]();
    expect(signal.aborted).toBe(true);
    expect(await open).toMatchObject({ code: "SERVER_UNAVAILABLE" });
  });

  test("has a time of its own, which is not that of the call", async () => {
    const world = await openWorld();
    let isAborted = false;
    let asked = 0;
    const connector = connect(world, {
      redirectUrl: REDIRECT_URL,
      authorizeTimeoutMs: 50,
      onAuthorize: ({ signal }) => {
        asked++;
        signal.addEventListener("abort", () => {
          isAborted = true;
        });
        return new Promise(() => {});
      },
    });
    const error = await errorOf(count(connector));
    expect(error).toMatchObject({
      code: "AUTH_REQUIRED",
      message: 'Nobody logged in to "guarded" within 50 ms',
    });
    expect(isAborted).toBe(true);
    // However often a program tries, the person has their peace for a time.
    expect(await errorOf(count(connector))).toBe(error);
    expect(asked).toBe(1);
  });

  test("of a client with rights of its own needs no person", async () => {
    const world = await openWorld();
    const secret = world.secret("given");
    world.clients.set("robot", { secret });
    const connector = connect(world, {
      grant: "client_credentials",
      clientId: "robot",
      clientSecret: secret,
      issuer: world.issuer,
      scope: "read",
    });
    expect(await count(connector)).toBe("call 1");
    world.access.clear();
    expect(await count(connector)).toBe("call 2");
    expect(world.of("/token").map(({ params }) => params)).toEqual([
      { grant_type: "client_credentials", scope: "read", resource: world.url },
      { grant_type: "client_credentials", scope: "read", resource: world.url },
    ]);
  });
});

describe("a server of the older events", () => {
  test("is logged in to as well, and says why where nobody can", async () => {
    const world = await openWorld();
    const sessions = new Map<string, SSEServerTransport>();
    world.handle = async (incoming, response, body) => {
      const url = new URL(incoming.url ?? "", world.url);
      const session = sessions.get(url.searchParams.get("sessionId") ?? "");
      if (incoming.method === "GET") {
        const transport = new SSEServerTransport("/mcp/messages", response);
        sessions.set(transport.sessionId, transport);
        await createFixtureServer({ onHanging: () => {}, onCancelled: () => {} }).connect(transport);
      } else if (session !== undefined) await session.handlePostMessage(incoming, response, body);
      else response.writeHead(405).end();
    };
    const connector = connect(world, withPerson(world));
    const add = (): Promise<unknown> =>
      connector.callTool("add", { a: 1, b: 2 }, request).then(({ data }) => data);
    expect(await add()).toEqual({ sum: 3 });
    expect((await connector.check(nobody)).about).toMatchObject({ transport: "sse" });
    world.access.clear();
    expect(await add()).toEqual({ sum: 3 });
    world.access.clear();
    world.refresh.clear();
    expect(await errorOf(connect(world, {}).check(nobody))).toMatchObject({ code: "AUTH_REQUIRED" });
  });
});

describe("an answer to a login", () => {
  const answers: readonly (readonly [what: string, change: (url: URL) => void, why: string])[] = [
    [
      "of another login",
      (url) => url.searchParams.set("state", "other"),
      "the answer is one to another login",
    ],
    ["without a state", (url) => url.searchParams.delete("state"), "the answer is one to another login"],
    [
      "from another place",
      (url) => {
        url.port = "10";
      },
      "the browser was sent to another place than oauth.redirectUrl",
    ],
    [
      "from another program",
      (url) => {
        url.protocol = "https:";
      },
      "the browser was sent to another place than oauth.redirectUrl",
    ],
    [
      "of another authorization server",
      (url) => url.searchParams.set("iss", "https://evil.example"),
      "the answer is of another authorization server",
    ],
    [
      "that does not say who it is from, though it has to",
      (url) => url.searchParams.delete("iss"),
      "the answer is of another authorization server",
    ],
    ["without a code", (url) => url.searchParams.delete("code"), "the answer has no code"],
    [
      "that refuses",
      (url) => {
        url.searchParams.delete("code");
        url.searchParams.set("error", "access_denied");
      },
      "it was refused (access_denied)",
    ],
    [
      "that refuses in words of its own",
      (url) => {
        url.searchParams.delete("code");
        url.searchParams.set("error", "<b>call 0190 to log in</b>");
      },
      "it was refused (for a reason of its own)",
    ],
  ];

  test.each(answers)("%s fails, and no code is shown to anybody", async (_, change, why) => {
    const world = await openWorld();
    const connector = connect(world, {
      redirectUrl: REDIRECT_URL,
      onAuthorize: async (asked) => {
        const url = new URL(await world.person(asked));
        change(url);
        return url;
      },
    });
    expect(await errorOf(count(connector))).toMatchObject({
      code: "AUTH_FAILED",
      message: `Cannot log in to "guarded": ${why}`,
    });
    expect(world.of("/token")).toEqual([]);
  });

  test.each(["code", "path"])("may be the %s alone", async (form) => {
    const world = await openWorld();
    world.metadata = (metadata) => ({
      ...metadata,
      authorization_response_iss_parameter_supported: undefined,
    });
    const connector = connect(world, {
      redirectUrl: REDIRECT_URL,
      onAuthorize: async (asked) => {
        const url = new URL(await world.person(asked));
        return form === "code" ? (url.searchParams.get("code") ?? "") : url.pathname + url.search;
      },
    });
    expect(await count(connector)).toBe("call 1");
  });

  test.each<[what: string, answer: unknown, why: string]>([
    ["nothing", undefined, "oauth.onAuthorize gave neither the URL of the browser nor a code"],
    ["an object", {}, "oauth.onAuthorize gave neither the URL of the browser nor a code"],
    ["an empty text", "", "oauth.onAuthorize gave neither the URL of the browser nor a code"],
    [
      "a URL of elsewhere",
      "https://user:password@elsewhere.example/?session=secret",
      "the browser was sent to another place than oauth.redirectUrl",
    ],
    ["a URL without an answer", REDIRECT_URL, "the answer is one to another login"],
    ["a URL that is none", "http://", "the browser was sent to another place than oauth.redirectUrl"],
  ])("that is %s is sent to nobody", async (_, answer, why) => {
    const world = await openWorld();
    world.metadata = (metadata) => ({
      ...metadata,
      authorization_response_iss_parameter_supported: undefined,
    });
    const connector = connect(world, {
      redirectUrl: REDIRECT_URL,
      onAuthorize: () => Promise.resolve(answer as string),
    });
    expect(await errorOf(count(connector))).toMatchObject({
      code: "AUTH_FAILED",
      message: `Cannot log in to "guarded": ${why}`,
    });
    expect(world.of("/token")).toEqual([]);
  });

  test("may come to a program, and to no other", async () => {
    const world = await openWorld();
    const redirectUrl = "myapp://back/here";
    for (const scheme of ["evil", "myapp"]) {
      const connector = connect(world, {
        redirectUrl,
        onAuthorize: async (asked) => (await world.person(asked)).replace("myapp:", `${scheme}:`),
      });
      if (scheme === "myapp") expect(await count(connector)).toBe("call 1");
      else expect(await errorOf(count(connector))).toMatchObject({ code: "AUTH_FAILED" });
    }
  });

  test.each([
    new Error("no browser in /home/ann"),
    new ConnectorError("other", "TOOL_CALL_TIMEOUT", "no browser"),
  ])("that the host could not get is no secret of the host's: %s", async (failure) => {
    const world = await openWorld();
    const connector = connect(world, {
      redirectUrl: REDIRECT_URL,
      onAuthorize: () => Promise.reject(failure),
    });
    const error = await errorOf(count(connector));
    expect(error.message).toBe('Nobody logged in to "guarded": the host\'s login failed');
    expect(String(error.cause)).toContain("no browser");
  });
});

describe("tokens", () => {
  test("that ran out are replaced in mid-use, and the call is made once", async () => {
    const world = await openWorld();
    const { oauth, urls } = counted(world);
    const connector = connect(world, oauth);
    expect(await count(connector)).toBe("call 1");
    world.access.clear();
    expect(await count(connector)).toBe("call 2");
    expect(urls).toHaveLength(1);
    expect(world.of("/token").at(-1)?.params).toMatchObject({
      grant_type: "refresh_token",
      resource: world.url,
    });
  });

  test("that cannot be replaced any more need a login again", async () => {
    const world = await openWorld();
    const { oauth, urls } = counted(world);
    const connector = connect(world, oauth);
    await count(connector);
    world.access.clear();
    world.refresh.clear();
    expect(await count(connector)).toBe("call 2");
    expect(urls).toHaveLength(2);
    expect(world.clients.size).toBe(1);
    // A client that the server has forgotten registers itself again.
    world.access.clear();
    world.clients.clear();
    expect(await count(connector)).toBe("call 3");
    expect(urls).toHaveLength(3);
  });

  test("that the server does not take, though they are new, fail the call, and the next one logs in", async () => {
    const world = await openWorld();
    const { oauth, urls } = counted(world);
    const connector = connect(world, oauth);
    await count(connector);
    const { access } = world;
    const set = vi.spyOn(access, "set").mockReturnValue(access);
    access.clear();
    expect(await errorOf(count(connector))).toMatchObject({ code: "AUTH_FAILED", hasNoEffect: true });
    expect(world.of("/token")).toHaveLength(2);
    set.mockRestore();
    expect(await count(connector)).toBe("call 2");
    expect(urls).toHaveLength(2);
  });

  test("that another process replaced, and that ran out since, are refreshed and not forgotten", async () => {
    const world = await openWorld();
    const { tokens } = storeOf();
    const [first, second] = [connect(world, withPerson(world, { tokens })), connect(world, { tokens })];
    await count(first);
    await count(second);
    world.access.clear();
    await count(first);
    world.access.clear();
    expect(await count(second)).toBe("call 4");
    expect(await count(connect(world, { tokens }))).toBe("call 5");
  });

  test("that another process gets at the same moment are taken before anybody is asked", async () => {
    const world = await openWorld();
    const { tokens } = storeOf();
    const { oauth, urls } = counted(world, { tokens });
    const [first, second] = [connect(world, oauth), connect(world, oauth)];
    await count(first);
    await count(second);
    world.access.clear();
    let isFirst = true;
    world.answer = async ({ path }) => {
      if (path !== "/token" || !isFirst) return false;
      isFirst = false;
      // Its refresh token is used up before this answer.
      await count(first);
      return false;
    };
    expect(await count(second)).toBe("call 4");
    expect(urls).toHaveLength(1);
  });

  test.each(["refresh_token", "authorization_code"])(
    "that are on their way (%s) are kept, though nobody waits for them any more",
    async (grant) => {
      const world = await openWorld();
      const { oauth, urls } = counted(world);
      const connector = connect(world, oauth);
      if (grant === "refresh_token") await count(connector);
      world.access.clear();
      const [asked, open] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      world.answer = async ({ path }) => {
        if (path !== "/token") return false;
        asked.resolve();
        await open.promise;
        return false;
      };
      const leaver = new AbortController();
      const left = errorOf(connector.callTool("count", {}, { ...request, signal: leaver.signal }));
      await asked.promise;
      leaver.abort();
      expect(await left).toMatchObject({ code: "CALL_ABORTED" });
      const next = count(connector);
      open.resolve();
      expect(await next).toMatch(/^call/u);
      expect(urls).toHaveLength(1);
      expect(world.of("/token").filter(({ params }) => params["grant_type"] === grant)).toHaveLength(1);
    },
  );

  test("for two rights that are wanted at once come of two logins, and both calls are made", async () => {
    const world = await openWorld();
    const { tokens } = storeOf();
    await count(connect(world, withPerson(world, { tokens })));
    const wanted = new Set<string>();
    const both = Promise.withResolvers<void>();
    world.neededScope = (body) => {
      const needed = body.includes('"count"') ? "counting" : body.includes('"add"') ? "adding" : undefined;
      if (needed !== undefined) wanted.add(needed);
      if (wanted.size === 2) both.resolve();
      return needed;
    };
    const connector = connect(world, {
      tokens,
      redirectUrl: REDIRECT_URL,
      onAuthorize: async (asked) => {
        await both.promise;
        return world.person(asked);
      },
    });
    await connector.check(nobody);
    const add = connector.callTool("add", { a: 1, b: 2 }, request).then(({ data }) => data);
    expect(await Promise.all([count(connector), add])).toEqual(["call 2", { sum: 3 }]);
  });

  test("of a client that registered for another redirect come of a client that registers again", async () => {
    const world = await openWorld();
    const { tokens } = storeOf();
    await count(connect(world, withPerson(world, { tokens })));
    const redirectUrl = "http://127.0.0.1:10/callback";
    world.access.clear();
    const moved = connect(world, withPerson(world, { tokens, redirectUrl }));
    expect(await count(moved)).toBe("call 2");
    expect(world.of("/register")).toHaveLength(1);
    world.access.clear();
    world.refresh.clear();
    expect(await count(moved)).toBe("call 3");
    expect(world.of("/register")[1]?.params).toMatchObject({ redirect_uris: [redirectUrl] });
  });

  test("in a vault whose writer was stopped in the middle are got and kept anew", async () => {
    const world = await openWorld();
    const folder = await mkdtemp(join(tmpdir(), "codecell-tokens-"));
    opened.push({ [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) });
    const vault = openVault({ file: join(folder, "vault"), env: {} });
    vi.spyOn(vault, "grant").mockRejectedValueOnce(new Error("stopped"));
    const tokens = vaultTokens(vault);
    expect(await errorOf(count(connect(world, withPerson(world, { tokens }))))).toMatchObject({
      code: "CONFIG_INVALID",
    });
    expect(await count(connect(world, withPerson(world, { tokens })))).toBe("call 1");
    expect(await count(connect(world, { tokens }))).toBe("call 2");
  });

  test("with too few rights are replaced by a login that asks for more, and the call is made once", async () => {
    const world = await openWorld();
    const { oauth, urls } = counted(world, { scope: "read" });
    const connector = connect(world, oauth);
    await connector.check(nobody);
    world.neededScope = (body) => (body.includes('"tools/call"') ? "write" : undefined);
    expect(await count(connector)).toBe("call 1");
    expect(urls.map(({ searchParams }) => searchParams.get("scope"))).toEqual(["read", "read write"]);
    expect(world.calls).toBe(1);
    world.neededScope = (body) => (body.includes('"tools/call"') ? "owner" : undefined);
    // A person who gives no more than before.
    const { access } = world;
    vi.spyOn(access, "set").mockImplementation((token) => Map.prototype.set.call(access, token, "read"));
    expect(await errorOf(count(connector))).toMatchObject({ code: "AUTH_FAILED", hasNoEffect: true });
    expect(urls).toHaveLength(3);
    expect(world.calls).toBe(1);
  });

  test("are kept where the host says, for their connector, server and client alone", async () => {
    const world = await openWorld();
    const folder = await mkdtemp(join(tmpdir(), "codecell-tokens-"));
    opened.push({ [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) });
    const vault = openVault({ file: join(folder, "vault"), env: {} });
    const tokens = vaultTokens(vault);
    const { oauth, urls } = counted(world, { tokens });
    await count(connect(world, oauth));
    expect(await count(connect(world, { tokens }))).toBe("call 2");
    expect(urls).toHaveLength(1);
    expect(vault.list()).toMatchObject([{ grants: ["guarded"] }]);
    for (const [oauthOfOther, options] of [
      [{ tokens }, { id: "other" }],
      [{ tokens }, { url: `${world.url}/other` }],
      [{ tokens, clientId: "desk" }, {}],
    ] as const)
      expect(await errorOf(count(connect(world, oauthOfOther, options)))).toMatchObject({
        code: "AUTH_REQUIRED",
      });
    // What is kept runs out too.
    world.access.clear();
    expect(await count(connect(world, { tokens }))).toBe("call 3");
  });

  test("that another process has replaced in the meantime are taken from the store", async () => {
    const world = await openWorld();
    const { tokens } = storeOf();
    const [first, second] = [connect(world, withPerson(world, { tokens })), connect(world, { tokens })];
    await count(first);
    await count(second);
    world.access.clear();
    await count(first);
    // Its own refresh token was used by the first.
    expect(await count(second)).toBe("call 4");
    expect(world.of("/token")).toHaveLength(2);
  });

  test("in a store that fails, or that gives nonsense, are said to be so", async () => {
    const world = await openWorld();
    const none = (): void => {};
    const fails = (): never => {
      throw new Error("disk full");
    };
    const broken = connect(world, { tokens: { load: fails, save: none, delete: none } });
    expect(await errorOf(count(broken))).toMatchObject({
      code: "CONFIG_INVALID",
      message: 'Cannot load the tokens of "guarded": the store of oauth.tokens failed',
    });
    for (const nonsense of ["{", "5", '{"issuer":5}', '{"issuer":"x","tokens":{"access_token":"a\\nb"}}'])
      expect(
        await errorOf(count(connect(world, { tokens: { load: () => nonsense, save: none, delete: none } }))),
      ).toMatchObject({ code: "AUTH_REQUIRED" });
  });

  test("leave a connector nowhere, nor does the secret of a client that registered itself", async () => {
    const world = await openWorld();
    // In the older protocol: it repeats what it knows, wherever it can.
    world.handle = (_, response, body) => {
      const message = (body ?? {}) as Request;
      const [answer] = mcpAnswers(message, world.secrets).toReversed();
      if (message.id === undefined) response.writeHead(message.method === undefined ? 405 : 202).end();
      else json(response, 200, answer);
      return Promise.resolve();
    };
    const warned = vi.spyOn(console, "warn");
    const connector = connect(world, withPerson(world));
    const seen: unknown[] = [];
    const see = async (action: Promise<unknown> | undefined): Promise<void> => {
      const thing = await action?.catch((error: unknown) => error);
      seen.push(thing, thing instanceof Error ? (thing as ConnectorError).details : undefined);
    };
    for (const round of [1, 2]) {
      await see(connector.check(nobody));
      await see(connector.tools(nobody));
      for (const how of MCP_LEAKS) await see(connector.callTool("leak", { how, round }, request));
      await see(connector.context?.readResource("leak://1", nobody));
      await see(connector.context?.getPrompt("leak", {}, nobody));
      world.access.clear();
    }
    // A refusal that repeats what it was sent.
    world.answer = ({ path, params }, response) => {
      if (path !== "/token") return false;
      json(response, 400, {
        error: "invalid_request",
        error_description: allForms([JSON.stringify(params)]),
      });
      return true;
    };
    world.access.clear();
    await see(connector.check(nobody));
    const shown = inspect([seen, connector.facts, warned.mock.calls], {
      depth: 20,
      maxStringLength: Infinity,
      maxArrayLength: Infinity,
    });
    warned.mockRestore();
    expect(world.secrets.length).toBeGreaterThan(4);
    for (const secret of world.secrets) expect(shown).not.toContain(secret);
    for (const secret of world.secrets)
      for (const form of [encodeURIComponent(secret), Buffer.from(secret).toString("hex")])
        expect(shown).not.toContain(form);
    expect(shown).toContain("[hidden]");
  });
});

describe("nobody is asked to log in again and again", () => {
  const WRITE = (body: string): string | undefined => (body.includes('"tools/call"') ? "write" : undefined);

  test("for rights that nobody gives", async () => {
    const world = await openWorld();
    const urls: URL[] = [];
    const connector = connect(world, {
      scope: "read",
      redirectUrl: REDIRECT_URL,
      onAuthorize: ({ url }) => {
        urls.push(new URL(url));
        url.searchParams.set("scope", "read");
        return world.person({ url });
      },
    });
    await connector.check(nobody);
    world.neededScope = WRITE;
    for (let call = 0; call < 6; call++)
      expect(await errorOf(count(connector))).toMatchObject({ code: "AUTH_FAILED" });
    expect(urls).toHaveLength(2);
    // What needs no more rights is done meanwhile.
    await connector.check(nobody);
  });

  test("for ever new rights", async () => {
    const world = await openWorld();
    const { oauth, urls } = counted(world, { scope: "read" });
    const connector = connect(world, oauth);
    await connector.check(nobody);
    let times = 0;
    world.neededScope = (body) => WRITE(body)?.concat(String(times++));
    for (let call = 0; call < 9; call++)
      expect(await errorOf(count(connector))).toMatchObject({ code: "AUTH_FAILED" });
    expect(urls).toHaveLength(4);
  });

  test("for tokens that the server never takes", async () => {
    const world = await openWorld();
    const { oauth, urls } = counted(world);
    const connector = connect(world, oauth);
    const { access } = world;
    vi.spyOn(access, "set").mockReturnValue(access);
    for (let call = 0; call < 5; call++)
      expect(await errorOf(count(connector))).toMatchObject({ code: "AUTH_FAILED", hasNoEffect: true });
    expect(urls).toHaveLength(1);
  });

  test("by calls that end while the person is asked", async () => {
    const world = await openWorld();
    let asked = 0;
    let leaver = new AbortController();
    const connector = connect(world, {
      redirectUrl: REDIRECT_URL,
      scope: "read",
      onAuthorize: (login) => {
        asked++;
        if (asked === 1) return world.person(login);
        leaver.abort();
        return new Promise(() => {});
      },
    });
    await connector.check(nobody);
    world.neededScope = WRITE;
    const codes: unknown[] = [];
    for (let call = 0; call < 5; call++) {
      leaver = new AbortController();
      const error = await errorOf(connector.callTool("count", {}, { ...request, signal: leaver.signal }));
      codes.push(error.code);
    }
    expect(codes).toEqual(["CALL_ABORTED", ...Array.from({ length: 4 }, () => "AUTH_REQUIRED")]);
    expect(asked).toBe(2);
  });

  test("because they said no to more rights", async () => {
    const world = await openWorld();
    let asked = 0;
    const connector = connect(world, {
      redirectUrl: REDIRECT_URL,
      scope: "read",
      onAuthorize: async (login) => {
        asked++;
        const url = new URL(await world.person(login));
        if (asked > 1) {
          url.searchParams.delete("code");
          url.searchParams.set("error", "access_denied");
        }
        return url;
      },
    });
    expect(await count(connector)).toBe("call 1");
    world.neededScope = WRITE;
    expect(await errorOf(count(connector))).toMatchObject({ code: "AUTH_FAILED" });
    world.neededScope = () => undefined;
    world.access.clear();
    expect(await count(connector)).toBe("call 2");
    expect(asked).toBe(2);
    expect(world.clients.size).toBe(1);
  });
});

describe("a server cannot lead credentials away [handles:41]", () => {
  test("by describing its logins at another origin", async () => {
    const [world, trap] = [await openWorld(), await openTrap()];
    world.challenge = () => `Bearer resource_metadata="${trap.origin}/metadata"`;
    const error = await errorOf(count(connect(world, withPerson(world))));
    expect(error).toMatchObject({ code: "AUTH_FAILED" });
    expect(error.message).toContain("another origin than its own");
    expect(trap.asked()).toBe(0);
  });

  test("by giving tokens of another server in place of its own", async () => {
    const world = await openWorld();
    world.resource = (metadata) => ({ ...metadata, resource: "https://bank.example/mcp" });
    const { oauth, urls } = counted(world);
    const error = await errorOf(count(connect(world, oauth)));
    expect(error).toMatchObject({ code: "AUTH_FAILED" });
    expect(error.message).toContain("the tokens of another server");
    expect(urls).toEqual([]);
    expect(world.of("/register")).toEqual([]);
  });

  test("to an authorization server that the configured secret is not for", async () => {
    const world = await openWorld();
    const client = { clientId: "desk", clientSecret: world.secret("given") };
    for (const oauth of [client, { ...client, issuer: "https://bank.example" }]) {
      const error = await errorOf(count(connect(world, withPerson(world, oauth))));
      expect(error).toMatchObject({ code: "AUTH_FAILED" });
      expect(error.message).toContain("oauth.issuer");
    }
    expect(world.of("/token")).toEqual([]);
  });

  test("that it names in place of the one whose tokens are kept", async () => {
    const [world, other] = [await openWorld(), await openWorld()];
    const { oauth, urls } = counted(world);
    const connector = connect(world, oauth);
    await count(connector);
    world.resource = (metadata) => ({ ...metadata, authorization_servers: [other.issuer] });
    world.access.clear();
    expect(await errorOf(count(connector))).toMatchObject({ code: "AUTH_FAILED" });
    // The other one was asked for a client and a login of its own.
    expect(urls).toHaveLength(2);
    expect(other.of("/register")).toHaveLength(1);
    const told = JSON.stringify(other.asked);
    for (const secret of world.secrets) expect(told).not.toContain(secret);
  });

  const places = ["token_endpoint", "authorization_endpoint", "registration_endpoint"].flatMap((name) =>
    ["http://10.0.0.1/x", "javascript:alert(1)", "file:///etc/passwd"].map((place) => [name, place] as const),
  );
  test.each(places)("by a %s at %s", async (name, place) => {
    const world = await openWorld();
    world.metadata = (metadata) => ({ ...metadata, [name]: place });
    const { oauth, urls } = counted(world);
    const error = await errorOf(count(connect(world, oauth)));
    expect(["AUTH_FAILED", "DOWNSTREAM_PROTOCOL_ERROR"]).toContain(error.code);
    expect(urls).toEqual([]);
    expect(world.of("/register")).toEqual([]);
  });

  test.each(["/token", "/register"])("by a redirect from %s", async (path) => {
    const [world, trap] = [await openWorld(), await openTrap()];
    world.answer = (asked, response) => {
      if (asked.path !== path) return false;
      response.writeHead(307, { location: `${trap.origin}/` }).end();
      return true;
    };
    expect(await errorOf(count(connect(world, withPerson(world))))).toHaveProperty("code");
    expect(trap.asked()).toBe(0);
  });

  test("by a redirect of a request that has a token", async () => {
    const [world, trap] = [await openWorld(), await openTrap()];
    world.handle = (_, response) => {
      response.writeHead(307, { location: `${trap.origin}/` }).end();
      return Promise.resolve();
    };
    await errorOf(count(connect(world, withPerson(world))));
    expect(trap.asked()).toBe(0);
  });
});

describe("a server that does not say where to log in", () => {
  /** As servers did before they described their logins. */
  function openAlone(world: OAuthWorld): void {
    world.isAlone = true;
    world.challenge = () => "Bearer";
  }

  test("is its own authorization server, and the tokens are for it alone", async () => {
    const world = await openWorld();
    openAlone(world);
    const { oauth, urls } = counted(world);
    const connector = connect(world, oauth);
    expect(await count(connector)).toBe("call 1");
    expect(urls[0]?.searchParams.get("resource")).toBe(world.url);
    world.access.clear();
    expect(await count(connector)).toBe("call 2");
    expect(world.of("/token").map(({ params }) => params["resource"])).toEqual([world.url, world.url]);
  });

  test("does not lead the configured secret to another origin", async () => {
    const [world, trap] = [await openWorld(), await openTrap()];
    openAlone(world);
    world.metadata = (metadata) => ({ ...metadata, token_endpoint: `${trap.origin}/token` });
    const { oauth, urls } = counted(world, { clientId: "desk", clientSecret: world.secret("given") });
    const error = await errorOf(count(connect(world, oauth)));
    expect(error).toMatchObject({ code: "AUTH_FAILED" });
    expect(error.message).toContain("oauth.issuer");
    expect(urls).toEqual([]);
    expect(trap.asked()).toBe(0);
  });

  test.each([
    ["fails", 500, true],
    ["has nothing where it said that it had", 404, true],
    ["said where before", 404, false],
    ["answers nonsense", 200, true],
  ])("because it %s, leads nowhere else, and the login is kept", async (_, status, isNamed) => {
    const world = await openWorld();
    const { oauth, urls } = counted(world);
    const connector = connect(world, oauth);
    await count(connector);
    if (!isNamed) world.challenge = () => "Bearer";
    world.describe = (response) => {
      response.writeHead(status).end("{");
      return true;
    };
    world.access.clear();
    expect(await errorOf(count(connector))).toMatchObject({ code: "SERVER_UNAVAILABLE" });
    world.describe = () => false;
    expect(await count(connector)).toBe("call 2");
    expect(urls).toHaveLength(1);
  });
});

describe("an authorization server", () => {
  test("that does not say that it proves logins is not used", async () => {
    const world = await openWorld();
    const { oauth, urls } = counted(world);
    for (const methods of [undefined, [], ["plain"]]) {
      world.metadata = (metadata) => ({ ...metadata, code_challenge_methods_supported: methods });
      const error = await errorOf(count(connect(world, oauth)));
      expect(error).toMatchObject({ code: "AUTH_FAILED" });
      expect(error.message).toContain("PKCE");
    }
    expect(urls).toEqual([]);
    expect(world.of("/register")).toEqual([]);
  });

  test("that calls itself another one is not used", async () => {
    const world = await openWorld();
    world.metadata = (metadata) => ({ ...metadata, issuer: "https://bank.example" });
    expect(await errorOf(count(connect(world, withPerson(world))))).toMatchObject({
      code: "AUTH_FAILED",
      message:
        'Cannot log in to "guarded": its authorization server says that it is another one than was asked',
    });
  });

  test("that registers no clients is said to be so", async () => {
    const world = await openWorld();
    world.metadata = (metadata) => ({ ...metadata, registration_endpoint: undefined });
    const error = await errorOf(count(connect(world, withPerson(world))));
    expect(error.code).toBe("AUTH_REQUIRED");
    expect(error.message).toContain("Register one by hand, and configure oauth.clientId");
  });

  test.each(["/.well-known/oauth-authorization-server", "/register", "/token"])(
    "that answers %s with 50 MB is not read to the end",
    async (path) => {
      const world = await openWorld();
      world.answer = (asked, response) => {
        if (asked.path !== path) return false;
        response.on("error", () => {});
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({ access_token: "x".repeat(50_000_000) }));
        return true;
      };
      const error = await errorOf(count(connect(world, withPerson(world))));
      expect(error).toMatchObject({ code: "DOWNSTREAM_PROTOCOL_ERROR", connector: "guarded" });
    },
  );

  test("that never answers is given up in time", async () => {
    const world = await openWorld();
    world.answer = ({ path }) => path === "/token";
    const connector = connect(world, withPerson(world), { startTimeoutMs: 2000 });
    const error = await errorOf(count(connector));
    expect(["SERVER_UNAVAILABLE", "SERVER_START_TIMEOUT"]).toContain(error.code);
  });

  test.each([
    ["no tokens", {}],
    ["tokens of another kind", { access_token: "a-token-like-any", token_type: "DPoP" }],
    ["a token that would end its header", { access_token: "a-token\r\nx-evil: 1", token_type: "Bearer" }],
    ["a token that no header holds", { access_token: "x".repeat(20_000), token_type: "Bearer" }],
  ])("that gives %s is said to be wrong", async (_, tokens) => {
    const world = await openWorld();
    world.answer = ({ path }, response) => {
      if (path !== "/token") return false;
      json(response, 200, tokens);
      return true;
    };
    expect(await errorOf(count(connect(world, withPerson(world))))).toMatchObject({
      code: "DOWNSTREAM_PROTOCOL_ERROR",
    });
  });

  test("that fails now does not end a login that is kept", async () => {
    const world = await openWorld();
    const { oauth, urls } = counted(world);
    const connector = connect(world, oauth);
    await count(connector);
    world.access.clear();
    world.answer = ({ path }, response) => {
      if (path === "/token") response.writeHead(503).end();
      return path === "/token";
    };
    expect(await errorOf(count(connector))).toMatchObject({ code: "SERVER_UNAVAILABLE" });
    world.answer = () => false;
    expect(await count(connector)).toBe("call 2");
    expect(urls).toHaveLength(1);
  });
});

test.each<[what: RegExp, oauth: object, options?: object]>([
  [/begins with https:/u, {}, { url: "http://mcp.example/mcp" }],
  [/leave one out/u, {}, { headers: { Authorization: "Bearer x" } }],
  [/nobody reads its options oauth\.code/u, { code: "x" }],
  [/"oauth\.clientSecret" needs "oauth\.clientId"/u, { clientSecret: "x" }],
  [/needs "oauth\.redirectUrl"/u, { onAuthorize: () => Promise.resolve("") }],
  [/"oauth\.clientId" has to be a text/u, { clientId: 5 }],
  [/"oauth\.grant" has to be/u, { grant: "implicit" }],
  [/which needs "oauth\.clientId"/u, { grant: "client_credentials" }],
  [/"oauth\.clientMetadataUrl" has to begin with https:/u, { clientMetadataUrl: "http://a.example/x" }],
  [/"oauth\.authorizeTimeoutMs" has to be a number/u, { authorizeTimeoutMs: 0 }],
  [/nobody reads its options oauth/u, {}, { command: "x", url: undefined }],
])("a configuration that cannot work is refused: %s", (what, oauth, options = {}) => {
  const given = Object.fromEntries(
    Object.entries({ id: "guarded", url: "https://mcp.example/mcp", oauth, ...options }).filter(
      ([, value]) => value !== undefined,
    ),
  );
  expect(() => mcp(given as never)).toThrow(what);
});
