/** Correct programs pass without advice. */
import { describe, expect, test } from "vitest";
import { check, FENCE } from "./harness.ts";

describe("correct programs pass without advice", () => {
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
    ["a name that is not an identifier", "return await tools['my-tool']({ a: 1 })"],
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
      "new features of the language",
      "const groups = Object.groupBy([1, 2, 3], (n) => (n % 2 ? 'odd' : 'even'));\nreturn [groups.odd?.length, [1, 2].values().map((n) => n + 1).toArray(), new Set([1]).union(new Set([2])).size]",
    ],
    ["a disposable resource", "using a = { [Symbol.dispose]() {} };\nreturn 1"],
    [
      "for await",
      "async function* all() { yield await tools.list_orders() }\nfor await (const page of all()) console.log(page.length)",
    ],
    ["a yield", "await yield_control('done with part one');\nreturn 1"],
    [
      "handles",
      "const { items } = await connectors.github.tools({ limit: 2 });\nconst called = await connectors['a-b'].callTool(items[0]?.name ?? '', { a: 1 });\nreturn [called.ok, connectors.github.id]",
    ],
    [
      "handles by other names",
      "const { github, debug } = connectors;\nconst hub = connectors['a-b'];\nconst again = hub;\nawait debug.readLogs({});\nreturn [(await github.tools()).items.length, (await again.callTool('a')).ok, hub.id]",
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
