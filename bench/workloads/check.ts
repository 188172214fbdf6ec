/**
 * The check before a run: programs of 40 lines, each naming six tools of a large catalog, checked one after the
 * other.
 *
 * - `cold` is the time from creating the checker to the answer about the first program, with loading the compiler.
 * - Every tenth program calls a tool that does not exist, and has to be refused with the closest names.
 * - `host` is what a check costs the host's own thread.
 */

import type { CheckResult, ToolDeclarations } from "codecell/check";
import { Attempts, nextSalt } from "../harness/attempts.ts";
import { percentile } from "../harness/statistics.ts";
import type { Workload } from "./workload.ts";

const TYPE =
  "{ items: { id: string; owner: string; total: number; tags: string[]; address?: { city: string; zip: string } }[]; next?: string }";
const CHECKS = 100;
const WARM_CHECKS = 15;
const WRONG_EVERY = 10;

function createDeclarations(count: number): ToolDeclarations {
  const names = Array.from({ length: count }, (_, index) => `service${index % 40}_list_${index}`);
  const known = new Set(names);
  return {
    names: () => names,
    of: (name) =>
      known.has(name)
        ? `${name}(input: { owner: string; status?: "open" | "closed"; limit?: number }): Promise<${TYPE}>`
        : undefined,
  };
}

/** 40 lines. Each program has its own number and tools. */
function createSource(count: number, wrong: boolean): string {
  const salt = nextSalt();
  const tool = (n: number): string => {
    const index = (salt * 7 + n * 131) % count;
    return `service${index % 40}_list_${index}`;
  };
  const part = (n: number): string => `
const page${n} = await tools.${tool(n)}({ owner: owners[${n % 3}] ?? "nobody", status: "open", limit: ${salt} });
const large${n} = page${n}.items.filter(({ total }) => total > ${n * 10});
for (const { id, owner, tags } of large${n}) {
  const known = byOwner.get(owner) ?? [];
  byOwner.set(owner, [...known, \`\${id}: \${tags.join(", ").toUpperCase()}\`]);
}`;
  return `interface Line { readonly owner: string; readonly notes: readonly string[] }
const owners = ["ana", "bo", "cleo"];
const byOwner = new Map<string, string[]>();${[0, 1, 2, 3, 4].map(part).join("")}
const lines: Line[] = [...byOwner].map(([owner, notes]) => ({ owner, notes }));
${wrong ? `await tools.${tool(5).replace("_list_", "_lst_")}({ owner: "ana" });` : `const last = (await tools.${tool(5)}({ owner: "ana" })).next ?? "none";`}
console.log(lines.length);
return lines.toSorted((a, b) => a.owner.localeCompare(b.owner));`;
}

export const check: Workload = {
  name: "check",
  title: "The check before a run, of a program of 40 lines",
  process: "own",
  opens: true,
  only: ["codecell"],
  metrics: [
    { key: "p50", label: "warm", better: "lower", unit: "ms" },
    { key: "p95", label: "p95", better: "lower", unit: "ms" },
    { key: "cpu", label: "CPU", better: "lower", unit: "ms" },
    { key: "host", label: "host's thread", better: "lower", unit: "ms" },
    { key: "cold", label: "cold start", better: "lower", unit: "ms" },
    { key: "rss", label: "memory", better: "lower", unit: "MB" },
  ],
  cases: [
    { label: "500 tools", size: 500 },
    { label: "10000 tools", size: 10_000 },
  ],
  rounds: 3,
  measure: async (_contestant, { size }) => {
    const { createChecker } = await import("codecell/check");
    const attempts = new Attempts();
    const declarations = createDeclarations(size);
    const before = process.memoryUsage.rss();
    const begun = performance.now();
    await using checker = createChecker({ checkTimeMs: 30_000 });
    const one = async (wrong: boolean): Promise<void> => {
      const source = createSource(size, wrong);
      await attempts.check(wrong ? "unknown_tool" : "passed", async () =>
        toVerdict(await checker.check({ source, declarations })),
      );
    };
    await one(false);
    const cold = performance.now() - begun;
    for (let run = 0; run < WARM_CHECKS; run++) await one(false);

    const durations: number[] = [];
    const cpu = process.cpuUsage();
    const loop = performance.eventLoopUtilization();
    for (let run = 1; run <= CHECKS; run++) {
      const checkBegun = performance.now();
      await one(run % WRONG_EVERY === 0);
      durations.push(performance.now() - checkBegun);
    }
    const { active } = performance.eventLoopUtilization(loop);
    const { user, system } = process.cpuUsage(cpu);
    return attempts.sample({
      p50: percentile(durations, 0.5),
      p95: percentile(durations, 0.95),
      cpu: (user + system) / 1000 / CHECKS,
      host: active / CHECKS,
      cold,
      rss: (process.memoryUsage.rss() - before) / 1024 / 1024,
    });
  },
};

function toVerdict(result: CheckResult): string {
  if (result.status !== "refused") return result.status;
  return result.problems.map(({ code }) => code).join(", ");
}
