/**
 * Soak: runs hostile and innocent programs side by side on one host, for minutes or hours.
 *
 * - Fails when an innocent run fails, or when memory, handles or workers grow: after a warm-up, it compares the
 *   median of the last third of the samples with that of the first.
 * - `npm run soak -- --minutes 2 --concurrency 32 --seed 1`
 */
import { getHeapStatistics } from "node:v8";
import { subscribe } from "node:diagnostics_channel";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { Worker } from "node:worker_threads";
import { createHost, type Host, type RunResult, type ToolSet } from "codecell";
import { HOSTILE, INNOCENT } from "./soak-programs.ts";

const { values: options } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    concurrency: { type: "string", default: "32" },
    seed: { type: "string", default: "1" },
  },
});
const DURATION_MS = Number(options.minutes) * 60_000;
const CONCURRENCY = Number(options.concurrency);
const REPORT_EVERY_MS = 30_000;
const SAMPLE_EVERY_MS = Math.min(5000, DURATION_MS / 24);
/** Fraction of the time whose samples are discarded. */
const WARM_UP = 0.15;
const HOSTILE_SHARE = 0.3;
/** How far the medians may differ: noise of the allocator and of the programs that happen to run. */
const GROWTH = { rssMB: 60, heapMB: 15, workers: 2, handles: 12 } as const;

type Quantity = keyof typeof GROWTH;
type Sample = Readonly<Record<Quantity, number>>;

const workers = new Set<Worker>();
subscribe("worker_threads", (message) => {
  const { worker } = message as { worker: Worker };
  workers.add(worker);
  worker.once("exit", () => workers.delete(worker));
});

const tools: ToolSet = {
  echo: { execute: (input: unknown) => input },
  wait: { execute: ({ ms }: { ms: number }) => delay(ms, { ms }) },
  never: { execute: () => new Promise(() => {}) },
  fail: {
    execute: () => {
      throw new Error("it failed");
    },
  },
};

/** A small random generator, so that a soak can be repeated. */
function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const counts = { innocent: 0, hostile: 0, rebuilds: 0 };
/** What should not have happened, with how often it did. */
const unexpected = new Map<string, number>();

function complain(text: string): void {
  unexpected.set(text, (unexpected.get(text) ?? 0) + 1);
}

async function runOne(host: Host, random: () => number): Promise<void> {
  if (random() < HOSTILE_SHARE) {
    const source = HOSTILE[Math.floor(random() * HOSTILE.length)] ?? "";
    const limits = { wallTimeMs: 2000, cpuTimeMs: 500, memoryBytes: 32 * 1024 * 1024, calls: 256 };
    const result = await host.start({ source, tools, limits }).result;
    counts.hostile++;
    note(result);
    if (
      result.status === "failed" &&
      ["internal", "unavailable", "replay_diverged"].includes(result.failure.code)
    ) {
      complain(`${source} → ${JSON.stringify(result.failure)}`);
    }
    return;
  }
  const program = INNOCENT[Math.floor(random() * INNOCENT.length)];
  if (program === undefined) return;
  const result = await host.start({ source: program.source, tools, limits: { wallTimeMs: 120_000 } }).result;
  counts.innocent++;
  note(result);
  const found = JSON.stringify(
    result.status === "completed" ? result.value : result.status === "failed" ? result.failure : null,
  );
  if (found !== program.value) complain(`${program.source} → ${found}`);
}

function note({ stats }: RunResult): void {
  counts.rebuilds += stats.rebuilds;
}

function takeSample(): Sample {
  globalThis.gc?.();
  return {
    rssMB: Math.round(process.memoryUsage.rss() / 1e6),
    heapMB: Math.round(getHeapStatistics().used_heap_size / 1e6),
    workers: workers.size,
    handles: process.getActiveResourcesInfo().length,
  };
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}

/** Quantities that grew. */
function findGrowth(samples: readonly Sample[]): string[] {
  const warm = samples.slice(Math.floor(samples.length * WARM_UP));
  const third = Math.floor(warm.length / 3);
  return (Object.keys(GROWTH) as Quantity[]).flatMap((quantity) => {
    const first = median(warm.slice(0, third).map((sample) => sample[quantity]));
    const last = median(warm.slice(-third).map((sample) => sample[quantity]));
    console.log(`${quantity}: median ${first} in the first third, ${last} in the last`);
    return last - first > GROWTH[quantity] ? [`${quantity} grew from ${first} to ${last}`] : [];
  });
}

async function soak(): Promise<string[]> {
  await using host = createHost();
  const startedAt = performance.now();
  const isOver = (): boolean => performance.now() - startedAt > DURATION_MS;
  const samples: Sample[] = [];
  let reportedAt = startedAt;
  const sampling = setInterval(() => {
    const sample = takeSample();
    samples.push(sample);
    if (performance.now() - reportedAt < REPORT_EVERY_MS && !isOver()) return;
    reportedAt = performance.now();
    const seconds = Math.round((reportedAt - startedAt) / 1000);
    console.log(`${seconds} s`, JSON.stringify({ ...counts, unexpected: unexpected.size, ...sample }));
  }, SAMPLE_EVERY_MS);
  const lane = async (seed: number): Promise<void> => {
    const random = createRandom(seed);
    while (!isOver()) await runOne(host, random);
  };
  await Promise.all(
    Array.from({ length: CONCURRENCY }, (_, index) => lane(Number(options.seed) * 1000 + index)),
  );
  clearInterval(sampling);
  const complaints = [...unexpected].map(([text, times]) => `${times} times: ${text}`);
  return [...complaints.slice(0, 20), ...findGrowth(samples)];
}

const problems = await soak();
if (workers.size > 0) problems.push(`${workers.size} workers outlived their host`);
for (const problem of problems) console.error(problem.slice(0, 1000));
console.log(problems.length === 0 ? "The soak found nothing" : `The soak found ${problems.length} problems`);
process.exitCode = problems.length === 0 ? 0 : 1;
