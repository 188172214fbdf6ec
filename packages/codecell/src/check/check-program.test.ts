/** A table of programs: those that must pass, those that are refused and how, those that only get advice. */
import { beforeAll, describe, expect, test } from "vitest";
import type { DiagnosticCode } from "../contract/diagnostic.ts";
import type { Language } from "../contract/ledger.ts";
import { checkProgram } from "./check-program.ts";
import { Compiler } from "./compiler.ts";
import { declareTools, type ToolDeclaration } from "./declare-tools.ts";
import { loadTypeScript, TYPESCRIPT_PACKAGES } from "./load-typescript.ts";
import type { Findings } from "./messages.ts";

const TOOLS: Readonly<Record<string, string | ToolDeclaration>> = {
  weather:
    "/** By city. */\nweather(input: { city: string; days?: number }): Promise<{ degrees: number; sky: string[] }>",
  list_orders: 'list_orders(input?: { status?: "late" | "lost" }): Promise<{ id: string; total: number }[]>',
  refund: {
    member: "refund(input: { order: Order; amount: number }): Promise<{ receipt: string }>",
    types: "interface Order { id: string; line: number; note?: string }",
    isClosed: true,
  },
  notify: {
    member: "notify(input: Order): Promise<void>",
    types: 'type Order = { kind: "mail"; to: string } | { kind: "text"; number: string };',
  },
  echo: "echo(input: unknown): Promise<unknown>",
  anything: "anything(input?: any): Promise<any>",
  open: "open(input: { id: string; [key: string]: unknown }): Promise<string>",
  is_late: "is_late(input: { id: string }): Promise<boolean>",
  "my-tool": '"my-tool"(input: { a: number }): Promise<number>',
  pair: "pair<Value>(input: { left: Value; right: Value }): Promise<Value>",
  many: "many(input: { id: string }): Promise<1>; many(input: { name: string }): Promise<2>",
  rows: "rows(input: { items: { id: string }[] }): Promise<string[]>",
  nullable: "nullable(input: { id: string | undefined; any: any }): Promise<null>",
  broken: "broken(input: {{{",
  escape:
    "escape(input: { a: 1 }): Promise<1> } } declare const tools: string; declare namespace X { interface Y {",
};

const GLOBALS = `
interface Handle { readonly id: string; tools(page?: { limit?: number }): Promise<{ items: { name: string }[] }>; callTool(name: string, args?: object): Promise<{ ok: boolean; data?: any }>; }
declare const connectors: { github: Handle; "a-b": Handle; debug: { readLogs(input: object): Promise<unknown> } };
declare const open_handles: { [id: string]: Handle };
declare function yield_control(reason?: string): Promise<void>;
`;

let compiler: Compiler;

beforeAll(() => {
  compiler = new Compiler(loadTypeScript(TYPESCRIPT_PACKAGES, [import.meta.dirname]));
});

function check(source: string, language: Language = "typescript"): Promise<Findings> {
  const declarations = {
    names: () => Object.keys(TOOLS),
    of: (name: string) => (Object.hasOwn(TOOLS, name) ? TOOLS[name] : undefined),
  };
  return checkProgram(compiler, { kind: "check", id: 1, source, language, globals: GLOBALS }, (names) =>
    declareTools(declarations, names, 1000),
  );
}

const FENCE = "```";

describe("programs that are right pass without a word", () => {
  test.each<[name: string, source: string]>([
    ["a body", "const { degrees } = await tools.weather({ city: 'Oslo' });\nreturn degrees + 1"],
    ["nothing", ""],
    ["a last expression", "(await tools.list_orders()).length"],
    ["an arrow", "async () => {\n  return (await tools.weather({ city: 'Oslo', days: 2 })).sky\n}"],
    ["a function", "async function main() { return await tools.list_orders({ status: 'late' }) }"],
    ["a default export", "export default async () => (await tools.list_orders()).map(({ id }) => id)"],
    ["a named default export", "export default async function main() { return tools.list_orders() }"],
    ["a fence", `${FENCE}ts\nreturn await tools.is_late({ id: 'a' })\n${FENCE}`],
    [
      "parallel calls",
      "const all = await Promise.all(['a', 'b'].map((city) => tools.weather({ city })));\nreturn all.map(({ degrees }) => degrees)",
    ],
    [
      "a promise that is awaited later",
      "const a = tools.weather({ city: 'a' });\nconst b = tools.weather({ city: 'b' });\nreturn (await a).degrees + (await b).degrees",
    ],
    ["a promise that is returned", "return tools.weather({ city: 'a' })"],
    ["then", "return tools.weather({ city: 'a' }).then(({ degrees }) => degrees)"],
    ["a name that is no identifier", "return await tools['my-tool']({ a: 1 })"],
    [
      "destructured tools",
      "const { weather, list_orders: orders } = tools;\nreturn [await weather({ city: 'a' }), await orders()]",
    ],
    ["an alias", "const look = tools.weather;\nreturn (await look({ city: 'a' })).sky[0]"],
    ["a tool as a callback", "return await Promise.all([{ id: 'a' }].map(tools.is_late))"],
    [
      "a type of its own",
      "interface Row { id: string }\nconst rows: Row[] = await tools.list_orders();\nreturn rows.length",
    ],
    ["types that are imported", "import type { Row } from 'rows';\nreturn await tools.list_orders()"],
    ["an input that is built", "const input = { city: 'a' };\nreturn (await tools.weather(input)).degrees"],
    [
      "an input that is spread",
      "const base = { city: 'a' };\nreturn (await tools.weather({ ...base, days: 1 })).degrees",
    ],
    [
      "an input with a computed name",
      "const key = 'city' as const;\nreturn (await tools.weather({ [key]: 'a' })).degrees",
    ],
    [
      "an input of a union",
      "await tools.notify({ kind: 'mail', to: 'a' });\nawait tools.notify({ kind: 'text', number: '1' })",
    ],
    ["an input that takes more", "return await tools.open({ id: 'a', more: 1, even: { more: 2 } })"],
    [
      "an input of anything",
      "await tools.echo({ a: 1 });\nawait tools.anything();\nreturn await tools.echo(null)",
    ],
    ["a generic tool", "return await tools.pair({ left: 1, right: 2 })"],
    ["a tool with two ways", "return [await tools.many({ id: 'a' }), await tools.many({ name: 'b' })]"],
    ["a tool whose declaration is broken", "return (await tools.broken({ whatever: 1 })).anything"],
    ["a tool whose declaration breaks out", "return (await tools.escape({ a: 1 })).b"],
    [
      "an own variable called tools",
      "const tools = { nope: (a: number) => a };\nreturn tools.nope(1).toFixed()",
    ],
    [
      "a parameter called tools",
      "const f = (tools: { nope(): number }) => tools.nope();\nreturn f({ nope: () => 1 })",
    ],
    [
      "the guest's globals",
      "const url = new URL('https://a.b/c?d=1');\nurl.searchParams.set('e', '2');\nconsole.log(url.href, new TextEncoder().encode('a').length, btoa('a'), structuredClone({ a: 1 }).a);\nconst id: string = crypto.randomUUID();\nconst headers = new Headers({ a: 'b' });\nconst stop = new AbortController();\nclearTimeout(setTimeout(() => stop.abort(), 10));\nqueueMicrotask(() => {});\nreturn [id, headers.get('a'), performance.now(), stop.signal.aborted]",
    ],
    [
      "what is new in the language",
      "const groups = Object.groupBy([1, 2, 3], (n) => (n % 2 ? 'odd' : 'even'));\nreturn [groups.odd?.length, [1, 2].values().map((n) => n + 1).toArray(), new Set([1]).union(new Set([2])).size]",
    ],
    ["what is disposed", "using a = { [Symbol.dispose]() {} };\nreturn 1"],
    [
      "for await",
      "async function* all() { yield await tools.list_orders() }\nfor await (const page of all()) console.log(page.length)",
    ],
    ["a yield", "await yield_control('done with part one');\nreturn 1"],
    [
      "handles",
      "const { items } = await connectors.github.tools({ limit: 2 });\nconst called = await connectors['a-b'].callTool(items[0]?.name ?? '', { a: 1 });\nreturn [called.ok, connectors.github.id]",
    ],
    ["a handle of a name nobody knows", "return await open_handles.nope.tools()"],
    [
      "a caught error's message",
      "try { await tools.refund({ order: { id: 'a', line: 1 }, amount: 2 }) } catch (error) { return error.message }",
    ],
    ["untyped parameters", "const sum = (a, b) => a + b;\nreturn [1, 2].reduce(sum)"],
  ])("%s", async (_name, source) => {
    expect(await check(source)).toEqual({ problems: [], advice: [], failure: undefined });
  });
});

describe("errors that can be proven are refused", () => {
  test.each<[name: string, source: string, code: DiagnosticCode, line: number, column: number, says: RegExp]>(
    [
      ["syntax", "const a = ;", "syntax_error", 1, 11, /^Cannot run the source: Unexpected token/u],
      [
        "syntax inside a fence",
        `\n${FENCE}ts\nlet x = ;\n${FENCE}`,
        "syntax_error",
        3,
        9,
        /Unexpected token/u,
      ],
      ["prose", "Please list the files.", "syntax_error", 1, 7, /expected a .*program/u],
      ["import", "const a = 1;\nimport fs from 'node:fs'", "module_denied", 2, 1, /^Cannot use "import"/u],
      ["require", "const fs = require('fs')", "module_denied", 1, 12, /"require"/u],
      [
        "an unknown tool",
        "return await tools.wether({ city: 'a' })",
        "unknown_tool",
        1,
        20,
        /"wether": no such tool, closest is "weather"/u,
      ],
      [
        "an unknown tool, nothing like it",
        "await tools.xyzzy()",
        "unknown_tool",
        1,
        13,
        /no such tool \(line/u,
      ],
      [
        "an unknown tool in brackets",
        "return await tools['my_tol']({ a: 1 })",
        "unknown_tool",
        1,
        20,
        /closest is "my-tool"/u,
      ],
      [
        "an unknown tool among awaited ones",
        "const [a, b] = await Promise.all([\n  tools.list_orders(),\n  tools.wether({ city: 'a' }),\n]);\nreturn [a, b]",
        "unknown_tool",
        3,
        9,
        /weather/u,
      ],
      [
        "an unknown tool in a loop",
        "for (const city of ['a', 'b']) {\n  console.log(await tools.wether({ city }))\n}",
        "unknown_tool",
        2,
        27,
        /weather/u,
      ],
      [
        "an unknown tool in a callback",
        "return await Promise.all(['a'].map(async (city) => {\n  const w = await tools.wether({ city });\n  return w\n}))",
        "unknown_tool",
        2,
        25,
        /weather/u,
      ],
      [
        "an unknown tool in a function that is called",
        "async function get(city: string) {\n  return await tools.wether({ city })\n}\nreturn await get('a')",
        "unknown_tool",
        2,
        22,
        /weather/u,
      ],
      [
        "an unknown tool in an arrow program",
        "async () => {\n  return await tools.wether({ city: 'a' })\n}",
        "unknown_tool",
        2,
        22,
        /weather/u,
      ],
      [
        "an unknown tool in a fenced arrow",
        `${FENCE}ts\nasync () => {\n  return await tools.wether({ city: 'a' })\n}\n${FENCE}`,
        "unknown_tool",
        3,
        22,
        /weather/u,
      ],
      [
        "an unknown tool in a default export",
        "export default async function main() {\n  return tools.wether({ city: 'a' })\n}",
        "unknown_tool",
        2,
        16,
        /weather/u,
      ],
      [
        "an unknown tool as a last expression",
        "const city = 'a'; await tools.wether({ city })",
        "unknown_tool",
        1,
        31,
        /weather/u,
      ],
      [
        "an unknown tool nobody awaits",
        "tools.wether({ city: 'a' });\nreturn 1",
        "unknown_tool",
        1,
        7,
        /weather/u,
      ],
      [
        "an unknown tool, destructured",
        "const { wether } = tools;\nreturn await wether({ city: 'a' })",
        "unknown_tool",
        2,
        14,
        /weather/u,
      ],
      [
        "an unknown tool by an alias",
        "const look = tools.wether;\nreturn await look({ city: 'a' })",
        "unknown_tool",
        2,
        14,
        /weather/u,
      ],
      [
        "an unknown tool beside a try",
        "try { await tools.list_orders() } catch {}\nreturn await tools.wether({ city: 'a' })",
        "unknown_tool",
        2,
        20,
        /weather/u,
      ],
      [
        "an unknown tool on data",
        "const orders = await tools.list_orders();\nif (orders.length > 0) await tools.refnd({})",
        "unknown_tool",
        2,
        36,
        /"refund"/u,
      ],
      [
        "an unknown tool after text outside ASCII",
        "const a = 'é😀世'; await tools.wether({})",
        "unknown_tool",
        1,
        31,
        /weather/u,
      ],
      [
        "an unknown tool after CRLF",
        "const a = 1;\r\nawait tools.wether({})",
        "unknown_tool",
        2,
        13,
        /weather/u,
      ],
      [
        "an unknown method of a handle",
        "return await connectors.github.callTol('a')",
        "unknown_method",
        1,
        32,
        /"connectors.github" has no "callTol", closest is "callTool"/u,
      ],
      [
        "an unknown handle",
        "return await connectors.gihub.tools()",
        "unknown_method",
        1,
        25,
        /"connectors" has no "gihub", closest is "github"/u,
      ],
      [
        "an unknown method, nothing like it",
        "return await connectors.debug.zzzzzzz({})",
        "unknown_method",
        1,
        31,
        /it has "readLogs"/u,
      ],
      [
        "a missing argument",
        "return await tools.weather({ days: 1 })",
        "missing_argument",
        1,
        28,
        /required argument "city" is missing, expected weather\(input: \{ city: string; days\?: number \}\): Promise/u,
      ],
      [
        "a misspelt argument",
        "return await tools.weather({ cty: 'a' })",
        "missing_argument",
        1,
        28,
        /"city" is missing, "cty" is none of its arguments/u,
      ],
      [
        "several missing arguments",
        "return await tools.refund({})",
        "missing_argument",
        1,
        27,
        /required arguments "order", "amount" are missing/u,
      ],
      [
        "a missing argument inside another",
        "return await tools.refund({ order: { id: 'a' }, amount: 1 })",
        "missing_argument",
        1,
        27,
        /"order\.line"/u,
      ],
      [
        "no arguments at all",
        "return await tools.weather()",
        "missing_argument",
        1,
        20,
        /"city" is missing/u,
      ],
      [
        "a missing argument of an open tool",
        "return await tools.open({ ide: 'a' })",
        "missing_argument",
        1,
        25,
        /"id" is missing/u,
      ],
      [
        "a missing argument in a callback",
        "return await Promise.all([1].map((days) => tools.weather({ days })))",
        "missing_argument",
        1,
        58,
        /"city"/u,
      ],
      [
        "an unknown argument of a closed tool",
        "return await tools.refund({ order: { id: 'a', line: 1 }, amount: 1, amont: 2 })",
        "unknown_argument",
        1,
        69,
        /no argument "amont", did you mean "amount"/u,
      ],
      [
        "a property of a promise",
        "const w = tools.weather({ city: 'a' });\nreturn w.degrees",
        "missing_await",
        2,
        10,
        /Cannot read "degrees" of a promise: the call of "weather"/u,
      ],
      [
        "await in the wrong place",
        "return await tools.weather({ city: 'a' }).degrees",
        "missing_await",
        1,
        43,
        /write \(await tools\.weather/u,
      ],
      [
        "a method of what is promised",
        "return tools.list_orders().map(({ id }) => id)",
        "missing_await",
        1,
        28,
        /Cannot read "map"/u,
      ],
      [
        "a method of what is promised, in a try",
        "try {\n  const orders = tools.list_orders();\n  return orders.length\n} catch { return 0 }",
        "missing_await",
        3,
        17,
        /"length"/u,
      ],
      [
        "an element of a promise",
        "return tools.list_orders()[0]",
        "missing_await",
        1,
        28,
        /Cannot read "0"/u,
      ],
      [
        "a promise taken apart",
        "const { degrees } = tools.weather({ city: 'a' });\nreturn degrees",
        "missing_await",
        1,
        9,
        /Cannot read "degrees"/u,
      ],
      [
        "a promise in a text",
        "return `It is ${tools.weather({ city: 'a' })}`",
        "missing_await",
        1,
        17,
        /into a text/u,
      ],
      [
        "a sum with a promise",
        "const n = tools['my-tool']({ a: 1 });\nreturn n + 1",
        "missing_await",
        2,
        8,
        /calculate/u,
      ],
      [
        "a loop over a promise",
        "for (const order of tools.list_orders()) console.log(order)",
        "missing_await",
        1,
        21,
        /loop over a promise/u,
      ],
      ["a spread promise", "return [...tools.list_orders()]", "missing_await", 1, 12, /spread/u],
      [
        "a condition on a call",
        "if (tools.is_late({ id: 'a' })) return 'late'",
        "missing_await",
        1,
        5,
        /always true/u,
      ],
      [
        "a promise inside the result",
        "return { weather: tools.weather({ city: 'a' }) }",
        "missing_await",
        1,
        19,
        /return a promise inside a value/u,
      ],
      [
        "a held promise inside the result",
        "const orders = tools.list_orders();\nreturn { orders }",
        "missing_await",
        2,
        10,
        /inside a value/u,
      ],
      [
        "a promise inside an input",
        "return await tools.echo({ orders: tools.list_orders() })",
        "missing_await",
        1,
        35,
        /pass a promise to a tool/u,
      ],
      [
        "a handle's promise",
        "const page = connectors.github.tools();\nreturn page.items",
        "missing_await",
        2,
        13,
        /"items"/u,
      ],
    ],
  )("%s", async (_name, source, code, line, column, says) => {
    const { problems } = await check(source);
    expect(problems).toMatchObject([{ code, position: { line, column } }]);
    expect(problems[0]?.message).toMatch(says);
    if (code !== "syntax_error") expect(problems[0]?.message).toContain(`(line ${line}, column ${column})`);
  });

  test.each<[name: string, source: string]>([
    ["an unknown tool", "return await tools.wether({ city: 'a' })"],
    ["a missing argument", "return await tools.weather({ days: 1 })"],
    ["a missing await", "const w = tools.weather({ city: 'a' }); return w.degrees"],
  ])("in JavaScript too: %s", async (_name, source) => {
    expect((await check(source, "javascript")).problems).toHaveLength(1);
  });

  test("all of them are told, in order", async () => {
    const { problems } = await check(
      "const w = tools.weather({ city: 'a' });\nawait tools.refnd({});\nawait tools.weather({});\nreturn w.degrees",
    );
    expect(problems.map(({ code }) => code)).toEqual(["unknown_tool", "missing_argument", "missing_await"]);
  });
});

describe("what cannot be proven is advice", () => {
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
      "a promise in what says itself what it is",
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
      "an unknown method of a handle that was looked for",
      "if ('nope' in connectors.github) await connectors.github.nope();\nreturn 1",
      "type",
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
      "a variable that becomes what was promised",
      "let w: any = tools.weather({ city: 'a' });\nw = await w;\nreturn w.degrees",
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

  test("JavaScript gets none about types", async () => {
    const { problems, advice } = await check("let n = 1;\nn = 'a';\nreturn n.nope", "javascript");
    expect({ problems, advice }).toEqual({ problems: [], advice: [] });
  });

  test("it is bounded", async () => {
    const { advice } = await check(
      Array.from({ length: 100 }, (_, n) => `const a${n}: number = 'a'`).join("\n"),
    );
    expect(advice).toHaveLength(20);
    const long = await check(`const a: ${JSON.stringify("x".repeat(10_000))} = 1`);
    expect(long.advice[0]?.message.length).toBeLessThan(400);
  });
});
