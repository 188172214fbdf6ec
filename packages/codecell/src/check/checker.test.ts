import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { createChecker } from "./checker.ts";
import type { ToolDeclarations } from "./declare-tools.ts";
import { SOURCE_FLAGS } from "../../../../scripts/source-flags.ts";

/** Patient: on a busy machine the default time is over before the compiler has begun. */
const checker = createChecker({ checkTimeMs: 20_000 });
afterAll(() => checker[Symbol.asyncDispose]());

/** Tools `tool0`, `tool1`, … and the list of names that were asked for. */
function declarationsOf(count: number): ToolDeclarations & { readonly asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    names: () => Array.from({ length: count }, (_, index) => `tool${index}`),
    of: async (name) => {
      asked.push(name);
      const index = /^tool(\d+)$/u.exec(name)?.[1];
      const exists = index !== undefined && Number(index) < count;
      return exists ? `${name}(input: { id: string }): Promise<{ name: string }>` : undefined;
    },
  };
}

/** A program that takes a type checker long: each step doubles what the next step compares. */
const HOSTILE = `
type Bits<N extends number, B extends unknown[] = []> = B["length"] extends N ? B : Bits<N, [...B, 0 | 1]>;
type All<B> = B extends [infer H, ...infer T] ? H extends unknown ? [H, ...All<T>] : never : [];
type Huge = All<Bits<14>>;
const a: Huge = null!;
const b: [Huge, Huge] extends [All<Bits<13>>, Huge] ? 1 : 2 = null!;
${Array.from({ length: 40 }, (_, n) => `const c${n}: [All<Bits<14>>, ${n}] = [a, ${n + 1}] as [All<Bits<14>>, ${n} | 1];`).join("\n")}
`;

describe("a check", () => {
  test("asks only for the tools that the program names [check:lazy]", async () => {
    const declarations = declarationsOf(10_000);
    const source =
      "const { name } = await tools.tool9999({ id: 'a' });\nreturn [name, await tools.tool7({ id: name })]";
    expect(await checker.check({ source, declarations })).toEqual({ status: "passed", advice: [] });
    expect(declarations.asked.toSorted()).toEqual(["tool7", "tool9999"]);
  });

  test("names the closest of many tools and shows how to call it", async () => {
    const declarations = declarationsOf(10_000);
    const checked = await checker.check({ source: "await tools.toll4242({ id: 'a' })", declarations });
    expect(checked).toMatchObject({
      status: "refused",
      failure: {
        code: "check_failed",
        message: expect.stringMatching(
          /closest are "tool4242", .*, expected tool4242\(input: \{ id: string \}\): Promise<\{ name: string \}> \(line 1/u,
        ),
      },
    });
    expect(declarations.asked).toEqual(["toll4242", "tool4242"]);
  });

  test("passes on a refusal by source/ in the words of source/", async () => {
    const checked = await checker.check({ source: "import 'fs'", declarations: declarationsOf(0) });
    expect(checked).toMatchObject({
      status: "refused",
      failure: { code: "module_denied", position: { line: 1, column: 1 } },
      problems: [{ code: "module_denied" }],
    });
  });

  test("lets a tool take and give anything when asking for its declaration fails", async () => {
    const declarations: ToolDeclarations = {
      names: () => [],
      of: () => Promise.reject(new Error("the server is down")),
    };
    const source = "return (await tools.nope({ a: 1 })).b.c";
    expect(await checker.check({ source, declarations })).toEqual({ status: "passed", advice: [] });
  });

  test("knows the globals that the request declares", async () => {
    const source = "return await connectors.github.tols()";
    const globals = "declare const connectors: { github: { tools(): Promise<string[]> } };";
    const checked = await checker.check({ source, globals, declarations: declarationsOf(0) });
    expect(checked).toMatchObject({ status: "refused", problems: [{ code: "unknown_method" }] });
    const broken = await checker.check({
      source,
      globals: "declare const {{{",
      declarations: declarationsOf(0),
    });
    expect(broken.status).toBe("passed");
  });

  test("keeps several concurrent checks apart", async () => {
    const statuses = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const source =
          index % 2 === 0 ? `return await tools.tool${index}({ id: 'a' })` : "return await tools.nope()";
        return (await checker.check({ source, declarations: declarationsOf(20) })).status;
      }),
    );
    expect(statuses).toEqual(
      Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? "passed" : "refused")),
    );
  });

  test("is unavailable after it was aborted", async () => {
    const declarations = declarationsOf(1);
    const source = "return await tools.nope()";
    const early = await checker.check({ source, declarations, signal: AbortSignal.abort() });
    expect(early).toMatchObject({ status: "unavailable" });
    const stop = new AbortController();
    const late = checker.check({ source, declarations, signal: stop.signal });
    stop.abort();
    expect(await late).toMatchObject({ status: "unavailable", reason: "The check was aborted" });
    expect(await checker.check({ source, declarations })).toMatchObject({ status: "refused" });
  });
});

describe("compiler trouble fails open [check:fails-open]", () => {
  test("a check that takes too long is given up, and the next check gets a new thread", async () => {
    await using hasty = createChecker({ checkTimeMs: 150 });
    await hasty.warm();
    const declarations = declarationsOf(1);
    const slow = await hasty.check({ source: HOSTILE, declarations });
    expect(slow).toMatchObject({ status: "unavailable", reason: expect.stringContaining("150 ms") });
    await using patient = createChecker({ checkTimeMs: 20_000 });
    expect((await patient.check({ source: "return 1", declarations })).status).toBe("passed");
    await hasty.warm();
    // The new thread is ready. Whether it is fast enough depends on the machine.
    expect(["passed", "unavailable"]).toContain(
      (await hasty.check({ source: "return 1", declarations })).status,
    );
  });

  test("a declaration that never comes is not waited for", async () => {
    await using hasty = createChecker({ checkTimeMs: 4000 });
    const declarations: ToolDeclarations = { names: () => [], of: () => new Promise(() => {}) };
    const source = "return (await tools.nope({ a: 1 })).b.c";
    expect(await hasty.check({ source, declarations })).toEqual({ status: "passed", advice: [] });
  });

  test("without a compiler every check is unavailable, and says what to install", async () => {
    await using without = createChecker({ typescript: "no-such-compiler" });
    const expected =
      /TypeScript compiler of version 5\.9 or 6 is needed, none was found, install one with: npm install/u;
    await expect(without.warm()).rejects.toThrow(expected);
    const checked = await without.check({
      source: "return await tools.nope()",
      declarations: declarationsOf(0),
    });
    expect(checked).toMatchObject({ status: "unavailable", reason: expect.stringMatching(expected) });
  });

  test.each([
    ["ends its thread", "process.exit(1)"],
    ["throws", "throw new Error('broken')"],
    ["takes all memory", "const all = []; for (;;) all.push(new Array(1_000_000).fill({}))"],
  ])("a compiler that %s makes the check unavailable, each time", async (_what, does) => {
    const folder = await mkdtemp(join(tmpdir(), "codecell-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const compiler = join(folder, "compiler.cjs");
    const real = JSON.stringify(createRequire(import.meta.url).resolve("@typescript/typescript6"));
    await writeFile(
      compiler,
      // The checker warms the compiler with a first program.
      `const ts = require(${real}); let programs = 0;
      module.exports = { ...ts, createProgram(...options) { if (programs++ > 0) { ${does} } return ts.createProgram(...options) } };`,
    );
    await using broken = createChecker({ typescript: compiler, checkTimeMs: 20_000 });
    for (let time = 0; time < 2; time++) {
      await broken.warm();
      const checked = await broken.check({
        source: "return await tools.nope()",
        declarations: declarationsOf(1),
      });
      expect(checked.status).toBe("unavailable");
    }
  });

  test("a compiler without an API is not used", async () => {
    await using without = createChecker({ typescript: "typescript" });
    await expect(without.warm()).rejects.toThrow(/found typescript 7\./u);
  });

  test("a check without any declarations is unavailable, not refused", async () => {
    const declarations: ToolDeclarations = {
      names: () => {
        throw new Error("the catalog is gone");
      },
      of: () => undefined,
    };
    const source = "return await tools.nope()";
    const checked = await checker.check({ source, declarations });
    expect(checked).toEqual({ status: "unavailable", reason: "the catalog is gone" });
    expect((await checker.check({ source, declarations: declarationsOf(1) })).status).toBe("refused");
  });

  test("all checks of a checker that is being closed are unavailable", async () => {
    const closing = createChecker();
    await closing.warm();
    const checks = [1, 2, 3].map(() => closing.check({ source: HOSTILE, declarations: declarationsOf(0) }));
    await closing[Symbol.asyncDispose]();
    for (const checked of await Promise.all(checks)) expect(checked.status).toBe("unavailable");
    await closing[Symbol.asyncDispose]();
  });

  test("a closed checker is unavailable", async () => {
    const closed = createChecker();
    await closed[Symbol.asyncDispose]();
    const checked = await closed.check({ source: "return 1", declarations: declarationsOf(0) });
    expect(checked).toMatchObject({ status: "unavailable", reason: "Cannot check: the checker is closed" });
  });
});

test("a checker nobody closed keeps no process alive", async () => {
  const program = `
    import { createChecker } from ${JSON.stringify(new URL("checker.ts", import.meta.url).href)};
    const declarations = { names: () => [], of: () => undefined };
    console.log((await createChecker({ checkTimeMs: 20_000 }).check({ source: "return 1", declarations })).status);`;
  const args = [...SOURCE_FLAGS, "--input-type=module", "-e", program];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 25_000 });
  expect(stdout.trim()).toBe("passed");
});

test("options of the wrong kind are refused", () => {
  expect(() => createChecker({ checkTimeMs: 0 })).toThrow(RangeError);
});
