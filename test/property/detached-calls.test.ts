/**
 * Programs that have to wait for their calls, and wait for only some of them.
 *
 * - How a program ends depends on what it does with its calls, not on how long the calls take.
 * - A ledger replays to the same end, and so does a run whose workers die.
 */
import fc from "fast-check";
import { afterAll, expect, test, vi } from "vitest";
import { createHost, type RunHandle, type RunResult } from "codecell";
import { effort, TIMES } from "./effort.ts";
import { ProgramTools } from "./program-tools.ts";
import { killWorkers } from "./worker-threads.ts";

vi.setConfig({ testTimeout: 60_000 * TIMES });

const host = createHost({ workers: 1, limits: { wallTimeMs: 60_000 } });
afterAll(() => host[Symbol.asyncDispose]());

/** What a program can do with a call, and whether it has then waited for the call when it returns. */
const USES = {
  awaited: ["out.push(await CALL.catch(() => 0));", "yes"],
  kept: ["kept.push(CALL.catch(() => 0));", "yes"],
  together: ["out.push(...(await Promise.allSettled([CALL, tools.turn({ v: 2 })])));", "yes"],
  returned: ["out.push(await (async () => CALL)().catch(() => 0));", "yes"],
  forgotten: ["CALL;", "no"],
  stored: ["store.push(CALL);", "no"],
  printed: ["console.log(CALL);", "no"],
  followed: ["CALL.then(() => {}, () => {});", "perhaps"],
  raced: ["out.push(await Promise.race([CALL, tools.now({ v: 3 })]).catch(() => 0));", "perhaps"],
} as const;

const statement = fc.record({
  use: fc.constantFrom(...(Object.keys(USES) as (keyof typeof USES)[])),
  tool: fc.constantFrom("now", "micro", "turn", "wait", "fail"),
});
const program = fc.array(statement, { minLength: 1, maxLength: 6 });

type Program = typeof program extends fc.Arbitrary<infer T> ? T : never;

function toSource(statements: Program): string {
  const lines = statements.map(({ use, tool }) =>
    USES[use][0].replace("CALL", `tools.${tool}({ v: 1, ms: 3 })`),
  );
  return `const out: any[] = [], kept: any[] = [], store: any[] = []; ${lines.join("\n")}
    await Promise.all(kept); return out.length;`;
}

function start(source: string, tools = new ProgramTools()): RunHandle {
  return host.start({ source, tools: tools.set, detachedCalls: "fail" });
}

/** The end without what differs from run to run. */
function endOf(result: RunResult): unknown {
  if (result.status === "completed") return { value: result.value };
  return result.status === "failed" ? { failure: result.failure } : result.status;
}

function expectEnd(statements: Program, result: RunResult): void {
  const uses = new Set<string>(statements.map(({ use }) => USES[use][1]));
  if (uses.has("no")) {
    // Which call is named depends on whether the calls before it are pending.
    expect(result).toMatchObject({ failure: { code: "detached_call" } });
  } else if (uses.has("perhaps") && result.status === "failed") {
    expect(result.failure).toMatchObject({ code: "detached_call", details: { state: "pending" } });
  } else expect(result.status).toBe("completed");
}

test("a program fails for calls that it left, live and replayed", async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(program, async (statements) => {
      const handle = start(toSource(statements));
      const result = await handle.result;
      expectEnd(statements, result);
      expect(endOf(await host.replay(handle.ledger()).result)).toEqual(endOf(result));
      seen.add(result.status === "failed" ? String(result.failure.details?.["state"]) : result.status);
    }),
    effort(80),
  );
  expect([...seen].toSorted()).toEqual(["completed", "pending", "unawaited"]);
});

test("the loss of a worker does not change which calls count as awaited", async () => {
  let rebuilt = 0;
  await fc.assert(
    fc.asyncProperty(program, fc.integer({ min: 1, max: 4 }), async (statements, killAt) => {
      const handle = start(
        toSource(statements),
        new ProgramTools((count) => {
          if (count === killAt) killWorkers();
        }),
      );
      const result = await handle.result;
      expectEnd(statements, result);
      expect(endOf(await host.replay(handle.ledger()).result)).toEqual(endOf(result));
      rebuilt += result.stats.rebuilds;
    }),
    effort(20),
  );
  expect(rebuilt).toBeGreaterThan(0);
});
