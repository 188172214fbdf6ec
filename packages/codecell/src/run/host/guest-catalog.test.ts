/** Tests of what crosses from a catalog to a program: all it can ask for, and little else. */
import { describe, expect, test } from "vitest";
import { globalsFor } from "./guest-catalog.ts";

const names = new Set(["echo", "create_issue", "café", "$x"]);
const crossing = (source: string): readonly string[] =>
  globalsFor(source, { names, allTools: () => "[1]" }).toolNames;
const ALL = [...names];

describe("convenience names", () => {
  test.each([
    ["return 1", []],
    ["return await tools.echo({})", ["echo"]],
    ["tools.echo(1); tools?.create_issue(2); tools . $x(3)", ["echo", "create_issue", "$x"]],
    ["await tools.search('x'); await tools.call('core:core:echo', {})", []],
    ["const mytools = {}; mytools[0]; toolset.echo", []],
    ["tools.nothing(1)", []],
    ["x.tools.echo", ["echo"]],
    ["// do this\nconst a = 1 // do it like this\n// and use the tools of this run\ntools.echo()", ["echo"]],
    ["text('this file is 0 bytes, and no tools are needed')", []],
    ["class A { n = 1; get() { return this.n + hypothesis } } return new A().get()", []],
  ])("that cross to %j are those that it names", (source, expected) => {
    expect(crossing(source)).toEqual(expected);
  });

  test.each([
    "tools[name](1)",
    "const { echo } = tools;",
    "Object.keys(tools)",
    "f(tools)",
    "tools/* */.echo",
    "tools./* */echo",
    "tools?.['echo']",
    "(tools as any).echo",
    "tools.caf\u00e9",
    "tools.echo\u00a0(1)",
    "\u00a0tools[x]",
    "t\\u006fols[x]",
    "globalThis['too' + 'ls'][x]",
    "(function () { return this })()['to' + 'ols'][x]",
    "tools",
    "const g = this",
    "f(this)",
    "return this\nelse",
    "this\nfoo()",
    "foo\nthis[x]",
    "'x' in this ",
    "for (const key in this) f(key)",
    "const { [a]: b } = this; const { [c]: d } = b",
    "this . x",
    "if (x) do tools [x]; while (y)",
    "do this\n[x](); while (y)",
    "do this\nwhile (y)",
    "x = y ? tools : z",
    "tools in x",
    "for (const one of tools ) f(one)",
    "for (const key in tools) f(key)",
    "tools as unknown",
    "this satisfies unknown",
  ])("all cross to %j, because it may ask for any", (source) => {
    expect(crossing(source)).toEqual(ALL);
  });
});

describe("ALL_TOOLS", () => {
  const allTools = (source: string): string | undefined =>
    globalsFor(source, { names, allTools: () => "[1]" }).allTools;

  test("crosses to a program that can ask for it", () => {
    for (const source of ["ALL_TOOLS.length", "globalThis['ALL' + '_TOOLS']", "\\u0041LL_TOOLS"]) {
      expect(allTools(source)).toBe("[1]");
    }
  });

  test("does not cross to other programs", () => {
    expect(allTools("return await tools.echo({})")).toBe("");
  });
});
