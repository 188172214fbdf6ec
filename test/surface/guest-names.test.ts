/**
 * Section 4.3 of the contract's tests, continued: the names by which programs reach tools, and that a program cannot
 * change them.
 */
import type { Json } from "codecell";
import type { AgentTool, AgentTools } from "codecell/surface";
import { describe, expect, test } from "vitest";
import { createFixtures, type Desk, IDS, openDesk, POLICY } from "./fixtures.ts";
import { expectStatus } from "./result-schema.ts";

async function valueOf<T = Json>(desk: Desk, code: string): Promise<T> {
  return expectStatus("completed", await desk.exec(code)).value as T;
}

/** The value of a program with other tools than the fixtures. */
async function over<T = Json>(tools: AgentTools, code: string): Promise<T> {
  await using desk = openDesk({ tools, policy: {} });
  return await valueOf<T>(desk, code);
}

/** Tools that give their own names. */
function named(...names: readonly string[]): Record<string, AgentTool> {
  return Object.fromEntries(names.map((name) => [name, { execute: () => name }]));
}

describe("convenience names", () => {
  test("[exec-wait:22] are the same call as by id", async () => {
    await using desk = openDesk();
    const code = `
      const x = { a: 1 };
      const { echo } = tools;
      return [await tools.echo(x), await tools.call("core:core:echo", x), await tools["echo"](x), await echo(x), await tools?.echo?.(x), Object.keys(tools).includes("echo")];
    `;
    const got = { got: { a: 1 } };
    expect(await valueOf(desk, code)).toEqual([got, got, got, got, got, true]);
    expect(desk.hooked.map(({ tool, name }) => [tool, name])).toEqual(
      Array.from({ length: 5 }, () => ["core:core:echo", "echo"]),
    );
  });

  test("[exec-wait:22] have underscores if the tool's name is not an identifier and the new name is free", async () => {
    const tools = { core: named("llm-task", "a.b", "9lives", "ünïcode", "with space", "class", "😀") };
    const code = `return [
      await tools.llm_task(), await tools.a_b(), await tools._9lives(), await tools.ünïcode(), await tools.with_space(),
      tools["llm-task"] === undefined, typeof tools.class, Object.keys(tools).filter((name) => name !== name.trim()),
      await tools.call("core:core:class"), await tools.call("core:core:😀"),
    ]`;
    expect(await over(tools, code)).toEqual([
      "llm-task",
      "a.b",
      "9lives",
      "ünïcode",
      "with space",
      true,
      "undefined",
      [],
      "class",
      "😀",
    ]);
  });

  test.each([
    "return await tools /* a */ . echo({})",
    "return await tools\\u002eecho",
    "const t = tools; return await t.echo({})",
    "return await globalThis.tools.echo({})",
    "const name = 'ec' + 'ho'; return await tools[name]({})",
    "const { ...all } = tools; return await all.echo({})",
    "return await Reflect.get(tools, 'echo')({})",
    "return await tools.ec\\u0068o({})",
    "return await (async function () { return await globalThis['too' + 'ls']['ec' + 'ho']({}) })()",
    "return await Object.entries(tools).find(([name]) => name === 'echo')[1]({})",
    "return await tools\n  .echo({})",
    "return await tools?.['echo']({})",
    "return await [tools][0].echo({})",
  ])("[exec-wait:22] work however a program reaches them: %s", async (code) => {
    await using desk = openDesk();
    const result = await desk.exec(code);
    if (code.includes("u002e")) expect(result.status).toBe("failed");
    else expect(result).toMatchObject({ status: "completed", value: { got: {} } });
  });
});

describe("names that two tools share", () => {
  test("[exec-wait:23] belong to neither tool, and both tools have their ids", async () => {
    const tools: AgentTools = {
      core: { send: { execute: () => "core" } },
      plugin: { chat: { send: { execute: () => "plugin" } } },
      mcp: { mail: { "get-mail": { execute: () => "dash" }, get_mail: { execute: () => "line" } } },
      client: { app: { "get mail": { execute: () => "space" }, only: { execute: () => "only" } } },
    };
    const code = `
      const ids = ["core:core:send", "plugin:chat:send", "mcp:mail:get-mail", "mcp:mail:get_mail", "client:app:get%20mail"];
      const values = [];
      for (const id of ids) values.push(await tools.call(id));
      const tries = [];
      for (const name of ["send", "get_mail"]) tries.push(await tools.call(name).catch((error) => error.code), await tools.describe(name).catch((error) => error.toolCode));
      return [values, typeof tools.send, typeof tools.get_mail, "send" in tools, Object.keys(tools), tries];
    `;
    expect(await over(tools, code)).toEqual([
      ["core", "plugin", "dash", "line", "space"],
      "undefined",
      "undefined",
      false,
      expect.arrayContaining(["only", "search", "describe", "call"]),
      ["unknown_tool", "unknown_tool", "unknown_tool", "unknown_tool"],
    ]);
  });

  test("[exec-wait:23] a denied tool does not make a name ambiguous", async () => {
    const tools = { core: named("send"), plugin: { chat: named("send") } };
    await using desk = openDesk({ tools, policy: { deny: ["plugin:chat:*"] } });
    expect(await valueOf(desk, "return await tools.send()")).toBe("send");
  });
});

describe("names of helpers and globals", () => {
  const TAKEN = [
    "search",
    "describe",
    "call",
    "then",
    "constructor",
    "toString",
    "hasOwnProperty",
    "toJSON",
    "prototype",
  ];
  const GLOBALS = [
    "text",
    "json",
    "yield_control",
    "load_result",
    "ALL_TOOLS",
    "tools",
    "console",
    "catalog.search",
    "Object",
  ];

  test("[exec-wait:24] no tool replaces a helper or an inherited property", async () => {
    const core = Object.defineProperty({ ...named(...TAKEN) }, "__proto__", {
      value: { execute: () => "__proto__" },
      enumerable: true,
    });
    const code = `
      const [hit] = await tools.search("describe");
      const values = {};
      for (const { id } of ALL_TOOLS) values[id] = await tools.call(id);
      return {
        hit: hit.id,
        described: (await tools.describe("core:core:call")).name,
        values: Object.entries(values),
        inherited: [typeof tools.then, typeof tools.constructor, typeof tools.toString, typeof tools.toJSON, tools.__proto__ === undefined, Object.getPrototypeOf(tools)],
        keys: Object.keys(tools),
      };
    `;
    expect(await over({ core }, code)).toEqual({
      hit: "core:core:describe",
      described: "call",
      values: ["__proto__", ...TAKEN].toSorted().map((name) => [`core:core:${name}`, name]),
      inherited: ["undefined", "undefined", "undefined", "undefined", true, null],
      keys: expect.arrayContaining(["search", "describe", "call"]),
    });
  });

  test("[exec-wait:22] [exec-wait:24] a tool with the name of yield_control is shown by its id only", async () => {
    await using desk = openDesk({ tools: { core: { yield_control: { execute: () => "the tool" } } } });
    const code = `const id = "core:core:yield_control";
      return [typeof tools.yield_control, await tools.call(id), (await tools.describe(id)).signature]`;
    expect(await valueOf(desk, code)).toMatchObject([
      "undefined",
      "the tool",
      expect.stringContaining("tools.call(") as string,
    ]);
    const [exec] = desk.run.visibleTools;
    expect(exec?.tool.description).toContain(":yield_control");
  });

  test("[exec-wait:24] tools can be awaited, returned and printed", async () => {
    await using desk = openDesk();
    const code = `
      const awaited = await tools;
      const raced = await Promise.race([tools, new Promise(() => {})]);
      text(tools);
      json(tools);
      return [awaited === tools, raced === tools, typeof awaited.echo];
    `;
    expect(await valueOf(desk, code)).toEqual([true, true, "function"]);
    expect((await desk.exec("return tools")).status).toBe("completed");
  });

  test("[exec-wait:24] tools with the names of globals leave the globals unchanged", async () => {
    const code = `
      text("a"); json({ b: 1 });
      const values = [];
      for (const { id } of ALL_TOOLS) values.push(await tools.call(id));
      const own = [];
      for (const name of ["text", "json", "load_result", "ALL_TOOLS", "tools", "console", "catalog_search", "Object"]) own.push(await tools[name]());
      return [values, own, typeof tools.yield_control, typeof yield_control, Array.isArray(ALL_TOOLS), (await tools.search("text"))[0].id];
    `;
    await using desk = openDesk({ tools: { core: named(...GLOBALS) }, policy: {} });
    const result = expectStatus("completed", await desk.exec(code));
    const sorted = GLOBALS.toSorted();
    expect(result.value).toEqual([
      sorted,
      ["text", "json", "load_result", "ALL_TOOLS", "tools", "console", "catalog.search", "Object"],
      "undefined",
      "function",
      true,
      "core:core:text",
    ]);
    expect(result.output).toEqual([
      { type: "text", text: "a" },
      { type: "json", value: { b: 1 } },
    ]);
  });
});

describe("the shell's exec", () => {
  const BY_ID = `return await tools.call("core:core:exec", { command: "x" })`;

  test("[exec-wait:25] is hidden, and callable by its id if it is allowed", async () => {
    await using desk = openDesk();
    expect(desk.run.visibleTools.map(({ name }) => name)).toEqual(["exec", "wait"]);
    expect(desk.run.visibleTools[0]?.tool).not.toBe(desk.tools.core?.["exec"]);
    expect(await valueOf(desk, BY_ID)).toBe("ran");
    expect(await valueOf(desk, `return await tools.exec({ command: "y" })`)).toBe("ran");
    expect(desk.commands).toEqual([{ command: "x" }, { command: "y" }]);
  });

  test("[exec-wait:25] rejects if it is denied", async () => {
    await using desk = openDesk({ policy: { deny: [...POLICY.deny, "core:core:exec"] } });
    const code = `return [await tools.call("core:core:exec", { command: "x" }).catch((error) => error.code), typeof tools.exec]`;
    expect(await valueOf(desk, code)).toEqual(["unknown_tool", "undefined"]);
    expect(desk.commands).toEqual([]);
  });

  test("[exec-wait:25] has no convenience name if another tool could be meant", async () => {
    const { tools } = createFixtures();
    const ambiguous = { ...tools, plugin: { ssh: named("exec") } };
    await using desk = openDesk({ tools: ambiguous });
    const code = `return [typeof tools.exec, await tools.call("plugin:ssh:exec")]`;
    expect(await valueOf(desk, code)).toEqual(["undefined", "exec"]);
  });
});

describe("code mode's own exec and wait", () => {
  test("[exec-wait:26] cannot be reached by any id, name or function", async () => {
    await using desk = openDesk();
    const code = `
      const tries = [];
      const ids = ["wait", "core:core:wait", "exec:exec:exec", "code_mode:core:exec", "core:code_mode:exec", "core:core:wait:"];
      for (const id of ids) tries.push(await tools.call(id, { code: "return 1", runId: "x" }).catch((error) => error.code));
      return [[...new Set(tries)], typeof tools.wait, typeof exec, typeof wait, ALL_TOOLS.map(({ id }) => id)];
    `;
    expect(await valueOf(desk, code)).toEqual([["unknown_tool"], "undefined", "undefined", "undefined", IDS]);
    expect(desk.run.telemetry().counts).toMatchObject({ exec: 1, wait: 0 });
  });

  test("[exec-wait:26] are not catalogued even when they are given as tools, or copied", async () => {
    await using desk = openDesk();
    const [exec, wait] = desk.run.visibleTools.map(({ tool }) => tool);
    if (exec === undefined || wait === undefined) throw new Error("There is no surface");
    const tools: AgentTools = {
      core: { exec, wait, again: { ...exec }, echo: { execute: () => 1 } },
      mcp: { loop: { exec, waiting: { ...wait, description: "Harmless" } } },
    };
    const outer = desk.prepare({ tools, policy: {} });
    expect(outer.catalog?.entries.map(({ id }) => id)).toEqual(["core:core:echo"]);
    const code = `return [ALL_TOOLS.length, await tools.call("core:core:exec", { code: "return 1" }).catch((error) => error.code)]`;
    expect(expectStatus("completed", await outer.exec({ code })).value).toEqual([1, "unknown_tool"]);
    expect(desk.run.telemetry().counts.exec).toBe(0);
  });
});

describe("what a program changes", () => {
  test("[exec-wait:27] changes neither tools nor ALL_TOOLS, nor what the host calls", async () => {
    await using desk = openDesk();
    const code = `
      const before = JSON.stringify(ALL_TOOLS);
      const original = tools.echo;
      const attempts = [
        () => { tools.echo = () => "mine" },
        () => { tools.x = 1 },
        () => { tools.search = () => "mine" },
        () => { delete tools.echo },
        () => { Object.defineProperty(tools, "echo", { value: () => "mine" }) },
        () => { Object.setPrototypeOf(tools, { y: 1 }) },
        () => { Object.assign(tools, { x: 1 }) },
        () => { tools.echo.call = () => "mine" },
        () => { tools.echo.id = "core:core:read" },
        () => { ALL_TOOLS[0].id = "core:core:forbidden" },
        () => { ALL_TOOLS.push({ id: "core:core:forbidden" }) },
        () => { ALL_TOOLS.length = 0 },
        () => { delete ALL_TOOLS[0] },
        () => { ALL_TOOLS[0].parameters = {} },
        () => { ALL_TOOLS.sort(() => 1) },
        () => { globalThis.tools = { echo: () => "mine" } },
        () => { globalThis.ALL_TOOLS = [] },
        () => { delete globalThis.tools },
        () => { Object.defineProperty(globalThis, "ALL_TOOLS", { value: [] }) },
        () => { JSON.stringify = () => '{"hijacked":true}'; JSON.parse = () => "mine" },
        () => { Object.prototype.got = "mine"; Object.prototype.id = "mine" },
        () => { Promise.prototype.then = () => "mine" },
      ];
      for (const attempt of attempts) try { attempt() } catch {}
      const same = [tools.echo === original, tools.x, tools.y, typeof tools.search, ALL_TOOLS.length, globalThis.tools === tools];
      const got = await tools.call("core:core:echo", { a: 1 });
      return [same, got.got.a, (await tools.search("echo"))[0].id, before];
    `;
    const [same, got, hit, before] = await valueOf<[Json, Json, Json, string]>(desk, code);
    expect(same).toEqual([true, null, null, "function", IDS.length, true]);
    expect([got, hit]).toEqual([1, "core:core:echo"]);
    expect(desk.told.map(({ input }) => input)).toEqual([{ a: 1 }]);
    expect(await valueOf(desk, "return JSON.stringify(ALL_TOOLS)")).toBe(before);
    expect(desk.forbidden.calls).toBe(0);
  });

  test("[exec-wait:27] by an assignment has no effect, and does not end the program", async () => {
    await using desk = openDesk();
    const code = `
      tools.x = 1; tools.echo = 2; delete tools.echo; ALL_TOOLS[0].id = "x"; ALL_TOOLS[0] = 1; ALL_TOOLS.y = 1;
      const strict = [() => { "use strict"; tools.x = 1 }, () => { "use strict"; ALL_TOOLS[0].id = "x" }];
      const thrown = strict.map((change) => { try { change() } catch (error) { return error instanceof TypeError } });
      return [typeof tools.x, await tools.echo({ a: 1 }), ALL_TOOLS[0].id, typeof ALL_TOOLS.y, thrown];
    `;
    expect(await valueOf(desk, code)).toEqual([
      "undefined",
      { got: { a: 1 } },
      IDS[0],
      "undefined",
      [true, true],
    ]);
  });

  test("[exec-wait:27] stays in the program, and does not change the host's tools", async () => {
    await using desk = openDesk();
    await desk.exec("try { ALL_TOOLS[0].id = 'x' } catch {} try { tools.echo = 1 } catch {}");
    expect(await valueOf(desk, "return [ALL_TOOLS[0].id, await tools.echo({ b: 2 })]")).toEqual([
      IDS[0],
      { got: { b: 2 } },
    ]);
    expect(desk.run.catalog?.entries[0]?.id).toBe(IDS[0]);
  });
});
