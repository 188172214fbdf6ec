/**
 * Sources that are not a program, import something, or call what does not exist are refused: with which message, and at
 * which place.
 */
import { describe, expect, test } from "vitest";
import type { DiagnosticCode } from "../../packages/codecell/src/contract/diagnostic.ts";
import { check, FENCE } from "./harness.ts";

describe("names that are wrong are refused", () => {
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
        "an unknown method of a handle by another name",
        "const github = connectors.github;\nconst { items } = await github.tools();\nreturn await github.callTol('a')",
        "unknown_method",
        3,
        21,
        /"connectors.github" has no "callTol", closest is "callTool"/u,
      ],
      [
        "an unknown method of a handle by another name of another name",
        "const all = connectors;\nconst { github: gh } = all;\nreturn await gh.callTol('a')",
        "unknown_method",
        3,
        17,
        /"gh" has no "callTol", closest is "callTool"/u,
      ],
      [
        "an unknown handle by another name",
        "const github = connectors.gihub;\nreturn await github.tools()",
        "unknown_method",
        1,
        27,
        /"connectors" has no "gihub", closest is "github"/u,
      ],
      [
        "an unknown method beside what a handle says of itself",
        "console.log(connectors.github.id);\nreturn await connectors.github.callTol('a')",
        "unknown_method",
        2,
        32,
        /callTool/u,
      ],
      [
        "an unknown tool beside a handle by another name",
        "const github = connectors.github;\nawait github.tools();\nreturn await tools.wether({})",
        "unknown_tool",
        3,
        20,
        /weather/u,
      ],
      [
        "an unknown tool in a program that speaks of tools",
        "globalThis.count = 1;\nconst found = await tools.echo({ query: 'tools' });\nreturn await tools.wether({})",
        "unknown_tool",
        3,
        20,
        /weather/u,
      ],
    ],
  )("%s", async (_name, source, code, line, column, says) => {
    const { problems } = await check(source);
    expect(problems).toMatchObject([{ code, position: { line, column } }]);
    expect(problems[0]?.message).toMatch(says);
    if (code !== "syntax_error") expect(problems[0]?.message).toContain(`(line ${line}, column ${column})`);
  });
});

test("a message repeats only the beginning of a long name or expression", async () => {
  const name = "a".repeat(100_000);
  const { problems } = await check(`await tools.${name}(); await connectors.github.${name}()`);
  expect(problems.map(({ code }) => code)).toEqual(["unknown_tool", "unknown_method"]);
  for (const { message } of problems) {
    expect(message.length).toBeLessThan(2100);
    expect(message).toMatch(/^Cannot call .*… \(line 1, column \d+\)$/u);
  }
});
