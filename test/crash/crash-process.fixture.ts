/**
 * One process of a crash test. It resumes what it finds in the store, starts what was never started, and dies at the
 * step it is told.
 *
 * - A step is a moment before or after something permanent: a change of the store, a line in the log of the tools.
 * - It dies by SIGKILL: no handler, no flush, no last message. If it kills itself, the moment is exact. If the reader
 *   of its "now" kills it, the moment is anywhere after that.
 */
import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { createHost, type Host, type RunHandle, type RunResult } from "codecell";
import type { Store } from "codecell/store";
import { crashTools } from "./crash-tools.ts";
import { openCrashStore } from "./crash-stores.ts";
import { executionsIn, type Execution, type Life, PUT, scopeOf } from "./life.ts";

const life = JSON.parse(process.argv[2] ?? "") as Life;
const sealKey = new Uint8Array(32).fill(9);
/** Pause between two attempts to claim a run that a dead process may still hold. */
const CLAIM_AGAIN_MS = 20;
/** Another process has the run, and may die with it. */
const HELD: ReadonlySet<string> = new Set(["run_held", "run_taken"]);

const programs = life.sources.map((_, program) => scopeOf(program));

function write(execution: Execution): void {
  appendFileSync(life.log, `${JSON.stringify(execution)}\n`, { flush: true });
}

let steps = 0;
function step(): void {
  steps++;
  if (steps !== life.diesAt) return;
  if (life.death === "own hand") process.kill(process.pid, "SIGKILL");
  else process.stdout.write("now\n");
}

const tools = crashTools(write, step);

/** The store, with steps around every change that belongs to a run. */
function stepping(store: Store): Store {
  const around = async <R>(change: () => Promise<R>): Promise<R> => {
    step();
    const result = await change();
    step();
    return result;
  };
  return {
    ...store,
    put: (run, lease) =>
      around(async () => {
        const claim = await store.put(run, lease);
        // From here on a run that is neither in the store nor has reported is lost.
        write({ tool: PUT, runId: run.id, key: "", program: programs.indexOf(run.scope), n: 0 });
        return claim;
      }),
    claim: (...given) => around(() => store.claim(...given)),
    append: (...given) => around(() => store.append(...given)),
    attend: (...given) => around(() => store.attend(...given)),
    post: (...given) => around(() => store.post(...given)),
    release: (...given) => around(() => store.release(...given)),
    delete: (...given) => around(() => store.delete(...given)),
  };
}

/** Goes on until the run has ended: claims it when nobody holds it, and approves whatever it asks. */
async function finish(host: Host, begun: RunHandle, scope: string): Promise<RunResult> {
  let result = await begun.result;
  for (;;) {
    const id = result.runId;
    if (result.status === "suspended") {
      const { pending } = result.suspension;
      const resolutions = Object.fromEntries(pending.map(({ callId }) => [callId, { resolution: true }]));
      result = await host.resume({ id, scope, resolutions, tools }).result;
    } else if (result.status === "failed" && HELD.has(result.failure.code)) {
      await delay(CLAIM_AGAIN_MS);
      result = await host.resume({ id, scope, tools }).result;
    } else return result;
  }
}

const opened = await openCrashStore(life.store);
const store = stepping(opened);
const { leaseMs } = life;
const host = createHost({ workers: 1, store, sealKey, leaseMs, limits: { wallTimeMs: 20_000 } });
const kept = new Map((await store.list()).map(({ id, scope }) => [scope, id]));
const known = new Set(executionsIn(life.log).map(({ program }) => program));
const runs = life.sources.map(async (source, program) => {
  const scope = scopeOf(program);
  const id = kept.get(scope);
  if (id !== undefined) return finish(host, host.resume({ id, scope, tools }), scope);
  return known.has(program) || life.isRival
    ? undefined
    : finish(host, host.start({ source, scope, tools, mayYield: true }), scope);
});
for (const result of await Promise.all(runs)) {
  // Another process has seen the end of this run.
  if (result === undefined || (result.status === "failed" && result.failure.code === "run_unknown")) continue;
  const { status } = result;
  process.stdout.write(
    `${status === "failed" ? `${result.failure.code}: ${result.failure.message}` : status}\n`,
  );
}
await host[Symbol.asyncDispose]();
await opened[Symbol.asyncDispose]();
