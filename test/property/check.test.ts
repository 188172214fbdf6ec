/**
 * The check stops no program that would have run.
 *
 * - Whatever the check refuses also fails when it is run.
 * - Programs of other property tests are correct, and are never refused.
 */
import { readFileSync } from "node:fs";
import { parse } from "@babel/parser";
import fc from "fast-check";
import { createHost, defineTool, type ToolSet } from "codecell";
import { type CheckResult, createChecker } from "codecell/check";
import { afterAll, expect, test, vi } from "vitest";
import { prepareSource } from "../../packages/codecell/src/source/prepare.ts";
import { ROOT } from "../sources.ts";
import { mixedProgram, rightProgram } from "./check-programs.ts";
import { effort, TIMES } from "./effort.ts";
import { anyProgram } from "./programs.ts";

vi.setConfig({ testTimeout: 120_000 * TIMES });

const host = createHost({ workers: 1 });
const checker = createChecker({ checkTimeMs: 20_000 });
afterAll(async () => {
  await host[Symbol.asyncDispose]();
  await checker[Symbol.asyncDispose]();
});

const tools: ToolSet = {
  weather: defineTool({
    input: {
      type: "object",
      properties: { city: { type: "string" }, days: { type: "number" } },
      required: ["city"],
    },
    execute: ({ city }) => ({ city, degrees: 7 }),
  }),
  list: defineTool({ execute: () => [{ id: "a" }] }),
  echo: defineTool({ execute: (input) => input }),
};

const DECLARED: Readonly<Record<string, string>> = {
  weather: "weather(input: { city: string; days?: number }): Promise<{ city: string; degrees: number }>",
  list: "list(): Promise<{ id: string }[]>",
  echo: "echo(input: unknown): Promise<unknown>",
};

function check(source: string, declared: Readonly<Record<string, string>> = DECLARED): Promise<CheckResult> {
  return checker.check({
    source,
    declarations: {
      names: () => Object.keys(declared),
      of: (name) => (Object.hasOwn(declared, name) ? declared[name] : undefined),
    },
  });
}

test("a refused program would have failed [check:provable]", async () => {
  const seen = { refused: 0, completed: 0 };
  await fc.assert(
    fc.asyncProperty(mixedProgram, async (source) => {
      const [checked, result] = await Promise.all([check(source), host.start({ source, tools }).result]);
      expect(checked.status).not.toBe("unavailable");
      if (checked.status === "refused") seen.refused++;
      if (result.status === "completed") seen.completed++;
      if (checked.status === "refused") {
        expect(result, `${checked.failure.message}\n${source}`).toMatchObject({ status: "failed" });
      }
    }),
    effort(400),
  );
  // The test proves something only if both outcomes occur.
  expect(seen.refused).toBeGreaterThan(40);
  expect(seen.completed).toBeGreaterThan(40);
});

test("correct programs pass [check:provable]", async () => {
  await fc.assert(
    fc.asyncProperty(rightProgram, async (source) => {
      expect(await check(source), source).toEqual({ status: "passed", advice: [] });
    }),
    effort(60),
  );
});

test("programs of other tests are never refused", async () => {
  const loose = Object.fromEntries(
    ["now", "micro", "turn", "wait", "late", "fail"].map((name) => [
      name,
      `${name}(input: { v?: any; ms?: number }): Promise<any>`,
    ]),
  );
  await fc.assert(
    fc.asyncProperty(anyProgram, async (source) => {
      expect((await check(source, loose)).status, source).toBe("passed");
    }),
    effort(60),
  );
});

test("a source is refused for its syntax exactly when it cannot be prepared", async () => {
  const words =
    "a ( ) { } [ ] < > => = ; \n : ? ! ` ${ ' \" // /* */ as async await class function return export default import require type ``` \r 1 . , tools.x satisfies enum".split(
      " ",
    );
  const soup = fc.array(fc.constantFrom(...words), { maxLength: 12 }).map((each) => each.join(" "));
  await fc.assert(
    fc.asyncProperty(soup, async (source) => {
      const prepared = prepareSource(source, "typescript");
      const checked = await check(source, { x: "x(input?: any): Promise<any>" });
      expect(checked.status, source).toBe(prepared.ok ? "passed" : "refused");
      if (checked.status === "refused" && !prepared.ok) expect(checked.failure).toEqual(prepared.failure);
    }),
    effort(400),
  );
});

/** Every text in the tests of source/, whatever its purpose there. */
function textsOf(path: string): string[] {
  const texts: string[] = [];
  const visit = (node: unknown): void => {
    if (typeof node !== "object" || node === null) return;
    const { type, value } = node as { readonly type?: unknown; readonly value?: unknown };
    if (type === "StringLiteral" && typeof value === "string") texts.push(value);
    for (const child of Object.values(node)) visit(child);
  };
  visit(parse(readFileSync(path, "utf8"), { sourceType: "module", plugins: ["typescript"] }).program);
  return texts;
}

test("programs of the tests of source/ are never refused", async () => {
  const folder = `${ROOT}packages/codecell/src/source/`;
  const texts = ["prepare", "parse", "blank"].flatMap((name) => textsOf(`${folder}${name}.test.ts`));
  const programs = [...new Set(texts)].filter((text) => prepareSource(text, "typescript").ok);
  expect(programs.length).toBeGreaterThan(150);
  const declarations = {
    names: () => [],
    of: (name: string) => `${JSON.stringify(name)}(input?: any): Promise<any>`,
  };
  for (const source of programs) {
    expect((await checker.check({ source, declarations })).status, source).toBe("passed");
  }
});
