import { parse } from "@babel/parser";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { prepareSource } from "./prepare.ts";

const OPTIONS = {
  allowReturnOutsideFunction: true,
  allowAwaitOutsideFunction: true,
  attachComment: false,
  errorRecovery: true,
} as const;

/** A program's tree as plain data, without types, positions, brackets and empty statements. */
function treeOf(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.flatMap((item) => {
      const tree = treeOf(item);
      return tree === NOTHING ? [] : [tree];
    });
  }
  if (value instanceof RegExp || typeof value !== "object" || value === null) return value ?? null;
  const node: Record<string, unknown> = { ...value };
  if (isTypeOnly(node)) return NOTHING;
  if (typeof node["type"] === "string" && /^TS.*(?:Expression|Assertion)$/u.test(node["type"])) {
    return treeOf(node["expression"]);
  }
  const tree: Record<string, unknown> = {};
  for (const [field, inner] of Object.entries(node)) {
    if (IGNORED.has(field)) continue;
    const kept = treeOf(field === "params" ? withoutThis(inner) : inner);
    if (kept !== NOTHING && kept !== null && kept !== false) tree[field] = kept;
  }
  return tree;
}

const NOTHING = Symbol("nothing");
const IGNORED = new Set([
  "start",
  "end",
  "loc",
  "extra",
  "errors",
  "comments",
  "tokens",
  "implements",
  "accessibility",
  "abstract",
  "readonly",
  "override",
  "optional",
  "definite",
  "declare",
  "interpreter",
  "typeAnnotation",
  "typeParameters",
  "typeArguments",
  "superTypeArguments",
  "returnType",
  "importKind",
  "exportKind",
]);

function isTypeOnly(node: Record<string, unknown>): boolean {
  const type = String(node["type"]);
  if (type === "EmptyStatement" || node["declare"] === true || node["exportKind"] === "type") return true;
  if (node["importKind"] === "type" || (node["abstract"] === true && type.endsWith("Property"))) return true;
  return (
    /^TS(?:Interface|TypeAlias|Declare|IndexSig|Type|Any)/u.test(type) &&
    !/Expression$|Assertion$/u.test(type)
  );
}

function withoutThis(params: unknown): unknown {
  return Array.isArray(params) ? params.filter((param: { name?: string }) => param.name !== "this") : params;
}

function read(text: string, plugins: "typescript"[]): { tree: unknown; complaints: unknown[] } {
  try {
    const { program, errors } = parse(text, { ...OPTIONS, sourceType: "script", plugins });
    const complaints = errors.filter(({ reasonCode }) => !/OutsideModule|UnexpectedUsing/u.test(reasonCode));
    return { tree: treeOf(program), complaints };
  } catch (error) {
    return { tree: undefined, complaints: [error] };
  }
}

/** Expects that the blanked text, read as JavaScript, is the program that was written. */
function expectSameTree(source: string): void {
  const prepared = prepareSource(source, "typescript");
  if (!prepared.ok) return;
  const lines = prepared.script.split("\n");
  const body = lines.slice(prepared.lineOffset, prepared.lineOffset + prepared.lineCount).join("\n");
  const typed = read(source, ["typescript"]);
  const written = typed.complaints.length === 0 ? typed : read(source, []);
  const runs = read(body, []);
  // The parser accepts two things in TypeScript only, and the engine refuses both: keywords as names, and `a?.<b`.
  if (String(runs.complaints[0]).includes("Unexpected keyword") || /\?\.[^]*</u.test(source)) return;
  expect(runs, `${source}\n=>\n${body}`).toEqual(written);
}

/** The same programs in every run; FUZZ_SEED and FUZZ_RUNS choose others. */
const RUNS = {
  seed: Number(process.env["FUZZ_SEED"] ?? 1),
  numRuns: Number(process.env["FUZZ_RUNS"] ?? 3000),
};

const GLUE = fc.constantFrom("", " ", "\n", " ", "\n", "/*\n*/", "//c\n", " /* x */ ");

const TOKENS = fc.constantFrom(
  "a",
  "b",
  "f",
  "T",
  "x",
  "1",
  "'s'",
  "`t`",
  "`${",
  "}`",
  "/r/",
  "(",
  ")",
  "[",
  "]",
  "{",
  "}",
  "<",
  ">",
  ",",
  ";",
  ":",
  "?",
  "!",
  "=",
  "=>",
  "+",
  "-",
  "*",
  "**",
  "++",
  "--",
  "/",
  ".",
  "?.",
  "...",
  "|",
  "&",
  "as",
  "satisfies",
  "any",
  "let",
  "const",
  "var",
  "type",
  "interface",
  "declare",
  "abstract",
  "class",
  "extends",
  "implements",
  "function",
  "async",
  "await",
  "return",
  "throw",
  "yield",
  "if",
  "else",
  "for",
  "of",
  "in",
  "do",
  "while",
  "new",
  "this",
  "enum",
  "public",
  "private",
  "readonly",
  "static",
  "override",
  "get",
  "set",
  "is",
  "asserts",
  "keyof",
  "typeof",
  "void",
  "<T>",
  ": T",
  "as any",
  "<any>",
  "=> ",
  "(x: T)",
  "{}",
  "()",
  "[0]",
  "-->",
  "<!--",
  "import",
  "export",
  "default",
);

const EXPRESSIONS = fc.constantFrom(
  "a",
  "a as any",
  "a!",
  "<any>a",
  "<any>\na",
  "f<T>",
  "f<T>(a)",
  "f<\nT\n>(a)",
  "new f<T>",
  "new f<T>()",
  "a satisfies T",
  "<T>(x: T) => x",
  "<\nT\n>(x: T): T => x",
  "async <T>(x: T) => x",
  "async <\nT,\n>(x: T) => x",
  "(x):\nT => x",
  "(x?: T, ...y: T[]): x is T => x",
  "(x)\n: T\n& U => x",
  "async (x): Promise<\nT\n> => x",
  "() => <any>{ a: 1 }",
  "function (this: T, a?: T): T { return a }",
  "class<T> extends f<T> implements U, V { a = 1 }",
  "a ? (b) : (c)",
  "(a as any).b!.c",
  "a?.b!.c",
  "a![0]",
  "a!(b)",
  "a?.<T>(b)",
  "f<T>`x`",
  "`${a as any}`",
  "{ a: 1 } as any",
  "({} as T)",
  "a + b as any",
  "a + b as any * c",
  "a ** b as any",
  "a < b",
  "a as any as T",
  "typeof a as any",
  "await a as any",
  "[1] as const",
  "(a, b as any)",
  "a = b as any",
  "<any>function () {}",
  "'use strict' as any",
  "a as\nT",
  "a as {\n x: 1 }",
);

const STATEMENTS = fc.oneof(
  EXPRESSIONS,
  EXPRESSIONS.map((expression) => `return ${expression}`),
  EXPRESSIONS.map((expression) => `throw ${expression}`),
  EXPRESSIONS.map((expression) => `var v: T = ${expression}`),
  EXPRESSIONS.map((expression) => `if (a) ${expression}`),
  EXPRESSIONS.map((expression) => `for (const k: T of [${expression}]) ${expression}`),
  EXPRESSIONS.map((expression) => `for (var i: T = ${expression}; ; ) ${expression}`),
  EXPRESSIONS.map((expression) => `class C { p: T = ${expression}\n[a]: T\n*g() {} }`),
  fc.constantFrom(
    "type A = string",
    "type A =\n  | 1\n  | 2",
    "interface A { a: 1 }",
    "declare const d: T",
    "declare function e(): T",
    "function o(a: T): T",
    "declare class E { a: 1 }",
    "abstract class F { abstract a: T; b = 1 }",
    "var w: T",
    "var w!: T",
    "import type { A } from 'x'",
    "export type { A }",
    "(b)",
    "[b]",
    "`b`",
    "+b",
    "-b",
    "/b/g",
    "++b",
    "--b",
    "* 2",
    ";(b)",
    "class G { a = 1\nreadonly [b] = 2\n}",
    "class G { a = 1\npublic *b() {}\n}",
    "class G { a\ndeclare b\n[c] }",
    "class G { a?\n['b'] }",
    "class G { a!: T\n['b']: T }",
    "class G { static readonly a = 1\nprivate static b?: T }",
    "class G { m(): T\nm(a?: T) { return a as any } [k: string]: T }",
    "class G { get?: T\nset }",
    "class G { a: T\nin }",
    "class G { constructor(a: T); constructor(a?) { } override b() {} }",
    "'use strict'",
    "let type\ntype = 1",
    "declare\nlet z",
    "let { a, b }: T = c, [d]: T[] = e",
    "try { } catch (e: unknown) { }",
    "label: a as any",
    "do a as any\nwhile (b)",
  ),
);

describe("blanked text parses to the same tree as the source", () => {
  test("for statements joined by line breaks and semicolons", () => {
    const programs = fc.array(
      fc.tuple(STATEMENTS, fc.constantFrom("\n", "\n", ";", "\n/* c */", " // c\n", ";\n")),
      { maxLength: 6 },
    );
    fc.assert(
      fc.property(programs, (pieces) => expectSameTree(`${pieces.flat().join("")}\nreturn 0`)),
      RUNS,
    );
  });

  test("for random tokens that form a program", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(TOKENS, GLUE), { maxLength: 12 }), (pieces) =>
        expectSameTree(`${pieces.flat().join("")}\nreturn 0`),
      ),
      RUNS,
    );
  });

  test("for expressions in every place an expression can stand", () => {
    const places = fc.constantFrom(
      "return _",
      "return [_, _]",
      "return { a: _, [_]: _ }",
      "f(_, ..._)\nreturn 0",
      "const q = (_)\nreturn q",
      "return () => _",
      "return async () => _",
      "return class { a = _\n[b] = _ }",
      "return `${_}`",
      "return _ ? _ : _",
      "return function* () { yield _\n(a) }",
      "if (_) _\nelse _\nreturn 0",
      "switch (_) { case _: _\n}\nreturn 0",
      "return (_) + (_)",
      "return a[_]",
      "return new f(_)",
      "return ((p = _) => p)",
      "for (const x in _) _\nreturn 0",
    );
    fc.assert(
      fc.property(places, fc.infiniteStream(EXPRESSIONS), (place, expressions) =>
        expectSameTree(place.replaceAll("_", () => String(expressions.next().value))),
      ),
      RUNS,
    );
  });
});
