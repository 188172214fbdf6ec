import { describe, expect, test } from "vitest";
import { prepareSource } from "./prepare.ts";

const n = (text: string, times: number): string => text.repeat(times);

/** Constructs that nest or repeat; each function makes a source with the construct `k` times. */
const CONSTRUCTS: Readonly<Record<string, (k: number) => string>> = {
  parentheses: (k) => `return ${n("(", k)}1${n(")", k)}`,
  brackets: (k) => `return ${n("[", k)}${n("]", k)}`,
  blocks: (k) => n("{", k) + n("}", k),
  objects: (k) => `return ${n("{a:", k)}1${n("}", k)}`,
  unary: (k) => `return ${n("!", k)}1`,
  arrows: (k) => `const f=${n("a=>", k)}1`,
  "typed arrows": (k) => `const f=${n("(a:any):any=>", k)}1`,
  "generic arrows": (k) => `const f=${n("<T,>(a:T):T=>", k)}1`,
  "async arrows": (k) => `const f=${n("async<T>(a:T)=>", k)}1`,
  conditionals: (k) => `return ${n("a?(b):", k)}1`,
  "conditional arrows": (k) => `return ${n("a?(b):c=>", k)}1`,
  templates: (k) => `return ${n("`${", k)}1${n("}`", k)}`,
  members: (k) => `return a${n(".b", k)}`,
  calls: (k) => `return a${n("()", k)}`,
  sums: (k) => `return 1${n("+1", k)}`,
  casts: (k) => `return y${n(" as any", k)}`,
  "non-null marks": (k) => `return y${n("!", k)}`,
  "angle casts": (k) => `x=${n("<any>", k)}y`,
  "nested angle casts": (k) => `x=${n("<any>(", k)}y${n(")", k)}`,
  "open angle casts": (k) => `x=${n("<any>(", k)}`,
  "open generic arrows": (k) => `x=${n("<T>(a:T=", k)}`,
  "open generic calls": (k) => `x=${n("f<T>(", k)}`,
  "generic async calls": (k) => `x=${n("async<T>(a=", k)}1${n(")", k)}`,
  "open generic templates": (k) => `x=${n("f<T>`${", k)}`,
  "less-than chains": (k) => `x=a${n("<b", k)}`,
  "less-than and parentheses": (k) => `x=a${n("<(b", k)}`,
  "less-than and object types": (k) => `x=a${n("<{a:b", k)}`,
  "less-than and template types": (k) => `x=a${n("<`${b", k)}`,
  "type arguments": (k) => `let x:${n("A<", k)}B${n(">", k)}`,
  "object types": (k) => `let x:${n("{a:", k)}B${n("}", k)}`,
  "function types": (k) => `let x:${n("(a:", k)}B${n(")=>C", k)}`,
  "conditional types": (k) => `type A=${n("B extends C?D:", k)}E`,
  unions: (k) => `let x:${n("A|", k)}B`,
  statements: (k) => n("if(a)", k),
  functions: (k) => n("function f(){", k) + n("}", k),
  classes: (k) => n("class A{m(){", k) + n("}}", k),
  declarations: (k) => Array.from({ length: k }, (_, index) => `type A${index}=1\n`).join(""),
  strings: (k) => n("'x';", k),
  comments: (k) => `${n("/**/", k)}return 1`,
  fields: (k) => `class A{${n("public x?:T\n", k)}}`,
  modules: (k) => n("import 'x';", k),
  requires: (k) => n("require;", k),
  prose: (k) => `${n("a ", k)}(`,
  "line breaks": (k) => n("\n", k),
  fences: (k) => n("```\n", k),
  tildes: (k) => `${n("~", k)}\n${n("a\n", k)}`,
  patterns: (k) => `let [${n("a=1,", k)}]=require`,
};

const helper = (index: number): string => `
      const load${index} = async <T extends object>(key: Map<string, Array<T>>, ids: readonly number[] = []): Promise<T[]> => {
        const rows = (await Promise.all<T>(ids.map((id) => (<any>key).get(String(id))!))) as unknown as Array<Partial<T>>;
        return rows.filter((row): row is T => row !== undefined && Object.keys(row).length < 3) satisfies T[];
      };`;

describe("work is bounded", () => {
  test.each(Object.keys(CONSTRUCTS))("for a few, for many and for 256 KiB of: %s", (name) => {
    const construct = CONSTRUCTS[name] ?? String;
    const size = construct(100).length / 100;
    for (const times of [8, 20, 40, 1000, Math.floor((256 * 1024) / size)]) {
      for (const language of ["typescript", "javascript"] as const) {
        const result = prepareSource(construct(times), language);
        expect(result.ok || result.failure.message.length < 600).toBe(true);
      }
    }
  });

  test("a source beyond the bound is refused as nested too deeply", () => {
    for (const name of ["parentheses", "nested angle casts", "open generic calls", "generic async calls"]) {
      const result = prepareSource(CONSTRUCTS[name]?.(5000) ?? "", "typescript");
      expect(result).toMatchObject({ failure: { code: "syntax_error", message: /nested too deeply$/u } });
    }
  });

  test("the bound is far above what honest programs need", () => {
    const source = Array.from({ length: 500 }, (_, index) => helper(index)).join("");
    expect(prepareSource(source, "typescript").ok).toBe(true);
  });

  test.each([
    ["digits in a list", `return [${"1,".repeat(100_000)}].length`],
    ["rows of digits", `return [${"[1,-2],".repeat(30_000)}].length`],
    ["short conditions", "a?(b):(c)=>d;".repeat(15_000)],
  ])("dense honest programs are accepted: %s", (_name, source) => {
    for (const language of ["typescript", "javascript"] as const)
      expect(prepareSource(source, language).ok).toBe(true);
  });
});
