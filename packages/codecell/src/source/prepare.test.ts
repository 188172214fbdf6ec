import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { transform } from "esbuild";
import * as fc from "fast-check";
import { QuickJS } from "quickjs-wasi";
import { beforeAll, describe, expect, test } from "vitest";
import type { Failure, Position } from "../contract/failure.ts";
import type { Language } from "../contract/ledger.ts";
import { type PreparedSource, prepareSource, toSourcePosition } from "./prepare.ts";

declare global {
  namespace WebAssembly {
    function compile(bytes: Uint8Array): Promise<Module>;
  }
}

let wasm: WebAssembly.Module;

beforeAll(async () => {
  const path = fileURLToPath(import.meta.resolve("quickjs-wasi/quickjs.wasm"));
  wasm = await WebAssembly.compile(await readFile(path));
});

type Ran = { value: unknown } | { error: string; at: readonly [line: number, column: number] | undefined };

/** Evaluates a script in the real engine and calls the function that the script evaluates to. */
async function run(script: string): Promise<Ran> {
  const vm = await QuickJS.create({ wasm, maxStackSize: 256 * 1024 });
  try {
    const promise = vm.callFunction(vm.evalCode(script, "script.js"), vm.undefined);
    vm.executePendingJobs();
    const settled = await vm.resolvePromise(promise);
    if (!("error" in settled)) return { value: vm.dump(settled.value) ?? null };
    const stack = settled.error.getProp("stack").toString();
    return {
      error: `${settled.error.getProp("name").toString()}: ${settled.error.getProp("message").toString()}`,
      at: placeIn(stack),
    };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return { error: `${error.name}: ${error.message}`, at: placeIn(error.stack ?? "") };
  } finally {
    vm.dispose();
  }
}

function placeIn(stack: string): readonly [number, number] | undefined {
  const match = /script\.js:(\d+):(\d+)/u.exec(stack);
  return match === null ? undefined : [Number(match[1]), Number(match[2])];
}

function prepared(source: string, language: Language = "typescript"): PreparedSource {
  const result = prepareSource(source, language);
  if (!result.ok) throw new Error(result.failure.message);
  return result;
}

async function resultOf(source: string, language?: Language): Promise<unknown> {
  const ran = await run(prepared(source, language).script);
  return "value" in ran ? ran.value : ran.error;
}

async function errorPlace(source: string): Promise<Position | undefined> {
  const program = prepared(source);
  const ran = await run(program.script);
  if ("value" in ran || ran.at === undefined) throw new Error("No error with a place");
  return toSourcePosition(program, ...ran.at);
}

function failureOf(source: string, language: Language = "typescript"): Failure {
  const result = prepareSource(source, language);
  if (result.ok) throw new Error(`Accepted: ${result.script}`);
  return result.failure;
}

async function compile(source: string): Promise<string | undefined> {
  try {
    const { code } = await transform(`async () => {\n${source}\n}`, {
      loader: "ts",
      target: "esnext",
      logLevel: "silent",
    });
    return `(${code.trim().replace(/;$/u, "")})`;
  } catch {
    return undefined;
  }
}

const FENCE = "```";

/** The same programs in every run; FUZZ_SEED and FUZZ_RUNS choose others. */
const FIXED = { seed: Number(process.env["FUZZ_SEED"] ?? 1) };

describe("the script", () => {
  test("is an async function around the source, one line down", () => {
    expect(prepared("return 1")).toMatchObject({ script: "(async()=>{\nreturn 1\n})", lineOffset: 1 });
  });

  test("has types blanked where they stood", () => {
    const source = "const a: number = 1 as any;\ninterface A { b: string }\nreturn a!";
    expect(prepared(source).script.split("\n").slice(1, -1)).toEqual([
      "const a         = 1       ;",
      `;${" ".repeat(24)}`,
      "return a;",
    ]);
  });

  test.each(["a line comment // end", "/* end */"])("is not ended by %s", async (comment) => {
    expect(await resultOf(`return 1 ${comment.startsWith("/*") ? comment : "// end"}`)).toBe(1);
  });
});

describe("what the result is", () => {
  test.each<[name: string, source: string, result: unknown]>([
    ["a returned value", "return await Promise.resolve(4)", 4],
    ["a last expression", "const a = 1; a + 1", 2],
    ["a last expression with a type, brackets and a comment", "const a = 1\n;(a + 1) as number // two\n", 2],
    ["a last call, awaited", "const f = async () => 3\nf()", 3],
    ["a last call before the function it calls", "main()\n\nasync function main() { return 5 }", 5],
    ["a last assignment", "let x; x = 4;", 4],
    ["a last object in brackets", "({ a: 1 })", { a: 1 }],
    ["a sole string", '"hello"', "hello"],
    ["an arrow", "async () => { return 5 }", 5],
    ["an arrow in brackets with a type", "(async (): Promise<number> => { return 5 }) satisfies unknown;", 5],
    ["an arrow after declarations", "const a: number = 5\nasync () => a", 5],
    ["an arrow with optional parameters", "(a?: number, ...b: number[]) => a ?? 9", 9],
    ["a function expression", "(function () { return 5 })", 5],
    ["a called arrow", "(async () => { return 5 })()", 5],
    ["a sole function", "// the program\ntype A = 1\nasync function main(): Promise<A> { return 1 }", 1],
    ["a sole function that calls itself", "function f(n = 3) { return n ? f(n - 1) : 'end' }", "end"],
    ["a function that is called elsewhere, once", "let n = 0\nfunction f() { return ++n }\nf()", 1],
    ["a default export of an anonymous function", "export default async function () { return 5 }", 5],
    [
      "a default export of a named function",
      "export default async function main() { return main.name }",
      "main",
    ],
    ["a default export of an arrow", "const a = 5;\nexport default async () => a;", 5],
    ["a default export of a function's name", "const main = async () => 7\nexport default main", 7],
    ["a default export of a value, over two lines", "export default\n  { a: 5 } as const", { a: 5 }],
    ["nothing after a block", "if (true) { 5 }", null],
    ["nothing after a declaration", "const x = 5", null],
    ["nothing after a block that looks like an object", "{ a: 1 }", null],
    ["nothing after a try", "try { 5 } catch {}", null],
    ["nothing for a generator", "function* g() { return 1 }", null],
    ["nothing for an empty source", " \n// nothing\n;", null],
    ["nothing, since a return stands in a block", "if (false) { return 1 }\n5", null],
    ["nothing, since a return stands in a loop", "for (const x of []) return x\n5", null],
    ["nothing, since a return stands in a try", "try { if (0) return 1 } finally {}\nasync () => 5", null],
    [
      "a last expression, although inner functions have a return",
      "const f = () => { return 1 }\nclass A { m() { return 2 } }\n3",
      3,
    ],
  ])("%s", async (_name, source, result) => {
    expect(await resultOf(source)).toEqual(result);
  });

  test.each([
    ["cache.set(1, 2)", true],
    ["return cache.set(1, 2)", false],
    ["() => 1", false],
    ["async function main() {}", false],
    ["export default 1", false],
    ["const x = 1", false],
  ])("a result without a return statement is marked: %s", (source, implied) => {
    expect(prepared(source).isResultImplied).toBe(implied);
  });

  test.each([
    "({ tools }) => tools",
    "async function main(input: string) { return input }",
    "export default (x) => x",
  ])("a function that needs arguments is refused: %s", (source) => {
    expect(failureOf(source)).toMatchObject({
      code: "syntax_error",
      message: expect.stringContaining("parameters"),
    });
  });

  test.each([
    ["ts", `${FENCE}ts\nconst a: number = 2\nreturn a\n${FENCE}`],
    ["none, with space around", `\n \n${FENCE}\nconst a: number = 2\na\n${FENCE}  \n\n`],
    ["tildes", "~~~typescript\nasync () => 2\n~~~"],
    ["CRLF", `${FENCE}js\r\nreturn 2\r\n${FENCE}\r\n`],
  ])("a fenced block is unwrapped: %s", async (_name, source) => {
    expect(await resultOf(source)).toBe(2);
  });
});

describe("types", () => {
  test.each<[name: string, source: string, result: unknown]>([
    [
      "annotations, optional and this parameters",
      "function f(this: any, a: string, b?: number): string { return a + (b ?? '') } return f.call(null, 'a')",
      "a",
    ],
    [
      "generic arrows and calls",
      "const id = <T,>(x: T): T => x; const two = async <A, B extends A>(a: A) => id<A>(a); return [id(1), await two<1, 1>(1)]",
      [1, 1],
    ],
    ["instantiation expressions", "const A = Array<number>; return A.of(1)", [1]],
    [
      "optional generic calls",
      "const o: any = { f: <T,>(x: T) => x }; return [o?.f?.<number>(1), new Map<string, number>([['a', 1]]).size]",
      [1, 1],
    ],
    [
      "as, satisfies, non-null and angle casts",
      "const o = <any>{ a: [1] as const } satisfies object; return (o as { a: number[] }).a![0]!",
      1,
    ],
    ["a cast to an object in an arrow", "const f = () => <any>{ a: 1 }\nreturn f()", { a: 1 }],
    [
      "interfaces, aliases and declare",
      "interface A { x: 1 }\ntype B = A\ndeclare const c: B\ndeclare global { var d: 1 }\ndeclare module 'x' { export const y: 1 }\nreturn typeof c",
      "undefined",
    ],
    [
      "abstract classes, overloads, implements",
      "abstract class A { abstract f(): number; g() { return 1 } } interface I {} class B<T> extends A implements I { f(): number; f() { return 2 } } function o(a: number): number; function o(a: any) { return a } return [new B<1>().f(), new B().g(), o(3)]",
      [2, 1, 3],
    ],
    [
      "class fields and modifiers",
      "class A { readonly a: number = 1; b!: number; c?: string; [k: string]: any; #p = 2; private q = 3; protected static override: number = 4; declare d: 1; get p(): number { return this.#p } } const x = new A(); return [x.a, 'b' in x, 'c' in x, 'd' in x, x.p, x.q, A.override]",
      [1, true, true, false, 2, 3, 4],
    ],
    [
      "predicates",
      "const s = (x: unknown): x is string => typeof x === 'string'; function a(x: unknown): asserts x is 1 {} a(1); return s('')",
      true,
    ],
    [
      "imports and exports of types",
      "import type { A } from 'x'\nexport type B = A\nexport interface C {}\nreturn 1",
      1,
    ],
    ["ambient enums and namespaces", "declare enum E { A }\ndeclare namespace N { const x: 1 }\nreturn 1", 1],
    [
      "text that looks like types",
      "return ['let x: number = 1 as any', `${1} as const`, /<T>(x: T)/.source] // as any",
      ["let x: number = 1 as any", "1 as const", "<T>(x: T)"],
    ],
    [
      "words that are types elsewhere",
      "let type = 1, as = 2, satisfies = 3, declare = 4\ntype\n= as\nreturn [type, as, satisfies, declare]",
      [2, 2, 3, 4],
    ],
    [
      "a conditional the parser takes for an arrow's return type",
      "const c = 1; return true ? (2) : c => c",
      2,
    ],
  ])("%s", async (_name, source, result) => {
    expect(await resultOf(source)).toEqual(result);
  });

  test.each<[name: string, source: string, result: unknown]>([
    [
      "an alias between statements",
      "const b = () => 2\nconst a = b\ntype A = string\n;(1)\nreturn typeof a",
      "function",
    ],
    ["as before a bracket on the next line", "let x = 5 as any\n(7)\nreturn x", 5],
    ["as before an index on the next line", "let x = 5 as any\n[1].toString()\nreturn x", 5],
    ["a declaration before an array", "let x: any\n[1].toString()\nreturn x ?? 'none'", "none"],
    ["an arrow's return type on its own line", "const f = (a: number):\n  number => a\nreturn f(3)", 3],
    [
      "an arrow's return type after a line break",
      "const f = async <T>(x: T)\n: Promise<T> => x\nreturn await f(3)",
      3,
    ],
    ["type parameters over lines", "const f = async <\n  T,\n>(x: T) => x\nreturn await f(3)", 3],
    [
      "a returned arrow with type parameters over lines",
      "const g = () => {\n  return <\n    T,\n  >(x: T) => x\n}\nreturn g()(3)",
      3,
    ],
    ["a returned cast over lines", "return <\n  any\n>\n  3", 3],
    [
      "fields before computed fields",
      "class A { a: any\n['b']: any = 2\nreadonly ['c']: any\n*d() {}\npublic e = 1\noverride\nf }\nreturn Object.keys(new A())",
      ["a", "b", "c", "e", "override", "f"],
    ],
    [
      "an erased field between fields",
      "class A { a = 1\ndeclare x: any\n['b'] = 2 }\nreturn Object.keys(new A())",
      ["a", "b"],
    ],
    [
      "a typed loop variable",
      "let s = 0; for (const x: number of [1, 2]) s += x\nfor (let i: number = 0; i < 2; i++) s += i\nreturn s",
      4,
    ],
    [
      "a typed string is not a directive",
      "'use strict' as any\nreturn (function () { return this === undefined })()",
      false,
    ],
    [
      "a string after a type is not a directive",
      "type A = 1\n'use strict'\nreturn (function () { return this === undefined })()",
      false,
    ],
    ["use strict is a directive", "'use strict'\nreturn (function () { return this === undefined })()", true],
  ])("do not change what lines mean: %s", async (_name, source, result) => {
    expect(await resultOf(source)).toEqual(result);
  });

  test.each([
    ["enum", "enum A { X = 1 }", '"enum"'],
    ["const enum", "const enum A { X }", '"enum"'],
    ["namespaces", "namespace A { export const x = 1 }", '"namespace"'],
    ["parameter properties", "class A { constructor(public x: number) {} }", "this.x = x"],
    ["decorators", "@d class A {}", "Decorators"],
    ["JSX", 'const x = <div a="1">t</div>', "JSX"],
    ["auto accessors", "class A { accessor x = 1 }", "getter"],
    ["new without arguments before an index", "new Map<string, number>\n['size']", "new A<T>()"],
    ["type arguments before an index", "const f: any = 1; f<any>\n[1]", "brackets"],
    ["type arguments before a sign", "const f: any = 1; f<any>\n+1", "brackets"],
    ["a cast that would regroup", "let a = 1; a + a as any * a", "brackets"],
  ])("that need generated code are refused with advice: %s", (_name, source, advice) => {
    expect(failureOf(source)).toMatchObject({
      code: "syntax_error",
      message: expect.stringContaining(advice),
    });
  });

  test("in JavaScript are refused with a hint at the language", () => {
    expect(failureOf("let x: number = 1", "javascript").message).toBe(
      'Cannot run the source: Missing semicolon (line 1, column 6); the source is TypeScript, use language "typescript"',
    );
  });
});

describe("modules", () => {
  test.each([
    ["import fs from 'node:fs'; return 1", 1],
    ["import 'x'", 1],
    ["import { type A } from 'x'", 1],
    ["return 1 + await import('x')", 18],
    ["return import.meta.url", 8],
    ["export const x = 1", 1],
    ["export {}", 1],
    ["export * from 'x'", 1],
    ["export default class {}", 1],
    ["export default 1; foo()", 1],
    ["if (0) return 1; export default 2", 18],
    ["import x = require('y')", 1],
    ["export = 5", 1],
  ])("are refused: %s", (source, column) => {
    expect(failureOf(source)).toMatchObject({ code: "module_denied", position: { line: 1, column } });
  });

  test.each([
    ["require('fs')", 1],
    ["require?.('fs')", 1],
    ["(0,require)('fs')", 4],
    [String.raw`\u0072equire('fs')`, 1],
    ["const o = { require }", 13],
    ["(require as any)('fs')", 2],
    ["if (typeof require !== 'undefined') require('fs')", 37],
  ])("a free require is refused: %s", (source, column) => {
    expect(failureOf(source)).toMatchObject({
      code: "module_denied",
      position: { line: 1, column },
      error: { name: "ReferenceError", message: "require is not defined" },
    });
  });

  test.each<[source: string, result: unknown]>([
    ["const require = (x: string) => x; require('own')", "own"],
    ["const { a: [require] } = { a: [() => 1] }; require()", 1],
    ["function f(require) { return require } f(2)", 2],
    ["try { throw 3 } catch (require) { return require }", 3],
    ["const o = { require: () => 4 }; o.require()", 4],
    ["class A { require() { return 5 } } new A().require()", 5],
    ["typeof require", "undefined"],
    ["'require(1)' + `import('x')` + /export/.source // require(2)", "require(1)import('x')export"],
    ["require: for (;;) break require\n6", 6],
  ])("a program that only looks as if it used them runs: %s", async (source, result) => {
    expect(await resultOf(source)).toEqual(result);
  });
});

describe("text the engine and the parser could read differently", () => {
  test.each<[name: string, source: string, result: unknown]>([
    ["an opening HTML comment", "let x = 1, y = 5\nx<!--y\nreturn x", 1],
    ["a closing HTML comment", "let x = 1\n--> x = 2\nreturn x", 1],
    ["a closing HTML comment after a block comment", "let x = 1\n/*\n*/ --> x = 2\nreturn x", 1],
    ["a decrement and a comparison", "let x = 1; x-->0\nreturn x", 0],
    ["a hashbang", "#!/usr/bin/env node\nreturn 1", 1],
    ["a byte order mark", "\uFEFFreturn 1", 1],
    ["a line separator that ends a comment", "// c\u2028return 1\nreturn 2", 1],
    ["a carriage return that ends a comment", "// c\rreturn 1\rreturn 2", 1],
    ["a line separator in a string", "return '\u2028'.length", 1],
    ["a carriage return in a template", "return `\r`.charCodeAt(0)", 10],
    ["NUL in a string", "return 'a\0b'.length", 3],
    ["a lone surrogate in a string", "return '\uD800'.charCodeAt(0)", 0xd800],
    [
      "bidirectional controls in a comment",
      "const admin = false; /*\u202E } if (admin) { \u2066*/ return admin",
      false,
    ],
  ])("%s", async (_name, source, result) => {
    expect(await resultOf(source)).toEqual(result);
  });

  test.each([
    "return 1 })(); globalThis.broke = 1; (async () => {",
    "} async function evil() { return 'evil'",
    "}); evil(); (async()=>{",
    "return `${1}` + `",
    "/*",
    "return 1 /* ",
    "*/",
    "function f() { return await\n(1) }",
    "return typeof new.target",
  ])("a source that is not a program by itself is refused: %s", (source) => {
    expect(failureOf(source).code).toBe("syntax_error");
  });
});

describe("failures", () => {
  test.each<[name: string, source: string, message: string]>([
    [
      "the first of several errors",
      "let a = 1\nlet a = 2\nlet b = )",
      "Cannot run the source: Identifier 'a' has already been declared (line 2, column 5)",
    ],
    [
      "a missing bracket",
      "foo(1\nlet y",
      'Cannot run the source: Unexpected token, expected "," (line 2, column 1)',
    ],
    [
      "inside a fence",
      `\n${FENCE}ts\nlet x = ;\n${FENCE}`,
      "Cannot run the source: Unexpected token (line 3, column 9)",
    ],
    [
      "await in a plain function",
      "xs.map(x => await f(x))",
      'Cannot run the source: "await" works only at the top level and in async functions, make this function async (line 1, column 13)',
    ],
  ])("say what is wrong and where: %s", (_name, source, message) => {
    expect(failureOf(source)).toMatchObject({ code: "syntax_error", message });
  });

  test.each(["ls -la", "this is not a program", "Please list the files.", "curl -s https://x.y/z | jq ."])(
    "say that a program was expected: %s",
    (source) => {
      expect(failureOf(source)).toMatchObject({
        code: "syntax_error",
        message: expect.stringMatching(/expected a .*program/iu),
      });
    },
  );

  test.each([
    `${FENCE}ts\nreturn 1`,
    `${FENCE}ts\n1\n${FENCE}\nand\n${FENCE}ts\n2\n${FENCE}`,
    `Here:\n${FENCE}ts\nreturn 1\n${FENCE}`,
  ])("say that the fences must go: %s", (source) => {
    expect(failureOf(source).message).toContain("Markdown");
  });

  test("do not grow with the source", () => {
    const name = "x".repeat(10_000);
    expect(failureOf(`let ${name}; let ${name}`).message.length).toBeLessThan(400);
  });
});

describe("positions", () => {
  test.each<[name: string, source: string, line: number, column: number]>([
    ["after types", "const q: Map<string,\n number> = new Map<string, number>()\n   nope()", 3, 4],
    ["after text outside ASCII", "const a: string = 'é😀世'; nope()", 1, 27],
    ["after a type outside ASCII", "const a: 'é😀世' = 1 as any; nope()", 1, 29],
    ["after a cast in angle brackets", "const x = <any>5; nope()", 1, 19],
    ["in a last expression", "const x = 1; nope(x)", 1, 14],
    ["in a called arrow", "async () => {\n  nope()\n}", 2, 3],
    ["in a sole function", "async function main() {\n  await 1\n  nope()\n}", 3, 3],
    ["in a default export", "export default nope()", 1, 16],
    ["after await", "await 1\n  ;nope()", 2, 4],
    ["in a fence", `\n${FENCE}ts\nconst a: number = 1\n  nope()\n${FENCE}`, 4, 3],
    ["after CRLF and CR", "let a = 1\r\nlet b: any = 2\r  nope()\r\n", 3, 3],
    ["after a hashbang", "#!/usr/bin/env node\nnope()", 2, 1],
  ])("%s", async (_name, source, line, column) => {
    expect(await errorPlace(source)).toEqual({ line, column });
  });

  test("are mapped also for syntax errors that only the engine finds", async () => {
    expect(await errorPlace("const a: number = 1;\n  var this")).toMatchObject({ line: 2 });
  });

  test("outside the source are undefined", () => {
    const program = prepared("async function main() {\n}");
    expect([0, 1, 4, 5, 1.5, Number.NaN].map((line) => toSourcePosition(program, line, 1))).toEqual(
      Array(6).fill(undefined),
    );
  });

  test("are never outside the text", () => {
    const program = prepared("const a: number = 1\na");
    expect(toSourcePosition(program, 2, 1000)).toEqual({ line: 1, column: 20 });
    expect(toSourcePosition(program, 3, 1000)).toEqual({ line: 2, column: 2 });
    expect(toSourcePosition(program, 3, -5)).toEqual({ line: 2, column: 1 });
  });
});

describe("any text at all", () => {
  const WORDS = [
    "a",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    "=>",
    "=",
    ";",
    "\n",
    ":",
    "?",
    "!",
    "`",
    "${",
    "'",
    '"',
    "//",
    "/*",
    "*/",
    "\\",
  ];
  const MORE = [
    "as",
    "async",
    "await",
    "class",
    "function",
    "return",
    "export",
    "default",
    "import",
    "require",
    "type",
    FENCE,
    "\r",
    "\u2028",
    "\uD800",
    "\0",
    "#!",
    "@",
    "1",
    ".",
    ",",
  ];

  test("is prepared or refused, and never throws", () => {
    const soup = fc.array(fc.constantFrom(...WORDS, ...MORE)).map((words) => words.join(" "));
    const text = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.string({ unit: "grapheme" }),
      soup,
      soup.map((words) => words.replaceAll(" ", "")),
    );
    fc.assert(
      fc.property(text, fc.constantFrom<Language>("javascript", "typescript"), (source, language) => {
        const result = prepareSource(source, language);
        if (result.ok) expect(result.script).toMatch(/^\(async\(\)=>\{\n[^]*\n\}\)$/u);
        else expect(result.failure.message).toMatch(/^Cannot [^]*[^.]$/u);
      }),
      { ...FIXED, numRuns: Number(process.env["FUZZ_RUNS"] ?? 3000) },
    );
  });

  test("keeps its lines and, except for recorded insertions, its length", () => {
    const pieces = fc.constantFrom(
      "const a: T = 1",
      "type A = 1",
      "f<T>(a as any)",
      "<any>a",
      "a",
      "\n",
      ";",
      " ",
      "'é😀'",
      "() => a",
    );
    fc.assert(
      fc.property(fc.array(pieces), (words) => {
        const source = words.join("\n");
        const result = prepareSource(source, "typescript");
        if (!result.ok) return;
        const body = result.script
          .split("\n")
          .slice(1, 1 + result.lineCount)
          .join("\n");
        const inserted = result.insertions.reduce((sum, { text }) => sum + text.length, 0);
        expect(result.lineCount).toBe(source.split("\n").length);
        expect(body.length).toBe(source.length + inserted);
      }),
      FIXED,
    );
  });
});

describe("TypeScript's meaning", () => {
  const VALUES = fc.constantFrom(
    "1 as any",
    "<any>2",
    "f<number>(3)",
    "(4)!",
    "<T>(x: T): T => x",
    "f",
    "[5] satisfies any",
    "o.p!",
    "o?.q!.r",
    "new C<any>",
  );
  const JOINS = fc.constantFrom("\n", "\n", ";\n", "\n/* c */\n", " // c\n");
  const PIECES = fc.oneof(
    fc.tuple(fc.nat(9), VALUES).map(([index, value]) => `v[${index}] = ${value}`),
    fc.tuple(fc.nat(9), VALUES).map(([index, value]) => `var w${index}: any = ${value}\nv.push(w${index})`),
    VALUES,
    VALUES.map((value) => `v.push(function (this: any, a?: any): any { return ${value}\n(v) }())`),
    VALUES.map(
      (value) =>
        `v.push(Object.keys(new (class { a: any = ${value}\n['b']?: any\npublic ['c'] = 1\n*d() {} })))`,
    ),
    fc.constantFrom(
      "type A = string",
      "interface B { a: 1 }",
      "declare const z: 1",
      ";(v.push('('))",
      ";[v.push('[')]",
      "(v)",
      "[0]",
      "`t`",
      "+1",
      "-1",
    ),
    fc.constantFrom(
      "declare function g(): 1",
      "for (const k: any of [1, 2] as any) v.push(k)",
      "if (v) 1 as any\nelse v.push('else')",
    ),
  );
  const PRELUDE =
    "Function.prototype.toString = () => 'f'; const v: any[] = [], f: any = (x: any) => x ?? f, o: any = { p: 1, q: { r: 2 } }; class C<T> { t!: T }\n";

  test("is kept: the result equals that of another compiler's output", async () => {
    const programs = fc
      .array(fc.tuple(PIECES, JOINS), { maxLength: 6 })
      .map((pieces) => pieces.flat().join(""));
    await fc.assert(
      fc.asyncProperty(programs, async (program) => {
        const source = `${PRELUDE}${program}\nreturn JSON.stringify(v)`;
        const result = prepareSource(source, "typescript");
        const other = await compile(source);
        if (!result.ok || other === undefined) return;
        const [ours, theirs] = [await run(result.script), await run(other)];
        expect("error" in ours ? ours.error : ours.value, result.script).toEqual(
          "error" in theirs ? theirs.error : theirs.value,
        );
      }),
      { ...FIXED, numRuns: Number(process.env["FUZZ_RUNS"] ?? 200) },
    );
  });
});
