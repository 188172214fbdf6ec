/** Section 4.3 of the contract's tests: what programs see of the catalog. */
import type { Json } from "codecell";
import type { AgentTools } from "codecell/surface";
import { afterAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { createFixtures, type Desk, type DeskOptions, IDS, openDesk } from "./fixtures.ts";
import { expectStatus } from "./result-schema.ts";

interface Entry {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly source: string;
  readonly sourceName?: string;
  readonly label?: string;
}

async function valueOf<T = Json>(desk: Desk, code: string): Promise<T> {
  return expectStatus("completed", await desk.exec(code)).value as T;
}

/** The value of a program whose tools give their own names. */
async function over<T = Json>(tools: AgentTools, code: string, options: DeskOptions = {}): Promise<T> {
  await using desk = openDesk({ tools, policy: {}, ...options });
  return await valueOf<T>(desk, code);
}

/** One desk for tests that only look at values. */
const shared = openDesk();
afterAll(() => shared[Symbol.asyncDispose]());

/** For programs: gives the value of a promise, or the code and message of its error. */
const TRY = `const attempt = (call) => call().then((value) => ({ value }), ({ code, toolCode, name, message }) => ({ code: toolCode ?? code, name, message }));`;

describe("ALL_TOOLS", () => {
  test("[exec-wait:15] has one compact entry for each tool and nothing else", async () => {
    const all = await valueOf<Entry[]>(shared, "return ALL_TOOLS");
    expect(all.map(({ id }) => id)).toEqual(IDS);
    const known = new Set(["id", "name", "label", "description", "source", "sourceName"]);
    for (const entry of all) {
      expect(Object.keys(entry).filter((key) => !known.has(key))).toEqual([]);
      expect([entry.source, entry.sourceName, entry.name].join(":")).toBe(entry.id);
      expect(["core", "plugin", "mcp", "client"]).toContain(entry.source);
      expect(entry.description.length).toBeGreaterThan(0);
    }
    expect(all.find(({ id }) => id === "mcp:github:create_issue")).toEqual({
      id: "mcp:github:create_issue",
      name: "create_issue",
      description: "Creates an issue in a repository",
      source: "mcp",
      sourceName: "github",
    });
  });

  test("[exec-wait:15] has the labels of tools that have one, and an empty description for tools without", async () => {
    const all = await over<Entry[]>({ core: { a: { label: "An A", execute: () => 1 } } }, "return ALL_TOOLS");
    expect(all).toEqual([
      { id: "core:core:a", name: "a", label: "An A", description: "", source: "core", sourceName: "core" },
    ]);
  });

  test("[exec-wait:15] is frozen, and so are its entries", async () => {
    const code =
      "return [Object.isFrozen(ALL_TOOLS), ALL_TOOLS.every(Object.isFrozen), Array.isArray(ALL_TOOLS)]";
    expect(await valueOf(shared, code)).toEqual([true, true, true]);
  });

  test.each([
    "return globalThis.ALL_TOOLS.length",
    "return globalThis['ALL' + '_TOOLS'].length",
    "return this === undefined ? ALL_TOOLS.length : this['ALL_' + 'TOOLS'].length",
    "return \\u0041LL_TOOLS.length",
    "return (0, ALL_TOOLS).length",
    "const { length } = ALL_TOOLS; return length",
    "return (function () { return Reflect.get(globalThis, `ALL_${'TOOLS'}`).length })()",
    "return Object.getOwnPropertyDescriptor(globalThis, ['ALL', 'TOOLS'].join('_')).value.length",
  ])("[exec-wait:15] is complete however it is reached: %s", async (code) => {
    expect(await valueOf(shared, code)).toBe(IDS.length);
  });
});

describe("ids", () => {
  test("[exec-wait:16] are source, owner and tool, the same in the same order for the same tools", async () => {
    await using desk = openDesk();
    const code = "return ALL_TOOLS.map(({ id }) => id)";
    const ids = await valueOf(desk, code);
    expect(ids).toEqual(IDS);
    const { core = {}, ...rest } = createFixtures().tools;
    const turned = { ...rest, core: Object.fromEntries(Object.entries(core).toReversed()) };
    const again = desk.prepare({ tools: turned });
    expect(expectStatus("completed", await again.exec({ code })).value).toEqual(ids);
    expect(again.visibleTools.map(({ tool }) => tool.description)).toEqual(
      desk.run.visibleTools.map(({ tool }) => tool.description),
    );
  });

  test("[exec-wait:16] of odd names and owners differ, and lead to their tools", async () => {
    const odd = [
      "a:b",
      "a b",
      "a*b",
      "a%b",
      "a%3Ab",
      "__proto__",
      "constructor",
      "ünïcode",
      "😀",
      "a\nb",
      "\u0000",
      '"',
      "`${x}`",
    ];
    const owners = ["one", "o:ne", "core", "__proto__"];
    const mcp = Object.fromEntries(
      owners.map((owner) => [
        owner,
        Object.fromEntries(odd.map((name) => [name, { execute: () => [owner, name] }])),
      ]),
    );
    const code = `
      const got = [];
      for (const { id, name, sourceName } of ALL_TOOLS) {
        const [owner, called] = await tools.call(id);
        const { parameters } = await tools.describe(id);
        got.push([id, owner === sourceName && called === name && parameters === true]);
      }
      return got;
    `;
    const got = await over<[string, boolean][]>({ mcp }, code);
    // An object literal with __proto__ has no property of that name.
    const expected = Object.keys(mcp).length * Object.keys(mcp["one"] ?? {}).length;
    expect(new Set(got.map(([id]) => id)).size).toBe(expected);
    for (const [id, isRight] of got) {
      expect(isRight, id).toBe(true);
      expect(id.split(":")).toHaveLength(3);
    }
  });
});

describe("a denied tool", () => {
  test("[exec-wait:17] is not listed, not found and not callable under any name", async () => {
    await using desk = openDesk();
    const [listed, hits, errors] = await valueOf<[boolean, string[], { code: string; message: string }[]]>(
      desk,
      `${TRY}
      const errors = [];
      for (const id of ["core:core:forbidden", "forbidden", "Forbidden", "core:core:forbidden ", "CORE:CORE:FORBIDDEN"]) {
        errors.push(await attempt(() => tools.describe(id)), await attempt(() => tools.call(id, {})));
      }
      const hits = [...(await tools.search("forbidden")), ...(await tools.search("core:core:forbidden")), ...(await tools.search("Must not be called", { limit: 50 }))];
      return [ALL_TOOLS.some(({ id, name }) => (id + name).includes("forbidden")), hits.map(({ id }) => id), errors];`,
    );
    expect(listed).toBe(false);
    expect(hits).not.toContain("core:core:forbidden");
    for (const { code, message } of errors) {
      expect(code).toBe("unknown_tool");
      expect(message).toContain("no such tool");
      // It is not suggested as a similar name either.
      expect(message.split("no such tool")[1]).not.toContain("forbidden");
    }
    expect(await valueOf(desk, "return [typeof tools.forbidden, 'forbidden' in tools]")).toEqual([
      "undefined",
      false,
    ]);
    expect(desk.forbidden.calls).toBe(0);
    expect(desk.hooked).toEqual([]);
  });
});

describe("search", () => {
  const many: AgentTools = {
    mcp: {
      files: Object.fromEntries(
        Array.from({ length: 60 }, (_, index) => [
          `read_file_${index}`,
          { description: "Reads a file", label: "Reader", execute: () => index },
        ]),
      ),
    },
    core: { read: { description: "Something else entirely", execute: () => 0 } },
  };

  test("[exec-wait:18] gives compact entries, the exact name first", async () => {
    const hits = await over<Entry[]>(many, `return await tools.search("read")`);
    expect(hits).toHaveLength(8);
    expect(hits[0]).toMatchObject({ id: "core:core:read", name: "read", source: "core", sourceName: "core" });
    const known = new Set(["id", "name", "label", "description", "source", "sourceName", "signature"]);
    for (const hit of hits) expect(Object.keys(hit).filter((key) => !known.has(key))).toEqual([]);
    for (const id of ["core:core:read", "mcp:files:read_file_7"]) {
      const [first] = await over<Entry[]>(many, `return await tools.search("${id}")`);
      expect(first?.id).toBe(id);
    }
  });

  test("[exec-wait:18] keeps to its limits", async () => {
    const code = (options: string): string => `return (await tools.search("read file"${options})).length`;
    await using desk = openDesk({ tools: many, policy: {} });
    const sizes: Json[] = [];
    for (const options of [
      "",
      ", {}",
      ", undefined",
      ", { limit: undefined }",
      ", { limit: 1 }",
      ", { limit: 9 }",
    ])
      sizes.push(await valueOf(desk, code(options)));
    expect(sizes).toEqual([8, 8, 8, 8, 1, 9]);
    expect(await valueOf(desk, code(", { limit: 50 }"))).toBe(50);
    expect(await valueOf(desk, code(", { limit: 51 }"))).toBe(50);
    expect(await valueOf(desk, code(", { limit: 1e9 }"))).toBe(50);
    const tight = { enabled: true, searchDefaultLimit: 3, maxSearchLimit: 5 };
    const run = desk.prepare({ tools: many, policy: {}, config: tight });
    expect(await run.exec({ code: code("") })).toMatchObject({ value: 3 });
    expect(await run.exec({ code: code(", { limit: 50 }") })).toMatchObject({ value: 5 });
  });

  test.each(["0", "-1", "1.5", "NaN", "Infinity", '"5"', "null", "{}", "[]", "true", "1n"])(
    "[exec-wait:18] a limit of %s is refused",
    async (limit) => {
      const result = await shared.exec(
        `${TRY} return await attempt(() => tools.search("read", { limit: ${limit} }))`,
      );
      const { value } = expectStatus("completed", result);
      expect(value).not.toHaveProperty("value");
      expect(value).toMatchObject({ message: expect.stringMatching(/limit|BigInt/u) });
    },
  );

  test.each(["", "undefined", "null", "5", "{}", "['read']", "Symbol()", "() => 1", "new String('read')"])(
    "[exec-wait:18] a query of %s is refused",
    async (query) => {
      const { value } = expectStatus(
        "completed",
        await shared.exec(`${TRY} return await attempt(async () => tools.search(${query}))`),
      );
      // A String object crosses as a text.
      if (query === "new String('read')") expect(value).toHaveProperty("value");
      else expect(value).toMatchObject({ message: expect.stringContaining("Cannot") });
    },
  );

  test("[exec-wait:18] gives an empty list if nothing fits", async () => {
    const code = `return [await tools.search("zzqx jjkw"), await tools.search(""), await tools.search("\\u0000")]`;
    expect(await valueOf(shared, code)).toEqual([[], [], []]);
  });

  test("[exec-wait:18] [exec-wait:19] an error that nobody caught names the helper as the program does", async () => {
    for (const call of ["tools.search(5)", "tools.describe('nope')", "load_result('nope')"]) {
      const { error, code } = expectStatus("failed", await shared.exec(`await ${call}`));
      expect(code).toBe("nested_tool_failed");
      expect(error).toContain(call.split("(")[0]);
      expect(error).not.toContain("catalog.");
    }
  });

  test("[exec-wait:18] a query of any length is answered", async () => {
    const code = `return [await tools.search("zzqx ".repeat(190_000)), await tools.search("x".repeat(1_000_000))]`;
    expect(await valueOf(shared, code)).toEqual([[], []]);
  });
});

describe("describe", () => {
  test("[exec-wait:19] adds the exact schema as parameters", async () => {
    const { core = {}, mcp = {} } = shared.tools;
    for (const [id, tool] of [
      ["core:core:read", core["read"]],
      ["core:core:exec", core["exec"]],
      ["mcp:github:create_issue", mcp["github"]?.["create_issue"]],
    ] as const) {
      const described = await valueOf<Record<string, Json>>(shared, `return await tools.describe("${id}")`);
      expect(described["parameters"]).toEqual(tool?.input);
      const all = await valueOf<Entry[]>(shared, "return ALL_TOOLS");
      expect(described).toMatchObject({ ...all.find((entry) => entry.id === id) });
    }
    expect(await valueOf(shared, `return (await tools.describe("create_issue")).id`)).toBe(
      "mcp:github:create_issue",
    );
  });

  test("[exec-wait:19] gives any schema as it is, and the JSON Schema of other kinds", async () => {
    const strange = {
      type: "object",
      properties: { "x-y": { enum: [1, null, "ü"] }, __proto__x: true, n: { $ref: "#/$defs/n" } },
      $defs: { n: { type: "integer", minimum: 3 } },
      additionalProperties: false,
      "x-vendor": { deep: [1, { a: [] }] },
    };
    const tools: AgentTools = {
      core: {
        strange: { input: strange, execute: () => 1 },
        typed: { input: z.object({ count: z.int().min(1) }), execute: () => 1 },
        open: { execute: () => 1 },
      },
    };
    const code = `return await Promise.all(["strange", "typed", "open"].map(async (id) => (await tools.describe(id)).parameters))`;
    const [first, second, third] = await over<Json[]>(tools, code);
    expect(first).toEqual(strange);
    expect(second).toMatchObject({
      type: "object",
      properties: { count: { type: "integer" } },
      required: ["count"],
    });
    expect(third).toBe(true);
  });

  test.each([
    '"nope"',
    '"core:core:nope"',
    '""',
    "undefined",
    "null",
    "5",
    "{}",
    '"x".repeat(100_000)',
    '"catalog.search"',
  ])("[exec-wait:19] an id of %s rejects", async (id) => {
    const value = await valueOf(shared, `${TRY} return await attempt(() => tools.describe(${id}))`);
    expect(value).toMatchObject({ message: expect.stringMatching(/^Cannot /u) });
    expect(JSON.stringify(value).length).toBeLessThan(2000);
  });

  test("[exec-wait:19] the error for a wrong id names the closest ids", async () => {
    const value = await valueOf<Json[]>(
      shared,
      `${TRY} return [await attempt(() => tools.describe("mcp:github:create_isue")), await attempt(() => tools.call("mcp:github:create_isue"))]`,
    );
    for (const error of value) {
      expect(error).toMatchObject({ message: expect.stringContaining('"mcp:github:create_issue"') });
    }
  });
});

describe("call", () => {
  test("[exec-wait:20] [exec-wait:21] gives the tool's plain value, for tools of every source", async () => {
    const value = await valueOf(
      shared,
      `return [
        await tools.call("core:core:echo", { a: [1, null, "ü"] }),
        await tools.call("plugin:browser:browser_request", {}),
        await tools.call("mcp:github:create_issue", { title: "T" }),
        await tools.call("client:app:select_file"),
      ]`,
    );
    expect(value).toEqual([{ got: { a: [1, null, "ü"] } }, "page", { number: 1, title: "T" }, "a.txt"]);
  });

  test("[exec-wait:20] its input is {} by default", async () => {
    await using desk = openDesk();
    const code = `return [await tools.call("core:core:echo"), await tools.call("echo", undefined), await tools.echo(), await tools.call("echo", null), await tools.call("echo", 0)]`;
    expect(await valueOf(desk, code)).toEqual([
      { got: {} },
      { got: {} },
      { got: {} },
      { got: null },
      { got: 0 },
    ]);
    expect(desk.told.map(({ input }) => input)).toEqual([{}, {}, {}, null, 0]);
  });

  test("[exec-wait:21] gives any kind of value as it is", async () => {
    const values: readonly Json[] = [null, 0, false, "", [], {}, { tool: 1, result: 2 }, [[1]], "text"];
    const core = Object.fromEntries(values.map((value, index) => [`t${index}`, { execute: () => value }]));
    const code = `const all = []; for (let i = 0; i < ${values.length}; i++) all.push(await tools.call("core:core:t" + i)); return all`;
    expect(await over({ core }, code)).toEqual(values);
    expect(
      await over({ core: { nothing: { execute: () => undefined } } }, "return await tools.nothing()"),
    ).toBeNull();
  });

  test.each([
    "undefined",
    "null",
    "5",
    "{}",
    "Symbol()",
    '"nope"',
    '"yield_control"',
    '"catalog.search"',
    '"catalog.describe"',
    '"catalog.load"',
    '"search"',
    '"toString"',
    '"__proto__"',
  ])("[exec-wait:20] an id of %s rejects", async (id) => {
    const before = shared.run.telemetry().counts;
    const value = await valueOf(
      shared,
      `${TRY} return await attempt(async () => tools.call(${id}, { query: "x", id: "echo", ref: "r_1" }))`,
    );
    expect(value).toMatchObject({ message: expect.stringMatching(/^Cannot /u) });
    expect(shared.run.telemetry().counts).toEqual({ ...before, exec: before.exec + 1 });
  });
});
