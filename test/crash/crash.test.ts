/**
 * Processes die by SIGKILL at random steps of random programs, on a store that lasts. The next process goes on. The
 * result is that of the undisturbed program, no call happens twice that must not, and nothing is left behind.
 *
 * CRASH_ROUNDS tries more rounds, PROPERTY_SEED tries others.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import fc from "fast-check";
import { createHost } from "codecell";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type PostgresServer, startPostgres } from "../postgres-server.ts";
import { effort } from "../property/effort.ts";
import { crashProgram } from "./crash-programs.ts";
import { rowsIn } from "./crash-stores.ts";
import { crashTools, REPEATABLE } from "./crash-tools.ts";
import { executionsIn, type Life, PUT, type Report, type StorePlace } from "./life.ts";
import { bundleFixture } from "../../scripts/bundle.ts";
import { SOURCE_FLAGS } from "../../scripts/source-flags.ts";

const ROUNDS = Number(process.env["CRASH_ROUNDS"] ?? 4);
const LEASE_MS = 200;
vi.setConfig({ testTimeout: 60_000 + ROUNDS * 15_000 });

const script = bundleFixture(new URL("crash-process.fixture.ts", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "codecell-crash-"));
const calm = createHost({ workers: 1 });
let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
}, 60_000);
afterAll(async () => {
  await Promise.all([server[Symbol.asyncDispose](), calm[Symbol.asyncDispose]()]);
  rmSync(folder, { recursive: true, force: true });
});

const death = fc.record({
  diesAt: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 60 })),
  death: fc.constantFrom("own hand" as const, "own hand" as const, "other hand" as const),
});
const plan = fc.record({
  programs: fc.array(crashProgram, { minLength: 2, maxLength: 4 }),
  deaths: fc.array(death, { minLength: 2, maxLength: 4 }),
});

/** Runs a process until it is killed or ends by itself; then gives what it said about its runs. */
async function live(life: Life): Promise<"killed" | string[]> {
  const args = [...SOURCE_FLAGS, await script, JSON.stringify(life)];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const closed = once(child, "close");
  const lines: string[] = [];
  for await (const line of createInterface(child.stdout)) {
    if (line === "now") child.kill("SIGKILL");
    else lines.push(line);
  }
  const [code, signal] = (await closed) as [number | null, string | null];
  if (signal === "SIGKILL") return "killed";
  expect(code, lines.join("\n")).toBe(0);
  return lines;
}

/** What a program reports if nothing disturbs it. */
async function expectedOf(source: string): Promise<unknown> {
  let report: Report | undefined;
  const tools = crashTools(
    (execution) => {
      report = execution.report;
    },
    () => {},
  );
  let result = await calm.start({ source, tools, mayYield: true }).result;
  while (result.status === "suspended") {
    const { token, pending } = result.suspension;
    const resolutions = Object.fromEntries(pending.map(({ callId }) => [callId, { resolution: true }]));
    result = await calm.resume({ token, resolutions, tools }).result;
  }
  expect(result.status, JSON.stringify(result)).toBe("completed");
  return report?.out;
}

/** Checks the calls of all programs, by what tools and programs wrote down. */
function check(log: string, expected: readonly unknown[], tally: Tally): void {
  const executions = executionsIn(log).filter(({ tool }) => tool !== PUT);
  const byKey = Map.groupBy(executions, ({ key }) => key);
  for (const [key, times] of byKey) {
    if (times.length === 1) continue;
    tally.repeated++;
    const [first] = times;
    expect(first !== undefined && REPEATABLE.has(first.tool), `${key} ${JSON.stringify(times)}`).toBe(true);
  }
  for (const [program, out] of expected.entries()) {
    const own = executions.filter((one) => one.program === program);
    expect(new Set(own.map(({ runId }) => runId)).size, "one run per program").toBe(1);
    const [last, ...others] = own.flatMap(({ report }) => (report === undefined ? [] : [report]));
    expect(last?.out, `program ${program} has a result`).toEqual(out);
    for (const other of others) expect(other).toEqual(last);
    // A call has one key, however often it is made. A call that gave an outcome was made.
    const keys = Map.groupBy(own, ({ n }) => n);
    for (const [n, made] of keys) expect(new Set(made.map(({ key }) => key)).size, `call ${n}`).toBe(1);
    for (const n of last?.done ?? []) expect(keys.has(n), `call ${n} of program ${program}`).toBe(true);
    tally.unknown += last?.unknown.length ?? 0;
  }
}

interface Tally {
  rounds: number;
  kills: number;
  /** Calls that were made again, and calls whose outcome programs were told is unknown. */
  repeated: number;
  unknown: number;
}

async function crash(places: (round: number) => StorePlace): Promise<Tally> {
  const tally: Tally = { rounds: 0, kills: 0, repeated: 0, unknown: 0 };
  await fc.assert(
    fc.asyncProperty(plan, async ({ programs, deaths }) => {
      const store = places(tally.rounds++);
      const log = join(folder, `${store.kind}-${tally.rounds}.log`);
      const sources = programs.map((program, number) => program(number));
      const expected = await Promise.all(sources.map(expectedOf));
      const life = { store, sources, log, leaseMs: LEASE_MS, isRival: false };
      for (const next of deaths) {
        if ((await live({ ...life, ...next })) !== "killed") break;
        tally.kills++;
      }
      // Two processes at once: each leaves alone what the other holds, and short leases are lost now and then.
      const calmly = { ...life, death: "own hand" as const };
      const said = await Promise.all([live(calmly), live({ ...calmly, isRival: true })]);
      const lines = said.flat();
      expect(lines).toEqual(lines.map(() => "completed"));
      expect(await rowsIn(store)).toEqual({ runs: 0, states: 0, journal: 0, snapshots: 0, outcomes: 0 });
      check(log, expected, tally);
    }),
    { ...effort(1), numRuns: ROUNDS },
  );
  if (process.env["CRASH_ROUNDS"] !== undefined) console.log(JSON.stringify(tally));
  return tally;
}

describe("processes that are killed at random steps of random programs", () => {
  test.each(["sqlite", "postgres"] as const)(
    "on %s the next process goes on: right results, nothing twice, nothing left [store:crash]",
    async (kind) => {
      const tally = await crash((round) =>
        kind === "sqlite"
          ? { kind, path: join(folder, `${round}.db`) }
          : { kind, schema: `crash_${round}`, connection: server.connection },
      );
      // Otherwise the kills came too late to test anything.
      expect(tally.kills).toBeGreaterThan(tally.rounds);
      expect(tally.repeated + tally.unknown).toBeGreaterThan(0);
    },
  );
});
