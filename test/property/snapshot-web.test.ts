/**
 * Snapshots between Node.js and a page: a run that was suspended on one of the two goes on the same on the other, from any
 * point on. The page's part is the worker's core on what a page gives: asynchronous digests and deflate.
 */
import fc from "fast-check";
import { afterAll, expect, test, vi } from "vitest";
import type { CellStart, Sandbox } from "../../packages/codecell/src/sandbox/sandbox.ts";
import { createPool, DrivenCell, toStart } from "../sandbox/cell-driver.ts";
import { createWebLikeSandbox } from "../sandbox/web-like-sandbox.ts";
import { effort, TIMES } from "./effort.ts";
import { anyProgram } from "./programs.ts";

vi.setConfig({ testTimeout: 60_000 * TIMES });

const node = createPool();
const page = createWebLikeSandbox();
afterAll(async () => {
  await node[Symbol.asyncDispose]();
  await page[Symbol.asyncDispose]();
});

const MOST_STEPS = 30;

/** Drives a program on one sandbox to its end, and from some point on another; gives how many answers were compared. */
async function compare(
  [from, to]: readonly [Sandbox, Sandbox],
  start: CellStart,
  choices: readonly number[],
  steps: number,
): Promise<number> {
  const live = new DrivenCell(from, start);
  await live.reports(1);
  for (let step = 0; step < steps; step++) if (!(await live.step(choices[step] ?? 0))) break;
  const { progress } = live;
  const said = live.said.length;
  const bytes = await live.placement.snapshot();
  if (bytes === undefined) {
    expect(live.isOver).toBe(true);
    return 0;
  }
  for (let step = steps; step < MOST_STEPS; step++) if (!(await live.step(choices[step] ?? 0))) break;
  live.placement.drop();
  const restored = new DrivenCell(to, { ...start, snapshot: { bytes, progress } });
  await restored.reports(1);
  expect(restored.loss).toBeUndefined();
  for (const delivery of live.deliveries.slice(progress.deliveries)) await restored.deliver(delivery);
  expect(restored.said.slice(1)).toEqual(live.said.slice(said));
  restored.placement.drop();
  return live.said.length - said;
}

test.each([
  ["of Node.js goes on in a page", [node, page]],
  ["of a page goes on in Node.js", [page, node]],
] as const)("a snapshot %s, with the same answers", async (_name, sandboxes) => {
  let compared = 0;
  const choices = fc.array(fc.nat(1000), { minLength: MOST_STEPS, maxLength: MOST_STEPS });
  await fc.assert(
    fc.asyncProperty(anyProgram, choices, fc.nat(8), async (source, chosen, steps) => {
      compared += await compare(sandboxes, { ...toStart(source), compression: "deflate" }, chosen, steps);
    }),
    effort(40),
  );
  expect(compared).toBeGreaterThan(20);
});

test("a page refuses a snapshot that it cannot read, and the run begins with its ledger", async () => {
  const start = toStart("return [await tools.now({ v: 1 }), await tools.now({ v: 2 })]");
  const live = new DrivenCell(node, start);
  await live.reports(1);
  const bytes = await live.placement.snapshot();
  if (bytes === undefined) throw new Error("No snapshot");
  live.placement.drop();
  const refused = new DrivenCell(page, { ...start, snapshot: { bytes, progress: live.progress } });
  await refused.reports(1);
  expect(refused).toMatchObject({ said: [], losses: ["snapshot_refused"] });
  const again = new DrivenCell(page, start);
  await again.reports(1);
  for (let step = 0; step < 2; step++) await again.step(0);
  expect(again.last?.end).toEqual({ status: "returned", result: '[{"v":1},{"v":2}]' });
});
