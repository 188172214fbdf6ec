/** Programs that code mode is given, and what hosts do with it: the same for both implementations. */
import type { Case } from "./outcome.ts";

const program = (name: string, does: string, options: object = {}): Case => ({ name, does, options });

export const VALUES: readonly Case[] = [
  program("a number", "return 1 + 1"),
  program("a text", "return 'text'"),
  program("an object", "return { a: [1, { b: null }], c: true }"),
  program("null", "return null"),
  program("nothing", "const a = 1;"),
  program("undefined", "return undefined"),
  program("an empty program", ""),
  program("a function", "return () => 1"),
  program("a symbol", "return Symbol('s')"),
  program("a bigint", "return 1n"),
  program("a cycle", "const a = {}; a.a = a; return a"),
  program("a date", "return new Date(0)"),
  program("not a number", "return [NaN, Infinity, -0]"),
  program("undefined in an object", "return { a: undefined, b: [undefined] }"),
  program("a map", "return { kept: new Map([[1, 2]]) }"),
  program("toJSON", "return { toJSON: () => 'own' }"),
  program("__proto__ as data", 'return JSON.parse(\'{"__proto__":{"a":1},"b":2}\')'),
  program("odd text", "return '\\u0000\\ud83d\\ude00\\u2028'"),
  program("a promise", "return Promise.resolve({ a: 1 })"),
  program(
    "TypeScript",
    "interface A { a: number } const x: A = { a: 1 }; const f = <T,>(y: T): T => y; return f(x) as A",
  ),
  program("await at the top", "const a = await Promise.all([1, Promise.resolve(2)]); return a"),
  program("JSON is there", "return JSON.parse(JSON.stringify({ a: 1 }))"),
  program("a result as large as it may be", "return 'x'.repeat(98)", {
    executionPolicy: { maxResultBytes: 100 },
  }),
  program("a result that is too large", "return 'x'.repeat(99)", {
    executionPolicy: { maxResultBytes: 100 },
  }),
];

const caught = (call: string): string =>
  `try { await ${call} } catch (e) { return [e.name, e.code, e instanceof Error, e.stack?.includes("node_modules") ?? false, e.details ?? null] }`;

export const TOOLS: readonly Case[] = [
  program("one call", "return await tools.echo({ a: 1 })"),
  program("a tool that is not async", "return await tools.sync({})"),
  program("calls one after the other", "await tools.echo({ i: 1 }); return await tools.echo({ i: 2 })"),
  program("calls at the same time", "return await Promise.all([1, 2, 3].map((i) => tools.slow({ i })))"),
  program(
    "a call kept for later",
    "const p = tools.echo({ a: 1 }); const q = tools.echo({ a: 2 }); return [await q, await p]",
  ),
  program("an output of nothing", "return typeof (await tools.nothing({}))"),
  program("an output that is not JSON", "return await tools.bigint({})"),
  program("an output that is not JSON, caught", caught("tools.bigint({})")),
  program("an output with toJSON", "return await tools.date({})"),
  program("a tool's error", "return await tools.fail({})"),
  program("a tool's error, caught", caught("tools.fail({})")),
  program("a tool's error with a cause, caught", caught("tools.failOdd({})")),
  program("a text thrown by a tool, caught", caught("tools.throwText({})")),
  program("an error caught by catch()", "return await tools.fail({}).catch(() => 'caught')"),
  program(
    "errors among others",
    "return (await Promise.allSettled([tools.fail({}), tools.echo({})])).map((r) => r.status)",
  ),
  program("a tool's error thrown again", "try { await tools.noExecute({}) } catch (e) { throw e }"),
  program(
    "a tool's error in another one",
    "try { await tools.noExecute({}) } catch (e) { throw new Error('mine', { cause: e }) }",
  ),
  program("an unknown tool", "return await tools.nope({})"),
  program("an unknown tool, caught", caught("tools.nope({})")),
  program("a tool by computed name", "return await tools['ec' + 'ho']({ a: 1 })"),
  program("a tool of the prototype", "return typeof tools.toString"),
  program("a tool without execute", "return await tools.noExecute({})"),
  program("a tool without execute, caught", caught("tools.noExecute({})")),
  program("input that is made by its schema", "return await tools.typed({ path: '  /a ' })"),
  program("input that is invalid", "return await tools.typed({ path: 1 })"),
  program("input that is invalid, caught", caught("tools.typed({ path: 1 })")),
  program("input that its JSON Schema refuses", "return await tools.strict({ a: 'text' })"),
  program("input that its JSON Schema takes", "return await tools.strict({ a: 1 })"),
  program("no input", "return await tools.typed()"),
  program("input that is not JSON", "return await tools.echo({ a: 1n })"),
  program("input with undefined", "return await tools.echo({ a: undefined, b: [undefined] })"),
  program("an async iterable", "return await tools.stream({})"),
  program("an empty async iterable", "return typeof (await tools.streamNothing({}))"),
  program("an async iterable that fails", caught("tools.streamFails({})")),
  program(
    "ids of calls",
    "return [(await tools.options({})).toolCallId, (await tools.options({})).toolCallId]",
  ),
  program("reading tools", "return [typeof tools, typeof tools.echo, Object.keys(tools).includes('echo')]"),
  program(
    "replacing tools",
    "try { tools.echo = () => 'mine' } catch {} try { globalThis.tools = 1 } catch {} return await tools.echo({ a: 1 })",
  ),
];

export const FORWARDING: readonly Case[] = [
  {
    name: "context of AI SDK 7",
    does: "return await tools.options({})",
    execution: { context: { tenant: 7 }, messages: [{ role: "user", content: "hi" }] },
  },
  {
    name: "context of AI SDK 6",
    does: "return await tools.options({})",
    execution: { experimental_context: { tenant: 6 } },
  },
  {
    name: "both contexts",
    does: "return await tools.options({})",
    execution: { context: 1, experimental_context: 2 },
  },
  {
    name: "no options at all",
    does: ({ mode, tools }) => mode.runCodeMode({ js: "return (await tools.options({})).context", tools }),
  },
];

export const ERRORS: readonly Case[] = [
  program("a thrown error", "throw new TypeError('x')"),
  program("a thrown error with a code", "throw Object.assign(new Error('x'), { code: 'OWN' })"),
  program("a thrown text", "throw 'x'"),
  program("a thrown object", "throw { a: 1 }"),
  program("thrown null", "throw null"),
  program("an error of one's own class", "class Mine extends Error { name = 'Mine' } throw new Mine('x')"),
  program(
    "an error with a name of the package",
    "throw Object.assign(new Error('x'), { name: 'CodeModeTimeoutError' })",
  ),
  program("an error caught", "try { throw new Error('x') } catch (e) { return e.message }"),
  program("a name that is not there", "return nope"),
  program("a syntax error", "return ("),
  program("an import", "import x from 'fs'; return x"),
  program("a dynamic import", "return await import('fs')"),
  program("eval", "return eval('1')"),
  program("Function", "return Function('return 1')()"),
  program("Function by its constructor", "return (() => {}).constructor('return 1')()"),
  program("process", "return typeof process"),
  program("require", "return typeof require"),
  program("module", "return typeof module"),
  program("fetch that is not allowed", "return typeof fetch"),
  program("what else is there", "return [typeof crypto, typeof performance, typeof setTimeout, typeof URL]"),
  program(
    "files and modules",
    "return [typeof Deno, typeof Bun, typeof Buffer, typeof __dirname, typeof exports]",
  ),
  program("a rejection that nobody handles", "Promise.reject(new Error('x')); return 1"),
  program(
    "a rejection that is handled later",
    "const p = Promise.reject(new Error('x')); await null; return await p.catch(() => 'late')",
  ),
  program("globals are fresh, first", "globalThis.mine = 1; return globalThis.mine"),
  program("globals are fresh, second", "return typeof globalThis.mine"),
];

export const LIMITS: readonly Case[] = [
  // No endless loops: whether the package's clock or its count of steps ends them is a matter of the machine.
  program("a tool that takes too long", "return await tools.never({})", {
    executionPolicy: { timeoutMs: 1500 },
  }),
  program("a promise that nothing settles", "await new Promise(() => {})", {
    executionPolicy: { timeoutMs: 300 },
  }),
  program("a source that is too large", `return 1 // ${"x".repeat(100)}`, {
    executionPolicy: { maxSourceBytes: 100 },
  }),
  program("a source as large as it may be", `return 1 //${"x".repeat(89)}`, {
    executionPolicy: { maxSourceBytes: 100 },
  }),
  program("an input that is too large", "return await tools.echo({ a: 'x'.repeat(100) })", {
    executionPolicy: { maxToolInputBytes: 100 },
  }),
  program("an input that is too large, caught", caught("tools.echo({ a: 'x'.repeat(100) })"), {
    executionPolicy: { maxToolInputBytes: 100 },
  }),
  program("an output that is too large", "return (await tools.gen({ size: 200 })).length", {
    executionPolicy: { maxToolOutputBytes: 100 },
  }),
  program("an output that is too large, caught", caught("tools.gen({ size: 200 })"), {
    executionPolicy: { maxToolOutputBytes: 100 },
  }),
  program("too many calls", "for (let i = 0; i < 4; i++) await tools.echo({ i }); return 1", {
    executionPolicy: { maxBridgeRequests: 3 },
  }),
  program(
    "too many calls, caught",
    "for (let i = 0; i < 3; i++) await tools.echo({ i }); try { await tools.echo({}) } catch (e) { return [e.name, e.code] }",
    {
      executionPolicy: { maxBridgeRequests: 3 },
    },
  ),
  program("as many calls as there may be", "for (let i = 0; i < 3; i++) await tools.echo({ i }); return 1", {
    executionPolicy: { maxBridgeRequests: 3 },
  }),
  program(
    "more at once than may be",
    "return (await Promise.all([1, 2, 3, 4].map((i) => tools.slow({ i })))).length",
    {
      executionPolicy: { maxInFlightBridgeRequests: 3 },
    },
  ),
  program("deep recursion", "function f() { return f() } try { f() } catch (e) { return e.name }", {
    executionPolicy: { maxStackSizeBytes: 128 * 1024 },
  }),
  ...["timeoutMs", "maxBridgeRequests", "memoryLimitBytes"].flatMap((name) =>
    [0, -1, 1.5].map((value) =>
      program(`${name} ${value}`, "return 1", { executionPolicy: { [name]: value } }),
    ),
  ),
];

export const DETACHED: readonly Case[] = [
  program("a call that nobody awaits", "tools.never({}); return 1"),
  program("a call that nobody awaits and that has ended", "tools.echo({}); await tools.slow({}); return 1"),
  program(
    "a call that somebody looks at, still running",
    "await tools.echo({}); tools.never({}).then(() => {}); return 1",
  ),
  program(
    "a call that somebody looks at, ended",
    "tools.echo({}).then(() => {}); await tools.slow({}); return 1",
  ),
  program(
    "a call with a catch, still running",
    "await tools.echo({}); tools.never({}).catch(() => {}); return 1",
  ),
  program("a race", "return await Promise.race([tools.echo({ a: 1 }), tools.never({})])"),
  program(
    "a race whose loser has ended",
    "const r = await Promise.race([tools.echo({ a: 1 }), tools.slow({})]); await tools.slow({}); await tools.slow({}); return r",
  ),
];
