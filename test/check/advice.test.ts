/** A finding that cannot be proven is advice, and stops no program. */
import { describe, expect, test } from "vitest";
import type { DiagnosticCode } from "../../packages/codecell/src/contract/diagnostic.ts";
import { check } from "./harness.ts";

describe("a finding that cannot be proven is advice", () => {
  test.each<[name: string, source: string, code: DiagnosticCode | undefined]>([
    [
      "an unknown tool in a try",
      "try { return await tools.wether({ city: 'a' }) } catch { return null }",
      "unknown_tool",
    ],
    [
      "an unknown tool whose failure is caught",
      "return await tools.wether({ city: 'a' }).catch(() => null)",
      "unknown_tool",
    ],
    [
      "an unknown tool whose failure is handled by then",
      "return await tools.wether({}).then((a) => a, () => null)",
      "unknown_tool",
    ],
    [
      "an unknown tool whose failure is handled by a list of handlers",
      "return await tools.wether({}).then(...[null, () => 2])",
      "unknown_tool",
    ],
    [
      "an unknown tool among settled ones",
      "return (await Promise.allSettled([tools.wether({})])).length",
      "unknown_tool",
    ],
    [
      "an unknown tool in a function somebody guards",
      "const get = async () => await tools.wether({});\ntry { return await get() } catch { return 0 }",
      "unknown_tool",
    ],
    [
      "an unknown tool held by a promise somebody guards",
      "const p = tools.wether({});\ntry { return await p } catch { return 0 }",
      "unknown_tool",
    ],
    [
      "an unknown tool in a helper that takes functions",
      "const safe = async (f: () => Promise<unknown>) => { try { return await f() } catch { return null } };\nreturn await safe(() => tools.wether({}))",
      "unknown_tool",
    ],
    ["an unknown tool after return", "return 1;\nawait tools.wether({})", "unknown_tool"],
    ["an unknown tool under false", "if (false) await tools.wether({});\nreturn 1", "unknown_tool"],
    [
      "an unknown tool under a constant",
      "const DRY_RUN = true;\nif (!DRY_RUN) await tools.wether({});\nreturn 1",
      "unknown_tool",
    ],
    [
      "an unknown tool behind a comparison of constants",
      "const MODE = 'live', MOST = 3;\nif (MODE === 'test' && MOST > 5) await tools.wether({});\nreturn 1",
      "unknown_tool",
    ],
    [
      "an unknown tool in a loop over nothing",
      "for (const city of [] as string[]) await tools.wether({ city });\nfor (const _ of []) await tools.wether({});\nreturn 1",
      "unknown_tool",
    ],
    [
      "a promise in an object with toJSON",
      "return { w: tools.weather({ city: 'a' }), toJSON: () => 1 }",
      undefined,
    ],
    [
      "an unknown tool behind a constant",
      "const DEBUG = false;\nDEBUG && (await tools.wether({}));\nreturn DEBUG ? await tools.wether({}) : 1",
      "unknown_tool",
    ],
    [
      "an unknown tool in a function nobody calls",
      "async function unused() { await tools.wether({}) }\nreturn 1",
      "unknown_tool",
    ],
    [
      "an unknown tool in a function only itself calls",
      "async function unused(): Promise<void> { await tools.wether({}); await unused() }\nreturn 1",
      "unknown_tool",
    ],
    [
      "an unknown tool in a method",
      "const a = { async get() { await tools.wether({}) } };\nreturn Object.keys(a)",
      "unknown_tool",
    ],
    [
      "an unknown tool in a timer",
      "setTimeout(async () => { await tools.wether({}) }, 1000);\nreturn 1",
      "unknown_tool",
    ],
    [
      "an unknown tool in a listener",
      "new AbortController().signal.addEventListener('abort', () => tools.wether({}));\nreturn 1",
      "unknown_tool",
    ],
    [
      "an unknown tool in a generator",
      "async function* all() { yield await tools.wether({}) }\nall();\nreturn 1",
      "unknown_tool",
    ],
    [
      "an unknown tool in a catch clause",
      "try { await tools.list_orders() } catch { await tools.wether({}) }",
      "unknown_tool",
    ],
    [
      "an unknown tool as a default",
      "const f = (a: unknown = tools.wether({})) => a;\nreturn f(1)",
      "unknown_tool",
    ],
    [
      "an unknown tool that was looked for",
      "if ('wether' in tools) return await tools.wether({});\nreturn 1",
      "unknown_tool",
    ],
    [
      "an unknown tool that was listed",
      "const names = Object.keys(tools);\nif (names.includes('wether')) await tools.wether({});\nreturn 1",
      "unknown_tool",
    ],
    [
      "an unknown tool that was tested",
      "if (typeof tools.wether === 'function') return await tools.wether({});\nreturn 1",
      "unknown_tool",
    ],
    [
      "an unknown tool that was destructured and tested",
      "const { wether } = tools;\nif (wether) return await wether({});\nreturn 1",
      "unknown_tool",
    ],
    [
      "an unknown tool beside computed names",
      "const name = 'weather';\nreturn [await tools[name]({ city: 'a' }), await tools.wether({})]",
      "unknown_tool",
    ],
    [
      "an unknown tool found through the global object",
      "if (Object.hasOwn(globalThis.tools, 'wether')) await tools.wether({});\nreturn 1",
      "unknown_tool",
    ],
    [
      "an unknown tool on a line that is ignored",
      "// @ts-ignore\nreturn await tools.wether({})",
      "unknown_tool",
    ],
    [
      "an unknown tool in a text that is not to be checked",
      "// @ts-nocheck\nreturn await tools.wether({})",
      "unknown_tool",
    ],
    [
      "a missing argument in a try",
      "try { await tools.weather({ days: 1 }) } catch { return 'as expected' }",
      "missing_argument",
    ],
    [
      "a missing argument whose failure is caught",
      "return await tools.weather({ days: 1 }).catch(() => 0)",
      "missing_argument",
    ],
    [
      "an unknown argument",
      "return (await tools.weather({ city: 'a', unit: 'C' })).degrees",
      "unknown_argument",
    ],
    [
      "an unknown argument of a closed tool that is undefined",
      "return await tools.refund({ order: { id: 'a', line: 1 }, amount: 1, note: undefined })",
      "unknown_argument",
    ],
    [
      "an unknown argument of a closed tool that may be undefined",
      "const note = Math.random() > 2 ? 'a' : undefined;\nreturn await tools.refund({ order: { id: 'a', line: 1 }, amount: 1, note: note })",
      "unknown_argument",
    ],
    [
      "an unknown argument of a closed tool whose value nobody knows",
      "const note = (await tools.anything()).note;\nreturn await tools.refund({ order: { id: 'a', line: 1 }, amount: 1, note: note })",
      "unknown_argument",
    ],
    [
      "an unknown argument of a closed tool that is a function",
      "return await tools.refund({ order: { id: 'a', line: 1 }, amount: 1, note: () => 1 })",
      "unknown_argument",
    ],
    [
      "an unknown method of a handle that was looked for",
      "if ('nope' in connectors.github) await connectors.github.nope();\nreturn 1",
      "type",
    ],
    [
      "an unknown method of a handle by another name, looked for",
      "const github: any = connectors.github;\nif ('nope' in github) await github.nope();\nreturn 1",
      "unknown_method",
    ],
    [
      "an unknown handle by another name, tested",
      "const slack = connectors.slack;\nif (slack) await slack.tools();\nreturn 1",
      "unknown_method",
    ],
    [
      "an unknown handle by another name, tested under a third",
      "const slack = connectors.slack;\nconst chat = slack;\nif (chat) await slack.tools();\nreturn 1",
      "unknown_method",
    ],
    [
      "an unknown handle, taken apart and tested",
      "const { slack } = connectors;\nif (slack !== undefined) await slack.nope();\nreturn 1",
      "type",
    ],
    ["a method that may be there", "const { nope } = connectors.github;\nreturn await nope?.()", "type"],
    [
      "an unknown handle that was looked for through the global object",
      "if ('slack' in globalThis.connectors) await connectors.slack.tools();\nreturn 1",
      "unknown_method",
    ],
    [
      "an unknown handle that was tested through the global object",
      "if (globalThis['connectors']?.slack) await connectors.slack.tools();\nreturn 1",
      "unknown_method",
    ],
    [
      "an unknown tool that was looked for in a copy of the global object",
      "const all = Reflect.get(globalThis, 'too' + 'ls');\nif ('wether' in all) await tools.wether({});\nreturn 1",
      "unknown_tool",
    ],
    [
      "a property of a promise that has a substitute",
      "const w = tools.weather({ city: 'a' });\nreturn w.degrees ?? (await w).degrees",
      "type",
    ],
    ["a wrong type of an argument", "return await tools.weather({ city: 5 })", "type"],
    ["a wrong value of an argument", "return await tools.list_orders({ status: 'new' })", "type"],
    ["a wrong type", "const n: number = 'a';\nreturn n", "type"],
    ["a property the output does not have", "return (await tools.weather({ city: 'a' })).degres", "type"],
    ["a global the guest does not have", "return typeof window === 'undefined' ? 1 : fetch('a')", "type"],
    [
      "a wrong part of a union",
      "await tools.notify({ kind: 'mail' } as never);\nawait tools.notify({ kind: 'mail' })",
      "type",
    ],
    [
      "a spread that lacks something",
      "const base = { days: 1 };\nreturn await tools.weather({ ...base })",
      "type",
    ],
    ["an input as any", "return await tools.weather({ days: 1 } as any)", undefined],
    ["tools as any", "return await (tools as any).wether({})", undefined],
    ["an optional tool", "return await tools.wether?.({})", undefined],
    ["optional tools", "return await tools?.wether({})", undefined],
    ["tools handed on", "const use = (all: any) => all.wether({});\nreturn await use(tools)", undefined],
    [
      "a promise with a property of its own",
      "const w: any = tools.weather({ city: 'a' });\nw.degrees = 1;\nreturn w.degrees",
      undefined,
    ],
    [
      "a variable that gets the promised value",
      "let w: any = tools.weather({ city: 'a' });\nw = await w;\nreturn w.degrees",
      undefined,
    ],
    [
      "a variable that gets the promised value by a pattern",
      "let w = tools.list_orders() as any;\n[w] = [await w];\nreturn w.length",
      undefined,
    ],
    [
      "a variable that becomes something else in a loop",
      "var w: any = tools.weather({ city: 'a' });\nfor (w of [1]) console.log(w.degrees);\nreturn w.degrees",
      undefined,
    ],
    [
      "a variable that is declared again",
      "var w = tools.weather({ city: 'a' });\nvar w = await w as any;\nreturn w.degrees",
      undefined,
    ],
    [
      "a variable that gets the promised value by an object pattern",
      "let w = tools.weather({ city: 'a' });\n({ w } = { w: await w } as any);\nreturn (w as any).degrees",
      undefined,
    ],
    [
      "a list whose elements have all that is required",
      "const more = [{ id: 'b' }];\nreturn await tools.rows({ items: [{ id: 'a' }, ...more, JSON.parse('{}')] })",
      undefined,
    ],
    [
      "an undefined that may be left out",
      "return await tools.nullable({ id: undefined, any: 1 })",
      undefined,
    ],
    ["a promise in a result that is implied", "const orders = tools.list_orders();\n({ orders })", undefined],
    [
      "a promise in what a function returns",
      "const start = () => ({ w: tools.weather({ city: 'a' }) });\nreturn (await start().w).degrees",
      undefined,
    ],
    [
      "promises in a list",
      "const all = [tools.weather({ city: 'a' })];\nreturn (await Promise.all(all)).length",
      undefined,
    ],
    [
      "a promise in a map",
      "const cache = new Map();\nconst w = tools.weather({ city: 'a' });\ncache.set('a', w);\nreturn (await cache.get('a')).degrees",
      undefined,
    ],
    [
      "a promise that is shown and then awaited",
      "const w = tools.weather({ city: 'a' });\nconsole.log(`${w}`, w.degrees);\nreturn (await w).degrees",
      "missing_await",
    ],
    [
      "an unknown tool in a callback of an iterator",
      "[1].values().map(() => tools.wether({}));\nreturn 1",
      "unknown_tool",
    ],
    [
      "an unknown tool in a callback of an own method",
      "const lazy = { map: (_f: () => unknown) => 1 };\nreturn lazy.map(() => tools.wether({}))",
      "unknown_tool",
    ],
    [
      "an unknown tool in a function that is replaced",
      "let get = () => tools.wether({});\nget = () => tools.anything();\nreturn await get()",
      "unknown_tool",
    ],
    [
      "an unknown tool where names mean anything",
      "const box = { tools: { wether: () => 1 } };\nwith (box) { return await tools.wether({}) }",
      "type",
    ],
    ["what TypeScript cannot parse", "var a = 1, b = 2, c = 3;\nreturn a < b > (c)", undefined],
  ])("%s", async (_name, source, code) => {
    const { problems, advice } = await check(source);
    expect(problems).toEqual([]);
    if (code !== undefined) expect(advice.map((each) => each.code)).toContain(code);
    if (code === undefined) expect(advice.filter((each) => each.code !== "type")).toEqual([]);
  });

  test("advice is for the writer of the program, not for whoever set up a compiler", async () => {
    const { advice } = await check("console.log(process.env, Buffer, document);\nreturn [].nope2");
    const told = advice.map(({ message }) => message);
    expect(told).toEqual([
      "Cannot find name 'process' (TS2591) (line 1, column 13)",
      "Cannot find name 'Buffer' (TS2591) (line 1, column 26)",
      "Cannot find name 'document' (TS2584) (line 1, column 34)",
      "Property 'nope2' does not exist on type 'never[]' (TS2339) (line 2, column 11)",
    ]);
  });

  test("a program in JavaScript gets no advice about types", async () => {
    const { problems, advice } = await check("let n = 1;\nn = 'a';\nreturn n.nope", "javascript");
    expect({ problems, advice }).toEqual({ problems: [], advice: [] });
  });

  test("advice is bounded", async () => {
    const { advice } = await check(
      Array.from({ length: 100 }, (_, n) => `const a${n}: number = 'a'`).join("\n"),
    );
    expect(advice).toHaveLength(20);
    const long = await check(`const a: ${JSON.stringify("x".repeat(10_000))} = 1`);
    expect(long.advice[0]?.message.length).toBeLessThan(400);
  });
});
