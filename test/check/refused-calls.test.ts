/** Programs that call a tool wrongly, or forget to await it, are refused: with which message, and at which place. */
import { describe, expect, test } from "vitest";
import type { DiagnosticCode } from "../../packages/codecell/src/contract/diagnostic.ts";
import { check } from "./harness.ts";

describe("calls that are wrong are refused", () => {
  test.each<[name: string, source: string, code: DiagnosticCode, line: number, column: number, says: RegExp]>(
    [
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
        /"city" is missing, it has no "cty"/u,
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
        "a missing argument inside a list",
        "return await tools.rows({ items: [{ id: 'a' }, { ide: 'b' }] })",
        "missing_argument",
        1,
        25,
        /"items\[1\]\.id"/u,
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
        "an unknown argument of a closed tool, after one that may be left out",
        "const note = Math.random() > 2 ? 'a' : undefined;\nreturn await tools.refund({ order: { id: 'a', line: 1 }, amount: 1, note, reason: `late` })",
        "unknown_argument",
        2,
        75,
        /no argument "reason"/u,
      ],
      [
        "an unknown argument that is a list",
        "const notes = ['a'];\nreturn await tools.refund({ order: { id: 'a', line: 1 }, amount: 1, notes })",
        "unknown_argument",
        2,
        69,
        /no argument "notes"/u,
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
        "a method of the promised value",
        "return tools.list_orders().map(({ id }) => id)",
        "missing_await",
        1,
        28,
        /Cannot read "map"/u,
      ],
      [
        "a property of the promised value, in a try",
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
        "a promise as an input",
        "return await tools.echo(tools.list_orders())",
        "missing_await",
        1,
        25,
        /pass a promise to a tool/u,
      ],
      [
        "a promise inside what an arrow gives",
        "async () => ({ orders: tools.list_orders() })",
        "missing_await",
        1,
        24,
        /inside a value/u,
      ],
      [
        "an asynchronous loop over a promise",
        "for await (const order of tools.list_orders()) console.log(order)",
        "missing_await",
        1,
        27,
        /loop over a promise/u,
      ],
      [
        "a promise in a variable that could be changed, and is not",
        "let orders = tools.list_orders();\nfor (const order of orders) console.log(order)",
        "missing_await",
        2,
        21,
        /loop over a promise/u,
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

  test("all problems are listed, in order", async () => {
    const { problems } = await check(
      "const w = tools.weather({ city: 'a' });\nawait tools.refnd({});\nawait tools.weather({});\nreturn w.degrees",
    );
    expect(problems.map(({ code }) => code)).toEqual(["unknown_tool", "missing_argument", "missing_await"]);
  });
});
