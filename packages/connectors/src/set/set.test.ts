import { describe, expect, test } from "vitest";
import { nobody, openShop, openWeb, json, requestOf } from "../../../../test/connectors/web-backend.ts";
import type {
  BackendTool,
  ChangedList,
  Connector,
  Context,
  Readiness,
  ToolRequest,
} from "../contract/connector.ts";
import { Bytes } from "../contract/connector.ts";
import { ConnectorError } from "../contract/connector-error.ts";
import { http } from "../http/http.ts";
import { testConnector } from "../testing/index.ts";
import { toToolSource } from "../tools/tool-source.ts";
import { set, type SetOfConnectors } from "./set.ts";

const SECRET = "canary-s3cret-token";
const card = { name: "Desk", description: "What the desk has" };
const text = { type: "string" } as const;

testConnector("set [handles:107]", async ({ timeoutMs, responseBytes }) => {
  const shop = (id: string, baseUrl: string): Connector =>
    http({
      id,
      card: { name: id, description: "A shop on loopback" },
      baseUrl,
      timeoutMs,
      responseBytes,
      credentials: [{ type: "bearer", token: SECRET }],
      actions: [
        {
          name: "get_item",
          method: "GET",
          path: "/items/{id}",
          input: { type: "object", properties: { id: text } },
        },
        { name: "hang", method: "POST", path: "/hang" },
        { name: "large", method: "GET", path: "/large" },
      ],
    });
  const opened = await openShop({ getItem: "inner.east.get_item", secret: SECRET }, (baseUrl) =>
    set({
      id: "desk",
      card,
      retryMs: 0,
      open: () =>
        Promise.resolve([
          set({ id: "inner", card, retryMs: 0, owned: true, connectors: [shop("east", baseUrl)] }),
          shop("west", baseUrl),
        ]),
    }),
  );
  return {
    ...opened,
    hangs: { ...opened.hangs, tool: "west.hang" },
    large: { ...opened.large, tool: "inner.east.large" },
  };
});

interface Fake extends Connector {
  readonly calls: { readonly name: string; readonly input: unknown; readonly request: ToolRequest }[];
  readonly tell: (list: ChangedList) => void;
  readonly ends: () => number;
  readonly listeners: () => number;
}

interface FakeOptions {
  readonly tools?: readonly BackendTool[] | (() => Promise<readonly BackendTool[]>);
  readonly check?: () => Promise<Readiness>;
  readonly context?: Context;
  readonly isTrusted?: boolean;
  readonly identity?: string;
  readonly call?: (name: string, request: ToolRequest) => Promise<unknown>;
  readonly end?: () => Promise<void>;
  readonly card?: Connector["card"];
}

/** A connector whose answers the test gives. */
function fake(id: string, options: FakeOptions = {}): Fake {
  const { tools = [{ name: "go" }], isTrusted = false, call = () => Promise.resolve(null) } = options;
  const listeners = new Set<(list: ChangedList) => void>();
  const calls: Fake["calls"] = [];
  let ends = 0;
  const list = typeof tools === "function" ? tools : () => Promise.resolve(tools);
  return {
    id,
    kind: "mcp",
    card: options.card ?? { name: id.toUpperCase(), description: `The fake ${id}` },
    facts: {},
    identity: options.identity ?? `fake:${id}`,
    isTrusted,
    calls,
    check: options.check ?? (async () => ({ tools: (await list()).length })),
    tools: list,
    callTool: async (name, input, request) => {
      calls.push({ name, input, request });
      return { data: await call(name, request) };
    },
    ...(options.context === undefined ? {} : { context: options.context }),
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    tell: (changed) => {
      for (const listener of listeners) listener(changed);
    },
    ends: () => ends,
    listeners: () => listeners.size,
    [Symbol.asyncDispose]: async () => {
      ends++;
      await options.end?.();
    },
  };
}

function deskOf(connectors: readonly Connector[], options: Partial<SetOfConnectors> = {}): Connector {
  return set({ id: "desk", card, connectors, ...options });
}

function namesOf(connector: Connector): Promise<string[]> {
  return connector.tools({ signal: nobody }).then((tools) => tools.map(({ name }) => name));
}

const never = (): Promise<never> => new Promise<never>(() => {});
const down =
  (id: string, code: "SERVER_UNAVAILABLE" | "AUTH_REQUIRED" = "SERVER_UNAVAILABLE") =>
  () =>
    Promise.reject(new ConnectorError(id, code, `"${id}" is away`));

function contextOf(name: string, more: Partial<Context> = {}): Context {
  return {
    resources: async () => [{ uri: "file:///a", name }],
    resourceTemplates: async () => [{ uriTemplate: "file:///{path}", name }],
    prompts: async () => [{ name: "ask.it", description: name }],
    readResource: async (uri) => ({ data: [name, uri] }),
    getPrompt: async (prompt, args) => ({ data: [name, prompt, args] }),
    complete: async ({ ref, argument }) => ({ values: [name, JSON.stringify(ref), argument.value] }),
    ...more,
  };
}

describe("the tools of a set", () => {
  test("have the names of their members before theirs, in the order of the members", async () => {
    const [a, b] = [
      fake("a", { tools: [{ name: "x" }, { name: "b.x" }] }),
      fake("b", { tools: [{ name: "x" }] }),
    ];
    expect(await namesOf(deskOf([b, a]))).toEqual(["b.x", "a.x", "a.b.x"]);
  });

  test("are called with their own names, the key of the call and its signal", async () => {
    const bytes = new Bytes(new Uint8Array([1]));
    const a = fake("a", { call: () => Promise.resolve({ bytes }) });
    const desk = deskOf([a, fake("b")]);
    const reports: unknown[] = [];
    const request = { ...requestOf(), onProgress: (value: unknown) => void reports.push(value) };
    const input = { given: bytes };
    expect((await desk.callTool("a.go.on", input, request)).data).toEqual({ bytes });
    const [call] = a.calls;
    expect(call?.name).toBe("go.on");
    expect(call?.input).toBe(input);
    expect(call?.request.idempotencyKey).toBe("key-1");
    call?.request.onProgress?.(1);
    expect(reports).toEqual([1]);
  });

  test.each(["go", "", ".", "c.go", "A.go", "__proto__.go", "a"])("are not found at %j", async (name) => {
    const a = fake("a");
    await expect(deskOf([a]).callTool(name, {}, requestOf())).rejects.toMatchObject({
      code: "TOOL_NOT_FOUND",
      connector: "desk",
      hasNoEffect: true,
      message: expect.stringContaining(`"${name}"`),
    });
    expect(a.calls).toEqual([]);
  });

  test("have what their member's card says for choosing", async () => {
    const shop = { name: "Shop", description: "Sells", useWhen: "buying", avoidWhen: "broke", tags: ["t"] };
    const tools = [
      { name: "plain" },
      { name: "own", description: "d", useWhen: "u", avoidWhen: "a", tags: ["t", "o"], title: "T" },
    ];
    expect(await deskOf([fake("shop", { tools, card: shop })]).tools({ signal: nobody })).toEqual([
      {
        name: "shop.plain",
        description: "Sells",
        useWhen: "buying",
        avoidWhen: "broke",
        tags: ["t", "Shop"],
      },
      {
        name: "shop.own",
        title: "T",
        description: "d",
        useWhen: "u",
        avoidWhen: "a",
        tags: ["t", "o", "Shop"],
      },
    ]);
  });

  test("have schemas that are read when somebody asks for them, once", async () => {
    let reads = 0;
    const tool: BackendTool = Object.defineProperty({ name: "go" }, "inputSchema", {
      enumerable: true,
      get: () => {
        reads++;
        return { type: "object" };
      },
    });
    const desk = deskOf([fake("a", { tools: [tool] })]);
    const [listed] = await desk.tools({ signal: nobody });
    const [again] = await desk.tools({ signal: nobody });
    expect(reads).toBe(0);
    expect(again).toBe(listed);
    expect(listed?.inputSchema).toEqual({ type: "object" });
    expect(listed).not.toHaveProperty("outputSchema");
  });

  test("are refused of a member with two tools of one name, and the others are there", async () => {
    const desk = deskOf([fake("a", { tools: [{ name: "x" }, { name: "x" }] }), fake("b")]);
    expect(await namesOf(desk)).toEqual(["b.go"]);
    const alone = deskOf([fake("a", { tools: [{ name: "x" }, { name: "x" }] })]);
    await expect(namesOf(alone)).rejects.toMatchObject({
      code: "DOWNSTREAM_PROTOCOL_ERROR",
      message: expect.stringContaining('two of them are called "x"'),
    });
  });

  test("are in a catalog with the names of all three: kind, set and member", async () => {
    const source = await toToolSource(deskOf([fake("a"), fake("b")]));
    expect(source).toMatchObject({ kind: "set", owner: "desk" });
    expect(Object.keys(source.tools)).toEqual(["a.go", "b.go"]);
  });
});

describe("trust", () => {
  const claims = { readOnlyHint: true, idempotentHint: true, destructiveHint: false };
  const tools = [
    { name: "read", ...claims },
    { name: "drop", idempotentHint: true, destructiveHint: true },
  ];
  const flagsOf = async (desk: Connector): Promise<unknown> => {
    const source = await toToolSource(desk);
    return Object.entries(source.tools).map(([name, { readOnly, idempotent }]) => [
      name,
      readOnly,
      idempotent,
    ]);
  };

  test("is each member's own: what one claims is not believed because another is trusted", async () => {
    const known = fake("known", { tools, isTrusted: true });
    const stranger = fake("stranger", { tools });
    const desk = deskOf([stranger, known]);
    expect(await flagsOf(desk)).toEqual([
      ["stranger.read", false, false],
      ["stranger.drop", false, false],
      ["known.read", true, true],
      ["known.drop", false, true],
    ]);
    expect(desk.isTrusted).toBe(true);
    const listed = await desk.tools({ signal: nobody });
    expect(listed[0]).toMatchObject({ destructiveHint: false });
    expect(listed[0]).not.toHaveProperty("readOnlyHint");
    expect(listed[1]).toMatchObject({ destructiveHint: true });
    expect(listed[1]).not.toHaveProperty("idempotentHint");
  });

  test("is not gained by a set around a set", async () => {
    const inner = set({
      id: "inner",
      card,
      connectors: [fake("stranger", { tools }), fake("known", { isTrusted: true, tools })],
    });
    const desk = deskOf([inner, fake("own", { tools, isTrusted: true })]);
    expect(await flagsOf(desk)).toEqual([
      ["inner.stranger.read", false, false],
      ["inner.stranger.drop", false, false],
      ["inner.known.read", true, true],
      ["inner.known.drop", false, true],
      ["own.read", true, true],
      ["own.drop", false, true],
    ]);
  });

  test("is not there before the members are known, and not if none is trusted", async () => {
    const desk = deskOf([fake("stranger", { tools })]);
    expect(desk.isTrusted).toBe(false);
    expect(await flagsOf(desk)).toEqual([
      ["stranger.read", false, false],
      ["stranger.drop", false, false],
    ]);
    expect(desk.isTrusted).toBe(false);
  });
});

describe("a member that is down", () => {
  test("keeps no other from being used, and the check says why", async () => {
    const away = fake("away", { tools: down("away", "AUTH_REQUIRED"), check: down("away", "AUTH_REQUIRED") });
    const desk = deskOf([away, fake("here")]);
    expect(await namesOf(desk)).toEqual(["here.go"]);
    expect((await desk.callTool("here.go", {}, requestOf())).data).toBeNull();
    expect(await desk.check({ signal: nobody })).toEqual({
      tools: 1,
      resources: 0,
      resourceTemplates: 0,
      prompts: 0,
      about: {
        members: 2,
        down: 1,
        "down: away": expect.stringMatching(/^AUTH_REQUIRED: .*"away" is away/u),
      },
    });
  });

  test("is all that there is: then the set is down, with the member's words", async () => {
    const away = (id: string): Fake => fake(id, { tools: down(id), check: down(id) });
    const desk = deskOf([away("a"), away("b")]);
    for (const asked of [desk.tools({ signal: nobody }), desk.check({ signal: nobody })]) {
      await expect(asked).rejects.toMatchObject({
        code: "SERVER_UNAVAILABLE",
        connector: "desk",
        message: expect.stringMatching(/"desk".*"a" is away.*"b" is away/u),
      });
    }
    await expect(
      deskOf([fake("a", { tools: down("a", "AUTH_REQUIRED") })]).tools({ signal: nobody }),
    ).rejects.toMatchObject({ code: "AUTH_REQUIRED" });
  });

  test("and never answers is waited for as long as it may take, and no longer", async () => {
    const silent = fake("silent", { tools: never, check: never });
    const desk = deskOf([silent, fake("here")], { memberTimeoutMs: 50 });
    expect(await namesOf(desk)).toEqual(["here.go"]);
    expect((await desk.check({ signal: nobody })).about).toMatchObject({
      "down: silent": expect.stringContaining("SERVER_START_TIMEOUT"),
    });
  });

  test("is left alone for a while, is asked again after that, and others learn that it is back", async () => {
    let asked = 0;
    let isAway = true;
    const tools = (): Promise<readonly BackendTool[]> => {
      asked++;
      return isAway ? down("moody")() : Promise.resolve([{ name: "go" }]);
    };
    const patient = deskOf([fake("moody", { tools }), fake("here")], { retryMs: 1_000_000 });
    await namesOf(patient);
    expect(await namesOf(patient)).toEqual(["here.go"]);
    expect(asked).toBe(1);
    const moody = fake("moody", { tools });
    const eager = deskOf([moody, fake("here")], { retryMs: 0 });
    const changes: ChangedList[] = [];
    eager.onChange((list) => changes.push(list));
    expect(await namesOf(eager)).toEqual(["here.go"]);
    isAway = false;
    expect(await namesOf(eager)).toEqual(["moody.go", "here.go"]);
    expect(await namesOf(eager)).toEqual(["moody.go", "here.go"]);
    expect(changes).toEqual(["tools"]);
    const news = deskOf([moody, fake("here")], { retryMs: 1_000_000 });
    isAway = true;
    expect(await namesOf(news)).toEqual(["here.go"]);
    isAway = false;
    moody.tell("tools");
    expect(await namesOf(news)).toEqual(["moody.go", "here.go"]);
    const checked = deskOf([moody, fake("here")], { retryMs: 1_000_000 });
    isAway = true;
    expect(await namesOf(checked)).toEqual(["here.go"]);
    isAway = false;
    await checked.check({ signal: nobody });
    expect(await namesOf(checked)).toEqual(["moody.go", "here.go"]);
  });

  test("for one list is not down for the others", async () => {
    const context = contextOf("a", { prompts: down("a") });
    const desk = deskOf([fake("a", { context })], { retryMs: 1_000_000 });
    const listed = desk.context;
    await expect(listed?.prompts({ signal: nobody })).rejects.toMatchObject({ code: "SERVER_UNAVAILABLE" });
    expect(await listed?.resources({ signal: nobody })).toHaveLength(1);
    expect(await namesOf(desk)).toEqual(["a.go"]);
  });

  test("fails with its own code, words and details, and whether it has acted", async () => {
    const call = (name: string): Promise<never> =>
      Promise.reject(
        name === "odd"
          ? new Error(`canary ${SECRET}`)
          : new ConnectorError("a", "AUTH_FAILED", "refused", {
              details: { status: 403 },
              hasNoEffect: true,
            }),
      );
    const desk = deskOf([fake("a", { call })]);
    await expect(desk.callTool("a.go", {}, requestOf())).rejects.toMatchObject({
      code: "AUTH_FAILED",
      connector: "desk",
      message: '"a" of "desk": refused',
      details: { status: 403 },
      hasNoEffect: true,
    });
    await expect(desk.callTool("a.odd", {}, requestOf())).rejects.toMatchObject({
      code: "SERVER_UNAVAILABLE",
      hasNoEffect: false,
      message: expect.not.stringContaining("canary"),
    });
  });
});

describe("resources and prompts of a set", () => {
  const desk = deskOf([
    fake("a", { context: contextOf("A") }),
    fake("plain"),
    fake("b", { context: contextOf("B") }),
  ]);
  const context = desk.context as Context;
  const request = { signal: nobody };

  test("have the names of their members before theirs", async () => {
    expect(await context.resources(request)).toEqual([
      { uri: "a.file:///a", name: "A" },
      { uri: "b.file:///a", name: "B" },
    ]);
    expect(await context.resourceTemplates(request)).toEqual([
      { uriTemplate: "a.file:///{path}", name: "A" },
      { uriTemplate: "b.file:///{path}", name: "B" },
    ]);
    expect(await context.prompts(request)).toEqual([
      { name: "a.ask.it", description: "A" },
      { name: "b.ask.it", description: "B" },
    ]);
  });

  test("are read, made and completed by their members", async () => {
    expect((await context.readResource("b.file:///a.b", request)).data).toEqual(["B", "file:///a.b"]);
    expect((await context.getPrompt("a.ask.it", { x: "1" }, request)).data).toEqual([
      "A",
      "ask.it",
      { x: "1" },
    ]);
    const argument = { name: "x", value: "v" };
    expect(
      (await context.complete({ ref: { type: "prompt", name: "a.ask.it" }, argument }, request)).values,
    ).toEqual(["A", '{"type":"prompt","name":"ask.it"}', "v"]);
    expect(
      (
        await context.complete(
          { ref: { type: "resourceTemplate", uri: "b.file:///{path}" }, argument },
          request,
        )
      ).values,
    ).toEqual(["B", '{"type":"resourceTemplate","uri":"file:///{path}"}', "v"]);
  });

  test("are not found without their member, and refused by a member that has none", async () => {
    const ref = { type: "prompt", name: "plain.x" } as const;
    const argument = { name: "x", value: "" };
    const refused: readonly (readonly [Promise<unknown>, string])[] = [
      [context.readResource("file:///a", request), "DOWNSTREAM_RESOURCE_ERROR"],
      [context.readResource("c.file:///a", request), "DOWNSTREAM_RESOURCE_ERROR"],
      [context.getPrompt("ask", {}, request), "PROMPT_NOT_FOUND"],
      [context.readResource("plain.file:///a", request), "UNSUPPORTED_OPERATION"],
      [context.complete({ ref, argument }, request), "UNSUPPORTED_OPERATION"],
    ];
    for (const [asked, code] of refused)
      await expect(asked).rejects.toMatchObject({ code, connector: "desk", hasNoEffect: true });
  });

  test("are counted by the check", async () => {
    const check = (): Promise<Readiness> =>
      Promise.resolve({ tools: 1, resources: 2, resourceTemplates: 3, prompts: 4 });
    const counted = deskOf([fake("a", { check }), fake("b", { check }), fake("c")]);
    expect(await counted.check(request)).toMatchObject({
      tools: 3,
      resources: 4,
      resourceTemplates: 6,
      prompts: 8,
    });
  });
});

describe("the members of a set", () => {
  test.each<[string, string]>([
    ["a.b", "has a dot"],
    ["", "has no id"],
    ["a", 'two of its connectors have the id "a"'],
  ])("cannot be called %j beside another", async (id, problem) => {
    const refusal = { code: "CONFIG_INVALID", connector: "desk", message: expect.stringContaining(problem) };
    expect(() => deskOf([fake("a"), fake(id)])).toThrow(expect.objectContaining(refusal));
    const members = [fake("a"), fake(id)];
    await using desk = set({ id: "desk", card, open: async () => members });
    await expect(namesOf(desk)).rejects.toMatchObject(refusal);
    expect(members.map((one) => one.ends())).toEqual([1, 1]);
  });

  test("are opened once, when somebody first asks, and again after a failure", async () => {
    let opens = 0;
    const open = async (): Promise<readonly Connector[]> => {
      if (opens++ === 0) throw new Error(`canary ${SECRET}`);
      return [fake("a")];
    };
    await using desk = set({ id: "desk", card, open });
    expect(opens).toBe(0);
    expect(desk.facts).toEqual({ memberTimeoutMs: 30_000 });
    await expect(namesOf(desk)).rejects.toMatchObject({
      code: "SERVER_UNAVAILABLE",
      message: expect.not.stringContaining("canary"),
    });
    expect(await Promise.all([namesOf(desk), namesOf(desk)])).toEqual([["a.go"], ["a.go"]]);
    expect(opens).toBe(2);
    expect(desk.facts).toEqual({ memberTimeoutMs: 30_000, members: 1, kinds: "mcp" });
  });

  test("that never open are waited for as long as one of them may take", async () => {
    await using desk = set({ id: "desk", card, open: never, memberTimeoutMs: 20 });
    await expect(namesOf(desk)).rejects.toMatchObject({ code: "SERVER_START_TIMEOUT" });
    const caller = new AbortController();
    const patient = set({ id: "desk", card, open: never });
    const asked = expect(patient.callTool("a.go", {}, requestOf(caller.signal))).rejects.toMatchObject({
      code: "CALL_ABORTED",
    });
    caller.abort();
    await asked;
  });

  test("may be none", async () => {
    const desk = deskOf([]);
    expect(await namesOf(desk)).toEqual([]);
    expect(await desk.check({ signal: nobody })).toMatchObject({ tools: 0 });
  });

  test("decide what the set is: its identity is theirs, in any order", async () => {
    const identityOf = async (...members: readonly Connector[]): Promise<string> => {
      const desk = deskOf(members);
      const { identity } = await toToolSource(desk);
      expect(identity).toBe(desk.identity);
      return identity as string;
    };
    const one = await identityOf(fake("a"), fake("b"));
    expect(await identityOf(fake("b"), fake("a"))).toBe(one);
    expect(await identityOf(fake("a"), fake("b", { identity: "another" }))).not.toBe(one);
    expect(await identityOf(fake("a"))).not.toBe(one);
  });

  test("say when their lists change, as long as the set is there", async () => {
    const [a, b] = [fake("a"), fake("b")];
    const desk = deskOf([a, b]);
    const changes: ChangedList[] = [];
    const end = desk.onChange((list) => changes.push(list));
    await namesOf(desk);
    a.tell("tools");
    b.tell("prompts");
    expect(changes).toEqual(["tools", "prompts"]);
    end();
    a.tell("resources");
    expect(changes).toHaveLength(2);
    await desk[Symbol.asyncDispose]();
    expect([a.listeners(), b.listeners()]).toEqual([0, 0]);
  });
});

describe("the end", () => {
  test("is that of the members that the set opened, and not of those it was given", async () => {
    const [given, owned, opened] = [fake("given"), fake("owned"), fake("opened")];
    const sets = [
      deskOf([given]),
      deskOf([owned], { owned: true }),
      set({ id: "desk", card, open: async () => [opened] }),
    ];
    await Promise.all(sets.map(namesOf));
    for (const one of sets) {
      await Promise.all([one[Symbol.asyncDispose](), one[Symbol.asyncDispose]()]);
      await one[Symbol.asyncDispose]();
    }
    expect([given, owned, opened].map((one) => one.ends())).toEqual([0, 1, 1]);
  });

  test("is that of members which are opened too late", async () => {
    const late = Promise.withResolvers<readonly Connector[]>();
    const ended = Promise.withResolvers<void>();
    const member = fake("a", { end: async () => ended.resolve() });
    let told: AbortSignal | undefined;
    const desk = set({
      id: "desk",
      card,
      open: ({ signal }) => {
        told = signal;
        return late.promise;
      },
    });
    const asked = expect(namesOf(desk)).rejects.toMatchObject({ code: "SERVER_UNAVAILABLE" });
    await desk[Symbol.asyncDispose]();
    expect(told?.aborted).toBe(true);
    await asked;
    late.resolve([member]);
    await ended.promise;
    expect(member.ends()).toBe(1);
  });

  test("reaches calls that are under way, also of members that stay", async () => {
    const begun = Promise.withResolvers<AbortSignal>();
    const call = (_: string, { signal }: ToolRequest): Promise<never> => {
      begun.resolve(signal);
      return new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason as Error));
      });
    };
    const desk = deskOf([fake("a", { call })]);
    const asked = expect(desk.callTool("a.go", {}, requestOf())).rejects.toMatchObject({
      code: "CALL_ABORTED",
    });
    const signal = await begun.promise;
    await desk[Symbol.asyncDispose]();
    await asked;
    expect(signal.aborted).toBe(true);
    await expect(namesOf(desk)).rejects.toMatchObject({ code: "SERVER_UNAVAILABLE", hasNoEffect: true });
  });

  test("is tried of every member, and says what could not be ended", async () => {
    const stuck = fake("a", { end: () => Promise.reject(new Error("stuck")) });
    const other = fake("b");
    const desk = set({ id: "desk", card, open: async () => [stuck, other] });
    await namesOf(desk);
    await expect(desk[Symbol.asyncDispose]()).rejects.toThrow(AggregateError);
    expect(other.ends()).toBe(1);
  });
});

describe("a set among its own members", () => {
  test("is refused, directly or through another set, and ends without waiting for itself", async () => {
    const self: Connector = set({ id: "self", card, open: async () => [fake("a"), self] });
    await expect(namesOf(self)).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining("among its own members"),
    });
    await self[Symbol.asyncDispose]();

    const stranded = fake("stranded");
    const one: Connector = set({ id: "one", card, retryMs: 0, open: async () => [other, fake("a")] });
    const other: Connector = set({ id: "other", card, retryMs: 0, open: async () => [one, stranded] });
    expect(await namesOf(one)).toEqual(["a.go"]);
    expect((await one.check({ signal: nobody })).about).toMatchObject({
      "down: other": expect.stringContaining("among its own members"),
    });
    expect(stranded.ends()).toBeGreaterThan(0);
    await one[Symbol.asyncDispose]();
    await other[Symbol.asyncDispose]();
  });

  test("which are opened while the other ends are not waited for in a circle", async () => {
    const late = Promise.withResolvers<void>();
    const one: Connector = set({ id: "one", card, open: async () => [other] });
    const other: Connector = set({
      id: "other",
      card,
      open: async () => {
        await late.promise;
        return [one];
      },
    });
    const asked = expect(namesOf(one)).rejects.toBeInstanceOf(ConnectorError);
    // The second is being opened by the first.
    await new Promise((resolve) => setImmediate(resolve));
    const ended = one[Symbol.asyncDispose]();
    late.resolve();
    await ended;
    await asked;
  });

  test("behind what is no set runs out of time instead of asking without end", async () => {
    let asked = 0;
    const wrapped: Connector = fake("wrapped", {
      tools: () => {
        asked++;
        return desk.tools({ signal: nobody });
      },
    });
    const desk: Connector = deskOf([wrapped, fake("a")], { memberTimeoutMs: 50 });
    expect(await namesOf(desk)).toEqual(["a.go"]);
    expect(asked).toBe(1);
  });
});

test.each<[object, string]>([
  [{ memberTimeoutMs: 0 }, "memberTimeoutMs"],
  [{ retryMs: -1 }, "retryMs"],
  [{ retryMs: Number.NaN }, "retryMs"],
  [{ open: never }, 'either "connectors" or "open"'],
])("the options %j, which nobody could keep, are refused", (options, problem) => {
  expect(() => deskOf([], options)).toThrow(
    expect.objectContaining({ code: "CONFIG_INVALID", message: expect.stringContaining(problem) }),
  );
});

test("a call through a set reaches the backend's own server, and its end too", async () => {
  await using opened = await openWeb(
    ({ url }, response) => {
      if (url !== "/hang") json(response, 200, { url });
    },
    (baseUrl) =>
      deskOf([
        http({
          id: "shop",
          card,
          baseUrl,
          actions: [
            { name: "get", method: "GET", path: "/get" },
            { name: "hang", method: "GET", path: "/hang" },
          ],
        }),
      ]),
  );
  const caller = new AbortController();
  const hanging = expect(
    opened.connector.callTool("shop.hang", {}, requestOf(caller.signal)),
  ).rejects.toMatchObject({
    code: "CALL_ABORTED",
    connector: "desk",
  });
  await opened.backend.arrived();
  caller.abort();
  await hanging;
  await opened.backend.left();
  expect(await opened.call("shop.get")).toEqual({ url: "/get" });
});
