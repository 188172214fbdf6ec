/** The check before a run, as users of a host see it. */
import { type Checker, createChecker, createHost, defineTool, type HostCheck, type ToolSet } from "codecell";
import { afterAll, expect, test } from "vitest";
import { GUEST_LIB } from "../../packages/codecell/src/check/guest-lib.ts";
import { sleep } from "./harness.ts";

const made: string[] = [];
const tools: ToolSet = {
  weather: defineTool({
    input: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    execute: ({ city }) => (made.push(city), { degrees: 7 }),
  }),
};

const checker = createChecker({ checkTimeMs: 20_000 });
const check: HostCheck = {
  checker,
  declare: (name) => `${name}(input: { city: string }): Promise<{ degrees: number }>`,
};
const host = createHost({ workers: 1, check });
afterAll(async () => {
  await host[Symbol.asyncDispose]();
  await checker[Symbol.asyncDispose]();
});

test("a program that can only fail is not run [check:before]", async () => {
  const source = "await tools.weather({ city: 'never' });\nreturn await tools.wether({ city: 'a' })";
  const run = host.start({ source, tools });
  const result = await run.result;
  expect(result).toMatchObject({
    status: "failed",
    failure: {
      code: "check_failed",
      message:
        'The program has an error and was not run, correct it and send it again: Cannot call tool "wether": no such tool, closest is "weather" (line 2, column 20)',
      position: { line: 2, column: 20 },
    },
    stats: { calls: 0 },
  });
  expect(made).not.toContain("never");
  expect((await host.replay(run.ledger()).result).status).toBe("failed");
});

test("what is no program fails as it does without a check", async () => {
  await using plain = createHost({ workers: 1 });
  for (const source of ["const a = ;", "import 'fs'", "return await"]) {
    const [checked, unchecked] = await Promise.all([
      host.start({ source, tools }).result,
      plain.start({ source, tools }).result,
    ]);
    expect(checked).toMatchObject({ status: "failed" });
    expect(checked).toMatchObject(unchecked.status === "failed" ? { failure: unchecked.failure } : {});
  }
});

test("advice comes with a failure, and only then [check:advice]", async () => {
  const wrong = "const w = await tools.weather({ city: 'a' });\nreturn w.degres.toFixed()";
  expect(await host.start({ source: wrong, tools }).result).toMatchObject({
    status: "failed",
    failure: {
      code: "guest_error",
      advice: [
        { code: "type", position: { line: 2, column: 10 }, message: expect.stringContaining("'degrees'") },
      ],
    },
  });
  const odd = "const w: string = await tools.weather({ city: 'a' });\nreturn w";
  const result = await host.start({ source: odd, tools }).result;
  expect(result).toMatchObject({ status: "completed", value: { degrees: 7 } });
  expect(result).not.toHaveProperty("failure");
});

test("a program that may yield knows how", async () => {
  const result = await host.start({ source: "await yield_control('a'); return 1", tools, mayYield: true })
    .result;
  expect(result).toMatchObject({ status: "suspended" });
});

test("a run that is aborted while it is checked ends at once", async () => {
  const stop = new AbortController();
  const { result } = host.start({ source: "return 1", tools, signal: stop.signal });
  stop.abort();
  expect(await result).toMatchObject({ status: "failed", failure: { code: "aborted" } });
});

test("checking takes nothing of a run's time", async () => {
  const slow: Checker = {
    check: async () => {
      await sleep(1200);
      return { status: "unavailable", reason: "too slow" };
    },
    warm: async () => {},
    [Symbol.asyncDispose]: async () => {},
  };
  await using patient = createHost({ workers: 1, check: { checker: slow }, limits: { wallTimeMs: 1000 } });
  expect(await patient.start({ source: "return 1" }).result).toMatchObject({ status: "completed" });
});

test("without declarations names and awaits are checked, inputs are not", async () => {
  await using loose = createHost({ workers: 1, check: { checker } });
  const run = async (source: string): Promise<unknown> =>
    (await loose.start({ source, tools }).result).status;
  expect(await run("return (await tools.weather({ city: 'a' })).degrees")).toBe("completed");
  expect(await run("return await tools.weather({}).catch(() => 'caught')")).toBe("completed");
  const refused = await loose.start({ source: "return tools.weather({ city: 'a' }).degrees", tools }).result;
  expect(refused).toMatchObject({ failure: { code: "check_failed" } });
});

test("a checker that cannot check stops nothing [check:fails-open]", async () => {
  await using none = createChecker({ typescript: "no-such-compiler" });
  await using open = createHost({ workers: 1, check: { checker: none } });
  const result = await open.start({ source: "return await tools.weather({ city: 'open' })", tools }).result;
  expect(result).toMatchObject({ status: "completed" });
});

test("the check knows the globals that a program has, and no others", async () => {
  await using plain = createHost({ workers: 1 });
  const seen = await plain.start({ source: "return Object.getOwnPropertyNames(globalThis)" }).result;
  const names = (seen.status === "completed" ? seen.value : []) as string[];
  expect(names).toContain("structuredClone");
  const read = `return [${names.map((name) => `typeof ${name}`).join(", ")}]`;
  const declarations = { names: () => [], of: () => undefined };
  expect(await checker.check({ source: read, declarations })).toEqual({ status: "passed", advice: [] });
  const declared = [...GUEST_LIB.matchAll(/^declare (?:var|function|class) (\w+)/gmu)].map(
    ([, name]) => name,
  );
  expect(declared.filter((name) => !names.includes(name ?? ""))).toEqual([]);
});
