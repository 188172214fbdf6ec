/**
 * Runs one case in this process and reports the outcome to the parent over IPC.
 *
 * - It never writes to standard output and error: whatever appears there comes from the case.
 * - If the host dies, the parent gets no report.
 */
import { setTimeout as delay } from "node:timers/promises";
import { createHost, CodecellError, type Host, type RunResult } from "codecell";
import { Attempt } from "./attempt.ts";
import { type AttackCase, type Expectation, readCase } from "./case.ts";
import { mismatch } from "./match.ts";
import { checkSuspension } from "./suspension-checks.ts";
import { Watch, type Watched } from "./watch.ts";
import { DEVIATIONS } from "./deviations.ts";

export interface Verdict extends Watched {
  readonly results: readonly unknown[];
  readonly broken: readonly string[];
  readonly wallMs: number;
}

/** Wall time for cases without a figure of their own: only a blocked event loop takes that long. */
const LOOP_GAP_MS = 1500;
/** What we promise: a guest makes one turn of the main thread cost at most this much processor time. */
const LOOP_CPU_MS = 50;
/** How long after the result a tool might still do something. */
const AFTERMATH_MS = 700;

async function runCase(attack: AttackCase): Promise<Verdict> {
  const prototypes = prototypeContents();
  const watch = new Watch();
  const broken: string[] = [];
  const results: RunResult[] = [];
  const host: Host = createHost();
  const attempt = new Attempt(host, attack);
  const startedAt = performance.now();
  for (const [index, source] of (attack.steps ?? [attack.code ?? ""]).entries()) {
    const expected = expectationOf(attack, index);
    const result = await attempt.run(source, expected);
    results.push(result);
    const problem = mismatch(expected, result);
    if (problem !== undefined) broken.push(`step ${index + 1}: ${problem}`);
  }
  const settledAt = performance.now();
  const wallMs = Math.round(settledAt - startedAt - watch.delayedMs());
  if (attack.invariants.noToolActivityAfterSettle === true) {
    if (attempt.activity.active > 0) broken.push("noToolActivityAfterSettle: a tool is still executing");
    await delay(AFTERMATH_MS);
    if (attempt.activity.lastAt > settledAt) broken.push("noToolActivityAfterSettle: a tool stirred");
  }
  const watched = watch.stop();
  broken.push(...checkNumbers(attack, attempt, results, wallMs, watched));
  for (const result of results) broken.push(...(await checkResult(attack, host, result)));
  broken.push(...(await checkSuspension(attack, attempt)));
  if (attack.invariants.hostUnaffected !== false) {
    const after = await host.start({ source: "const z: number = 41; return z + 1" }).result;
    if (after.status !== "completed" || after.value !== 42)
      broken.push("hostUnaffected: the next run failed");
    const now = prototypeContents();
    if (now.length !== prototypes.length || now.some((one, index) => one !== prototypes[index])) {
      broken.push("hostUnaffected: a host prototype was changed");
    }
  }
  await host[Symbol.asyncDispose]();
  return { results: results.map(outline), broken, wallMs, ...watched };
}

function expectationOf({ id, expect }: AttackCase, step: number): Expectation {
  const deviation = DEVIATIONS[id];
  if (deviation !== undefined) return deviation.expect;
  if (!("steps" in expect)) return expect;
  const expected = expect.steps[step];
  if (expected === undefined) throw new Error("A case expects as many outcomes as it has steps");
  return expected;
}

function checkNumbers(
  { invariants }: AttackCase,
  { activity }: Attempt,
  results: readonly RunResult[],
  wallMs: number,
  watched: Watched,
): string[] {
  const broken: string[] = [];
  const atMost = (name: string, found: number, most: number | undefined): void => {
    if (most !== undefined && found > most) broken.push(`${name}: ${found} is more than ${most}`);
  };
  atMost("maxWallMs", wallMs, invariants.maxWallMs);
  atMost("maxLoopGapMs", watched.loopGapMs, invariants.maxLoopGapMs ?? LOOP_GAP_MS);
  atMost("loop processor time", watched.loopCpuMs, LOOP_CPU_MS);
  atMost("maxRssDeltaMB", watched.rssDeltaMB, invariants.maxRssDeltaMB);
  const { maxToolCalls } = invariants;
  if (maxToolCalls !== undefined) {
    // A tool that is not listed may not run.
    for (const [tool, count] of activity.counts) {
      atMost(`maxToolCalls of ${tool}`, count, maxToolCalls[tool] ?? 0);
    }
  }
  for (const result of results) {
    const logs = result.logs.map(({ level, text }) => `${level}${text}`).join("\n");
    atMost("maxLogBytes", Buffer.byteLength(logs), invariants.maxLogBytes);
    if (result.status === "failed") {
      atMost("maxErrorBytes", Buffer.byteLength(JSON.stringify(result.failure)), invariants.maxErrorBytes);
    }
  }
  return broken;
}

async function checkResult({ invariants }: AttackCase, host: Host, result: RunResult): Promise<string[]> {
  const broken: string[] = [];
  if (invariants.errorNotInstanceOfRuntimeClass === true) {
    if (result.status !== "failed" || result.failure.code !== "guest_error" || !isPlain(result.failure)) {
      broken.push("errorNotInstanceOfRuntimeClass: the guest chose what its failure is");
    }
  }
  if (invariants.notResumable === true) {
    if (result.status !== "completed") return [...broken, "notResumable: the result is not a plain value"];
    const texts = [JSON.stringify(result.value), JSON.stringify(result), "codecellAQ"];
    for (const token of texts) {
      const resumed = await host.resume({ token, resolutions: {} }).result;
      if (resumed.status !== "failed" || resumed.failure.code !== "token_invalid") {
        broken.push("notResumable: a value was taken for a suspension");
      }
    }
  }
  return broken;
}

function isPlain(failure: object): boolean {
  return (
    !CodecellError.is(failure) &&
    !(failure instanceof Error) &&
    Object.getPrototypeOf(failure) === Object.prototype &&
    !("details" in failure)
  );
}

/** All own keys and values of the prototypes that guest code would like to change. */
function prototypeContents(): unknown[] {
  return [Object.prototype, Array.prototype].flatMap((prototype) =>
    Reflect.ownKeys(prototype).flatMap((key) => {
      const { value, get, set } = Reflect.getOwnPropertyDescriptor(prototype, key) ?? {};
      return [key, value, get, set] as unknown[];
    }),
  );
}

/** A result, shortened for printing. */
function outline(result: RunResult): unknown {
  const value = result.status === "completed" ? JSON.stringify(result.value).slice(0, 300) : undefined;
  const failure = result.status === "failed" ? JSON.stringify(result.failure).slice(0, 1500) : undefined;
  return { status: result.status, value, failure, logs: result.logs.length, stats: result.stats };
}

const verdict = await runCase(readCase(new URL(process.argv[2] ?? "")));
process.send?.(verdict, () => process.disconnect());
