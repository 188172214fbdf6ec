/** What a program may be, what it sees, and what it returns. */
import type { RunResult, ToolSet } from "codecell";
import { describe, expect, test } from "vitest";
import { echo, failureOf, host, valueOf } from "./harness.ts";
import { startStopwatch } from "../processor-time.ts";

describe("source", () => {
  test("types are stripped, whatever they look like [source:typescript]", async () => {
    const source = `
      interface Row { id: number; tags?: string[] }
      type Pick<T> = { [K in keyof T]: T[K] };
      const rows: Row[] = [{ id: 1 }, { id: 2, tags: ["a"] }] satisfies Row[];
      function first<T>(list: readonly T[]): T | undefined { return list[0]; }
      const row = first<Row>(rows)!;
      return { id: row.id as number, n: rows.filter((r): r is Row => r.tags !== undefined).length };`;
    expect(await valueOf(source)).toEqual({ id: 1, n: 1 });
  });

  test("types are refused in a program that is said to be JavaScript", async () => {
    const { code } = await failureOf("const a: number = 1; return a", { language: "javascript" });
    expect(code).toBe("syntax_error");
  });

  test.each([
    ["a body with return", "const n = await tools.echo(20); return n + 1"],
    ["a fenced block", "```ts\nreturn 21\n```"],
    ["an async arrow", "async () => { const n = await tools.echo(20); return n + 1 }"],
    ["a function", "async function main() { return 21 }"],
    ["a default export", "export default async function () { return 21 }"],
    ["a last expression", "const n = await tools.echo(20)\nn + 1"],
  ])("%s is a program [source:shapes]", async (_name, source) => {
    expect(await valueOf(source, { tools: echo })).toBe(21);
  });

  test.each([
    "import fs from 'fs'",
    "export const a = 1",
    "await import('fs')",
    "import.meta.url",
    "require('fs')",
  ])("%s is refused [source:modules-denied]", async (source) => {
    expect((await failureOf(source)).code).toBe("module_denied");
  });

  test("a failure names its place in the model's own text [source:position]", async () => {
    const thrown = await failureOf(
      "type A = {\n  b: string }\nconst a: A = { b: '' };\n  throw new Error('no')",
    );
    expect(thrown.position?.line).toBe(4);
    expect(thrown.message).toContain("line 4");
    const syntax = await failureOf("const a = 1\nconst = 2");
    expect(syntax).toMatchObject({ code: "syntax_error", position: { line: 2, column: 7 } });
  });
});

describe("guest", () => {
  test("a program can reach nothing of the host [guest:no-ambient-authority]", async () => {
    const names = [
      "process",
      "require",
      "module",
      "globalThis.fetch",
      "Deno",
      "Bun",
      "XMLHttpRequest",
      "WebAssembly",
    ];
    const source = `return [${names.map((name) => `typeof ${name}`).join(", ")}]`;
    expect(new Set((await valueOf(source)) as string[])).toEqual(new Set(["undefined"]));
  });

  test.each([
    "eval('1')",
    "new Function('return 1')()",
    "(() => {}).constructor('return 1')()",
    "(async () => {}).constructor('return 1')()",
    "(function* () {}).constructor('yield 1')()",
    "setTimeout('1')",
  ])("%s cannot make code [guest:no-code-from-strings]", async (expression) => {
    expect((await failureOf(`return ${expression}`)).code).toBe("guest_error");
  });

  test("the clock stands still until something is delivered [guest:clock-still]", async () => {
    const source = `
      const before = Date.now();
      for (let i = 0; i < 300_000; i++);
      const after = Date.now();
      await new Promise((resolve) => setTimeout(resolve, 20));
      return [after - before, Date.now() > after];`;
    expect(await valueOf(source)).toEqual([0, true]);
  });

  test("nothing is left for the next program [guest:fresh]", async () => {
    await valueOf("globalThis.left = 1; Array.prototype.left = 2; return null").catch(() => null);
    expect(await valueOf("return [typeof left, [].left === undefined]")).toEqual(["undefined", true]);
  });
});

describe("values", () => {
  test.each([
    ["{ items: [1, { id: 2n }] }", "items[1].id"],
    ["{ f() {} }", ".f"],
    ["{ later: Promise.resolve(1) }", ".later"],
    ["{ set: new Set([1]) }", ".set"],
    ["(() => { const a = {}; a.self = a; return a })()", ".self"],
  ])("%s is refused, with its path [value:refused-with-path]", async (value, path) => {
    const result = await failureOf(`return ${value}`);
    expect(result).toMatchObject({ code: "guest_error", message: expect.stringContaining(path) as string });
    const caught = await valueOf(`try { await tools.echo(${value}) } catch (e) { return e.message }`, {
      tools: echo,
    });
    expect(caught).toContain(path);
  });

  test("other values cross as JSON [value:as-json]", async () => {
    const source = "return { u: undefined, list: [undefined], n: NaN, i: -Infinity, d: new Date(0), z: -0 }";
    expect(await valueOf(source)).toEqual({
      list: [null],
      n: null,
      i: null,
      d: "1970-01-01T00:00:00.000Z",
      z: 0,
    });
    expect(await valueOf("return undefined")).toBeNull();
    expect(await valueOf("const nothing = 1")).toBeNull();
  });

  test("keys with the names of inherited properties cross as data", async () => {
    const text = '{"__proto__":{"a":1},"constructor":2}';
    const tools: ToolSet = { ...echo, odd: { execute: () => JSON.parse(text) as unknown } };
    for (const source of [`return JSON.parse('${text}')`, "return await tools.odd({})"]) {
      expect(JSON.stringify(await valueOf(source, { tools }))).toBe(text);
    }
    expect(await valueOf("return await tools.echo({ constructor: 2 })", { tools })).toEqual({
      constructor: 2,
    });
  });

  test("an input with a key __proto__ reaches no tool [policy:no-proto]", async () => {
    const merged: object[] = [];
    const merge: ToolSet[string] = { execute: (input: object) => merged.push(Object.assign({}, input)) };
    const source = `
      const inputs = [{ ["__proto__"]: { isAdmin: true } }, { a: [{ ["__proto__"]: 1 }] }];
      return await Promise.all(inputs.map((input) => tools.merge(input).catch(({ code, message }) => [code, message])));`;
    const refused = ["invalid_input", expect.stringContaining(`it has a key "__proto__"`)];
    expect(await valueOf(source, { tools: { merge } })).toEqual([refused, refused]);
    expect(merged).toEqual([]);
  });
});

describe("results", () => {
  test("the three statuses are all there are [result:closed]", () => {
    function explain(result: RunResult): string {
      switch (result.status) {
        case "completed":
          return JSON.stringify(result.value);
        case "suspended":
          return result.suspension.token;
        case "failed":
          return result.failure.message;
        default:
          return result satisfies never;
      }
    }
    const common = { runId: "", logs: [], logsDropped: 0 };
    const stats = { wallTimeMs: 0, cpuTimeMs: 0, calls: 0, rebuilds: 0 };
    expect(explain({ status: "completed", value: 1, stats, ...common })).toBe("1");
  });

  test("log lines come back in order [result:logs]", async () => {
    const { result } = host.start({
      source: "console.log('a', 1); console.warn({ b: [2] }); console.error('c')",
    });
    expect((await result).logs).toEqual([
      { level: "log", text: "a 1" },
      { level: "warn", text: "{ b: [ 2 ] }" },
      { level: "error", text: "c" },
    ]);
  });

  test("a rejection nobody handles fails the run [result:unhandled]", async () => {
    const failure = await failureOf("Promise.reject(new Error('lost')); return 1");
    expect(failure).toMatchObject({
      code: "guest_error",
      message: expect.stringContaining("lost") as string,
    });
  });

  test("a rejection that is handled late is fine [result:unhandled]", async () => {
    const source =
      "const p = Promise.reject(new Error('x')); await tools.echo(1); return await p.catch(() => 'late')";
    expect(await valueOf(source, { tools: echo })).toBe("late");
  });

  test("a call whose failure nobody awaits fails the run [result:unhandled]", async () => {
    const tools = { bad: { execute: () => Promise.reject(new Error("broken")) } };
    const failure = await failureOf("tools.bad({}); return 1", { tools });
    expect(failure).toMatchObject({
      code: "tool_failed",
      message: expect.stringContaining("broken") as string,
    });
  });

  test("waiting for something that cannot happen is a deadlock, found at once [result:deadlock]", async () => {
    const elapsedMs = startStopwatch();
    expect((await failureOf("await new Promise(() => {})")).code).toBe("deadlock");
    expect(elapsedMs()).toBeLessThan(2000);
  });

  test("timers do not keep a finished program alive", async () => {
    const elapsedMs = startStopwatch();
    expect(await valueOf("setTimeout(() => {}, 60_000); setInterval(() => {}, 1); return 1")).toBe(1);
    expect(elapsedMs()).toBeLessThan(2000);
  });
});
