/** Whole programs of `exec` at its own limits, which are larger than those of a run: each holds the thread shortly. */
import { describe, expect, test } from "vitest";
import type { HostOptions } from "codecell";
import { createMemoryStore } from "codecell/store";
import type { CodeModeResult } from "codecell/surface";
import { openDesk } from "../surface/fixtures.ts";
import { RULE_MS } from "./fuzzer.ts";
import { largestTurnMs, type Prepared } from "./thread-time.ts";

/** A busy machine needs long to build so many names in a guest. */
const CONFIG = { enabled: true, timeoutMs: 60_000 };
let made = 0;
/** Names that no engine has seen. */
const namesOf = (record: string, count: number): string =>
  `const ${record} = {}; for (let i = 0; i < ${count}; i++) ${record}["${record}${(++made).toString(36)}_" + i.toString(36)] = 0;`;

/** The largest turn, and what the programs gave. */
async function measured(
  toCode: () => string,
  hosting: HostOptions = {},
): Promise<{ ms: number; results: CodeModeResult[] }> {
  await using desk = openDesk({
    config: CONFIG,
    hosting,
    tools: {
      core: {
        ask: {
          description: "Asks for a decision",
          execute: (_, { resolution, suspend }) => resolution ?? suspend("May it?"),
        },
      },
    },
  });
  // The worker starts before anything is measured.
  await desk.host.start({ source: "return 1" }).result;
  const results: CodeModeResult[] = [];
  const prepare = (): Prepared => {
    const code = toCode();
    return async () => results.push(await desk.run.exec({ code }));
  };
  const ms = await largestTurnMs(prepare, { attempts: 4, enough: RULE_MS });
  return { ms, results };
}

const PROGRAMS: readonly {
  readonly what: string;
  readonly code: () => string;
  readonly result: object;
}[] = [
  {
    what: "json() of as many names as fit",
    code: () => `${namesOf("o", 74_000)} json(o); return 1`,
    result: { status: "completed", value: 1, output: [{ type: "json", value: { truncated: true } }] },
  },
  {
    what: "json() of many names beside a result of many names",
    code: () => `${namesOf("o", 19_000)} ${namesOf("r", 70_000)} json(o); return r`,
    result: { status: "completed", value: { truncated: true } },
  },
  {
    what: "a hundred calls of json()",
    code: () =>
      `for (let n = 0; n < 100; n++) { const o = {}; for (let i = 0; i < 700; i++) o["n${++made}_" + n + "_" + i] = 0; json(o) } return 1`,
    result: { status: "completed", value: 1 },
  },
  {
    what: "a result of as many names as fit",
    code: () => `${namesOf("o", 290_000)} return o`,
    result: { status: "completed", value: { truncated: true } },
  },
  {
    what: "as many calls as fit that wait with many names",
    code: () =>
      `${namesOf("o", 70_000)} await Promise.all(Array.from({ length: 9 }, () => tools.ask(o))); return 1`,
    // Calls that come later ask after the next wait.
    result: { status: "waiting", reason: "pending_tools" },
  },
];

describe("a program of exec, on the host's thread", () => {
  test.each(PROGRAMS)(
    "[host:short-turns] does not block it: $what",
    { timeout: 240_000 },
    async ({ code, result }) => {
      const { ms, results } = await measured(code);
      for (const given of results) expect(given).toMatchObject(result);
      expect(ms).toBeLessThan(RULE_MS);
    },
  );

  test(
    "[host:short-turns] does not block a host that keeps it: a result of as many names as fit",
    { timeout: 240_000 },
    async () => {
      await using store = createMemoryStore();
      const hosting = { store, keepEnded: { forMs: 86_400_000 } };
      const { ms, results } = await measured(() => `${namesOf("o", 290_000)} return o`, hosting);
      for (const given of results) expect(given).toMatchObject({ status: "completed" });
      expect(ms).toBeLessThan(RULE_MS);
      expect(await store.list({ status: "completed" })).toHaveLength(results.length + 1);
    },
  );
});
