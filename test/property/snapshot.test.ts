/**
 * A run goes on in the same way whether its cell lives on, is restored from a snapshot on another worker, or is
 * rebuilt from its ledger. A tampered snapshot harms only its own run.
 */
import fc from "fast-check";
import { afterAll, expect, test, vi } from "vitest";
import { createPool, DrivenCell, toStart } from "../sandbox/cell-driver.ts";
import { effort, TIMES } from "./effort.ts";
import { anyProgram } from "./programs.ts";

vi.setConfig({ testTimeout: 60_000 * TIMES });

const here = createPool();
const elsewhere = createPool();
afterAll(async () => {
  await here[Symbol.asyncDispose]();
  await elsewhere[Symbol.asyncDispose]();
});

const MOST_STEPS = 40;

test("live, restored and rebuilt cells give the same reports from any point on", async () => {
  let compared = 0;
  await fc.assert(
    fc.asyncProperty(
      anyProgram,
      fc.array(fc.nat(1000), { minLength: MOST_STEPS, maxLength: MOST_STEPS }),
      fc.nat(1000),
      fc.nat(3),
      async (source, choices, where, afterwards) => {
        const start = toStart(source);
        const live = new DrivenCell(here, start);
        await live.reports(1);
        const points: { bytes: Uint8Array<ArrayBuffer>; progress: typeof live.progress; said: number }[] = [];
        for (let step = 0; !live.isOver && step < MOST_STEPS; step++) {
          const bytes = await live.placement.snapshot();
          if (bytes === undefined) throw new Error("A waiting cell gave no snapshot");
          points.push({ bytes, progress: live.progress, said: live.said.length });
          if (!(await live.step(choices[step] ?? 0))) break;
        }
        live.placement.drop();
        const point = points[where % Math.max(1, points.length)];
        if (point === undefined) return;

        // A few deliveries may have come after the snapshot.
        const { progress, said } = point;
        const missed = live.deliveries.slice(progress.deliveries, progress.deliveries + afterwards);
        const restored = new DrivenCell(elsewhere, {
          ...start,
          snapshot: { bytes: point.bytes, progress },
          history: missed,
        });
        await restored.reports(1);
        expect(restored.loss).toBeUndefined();
        const replayed = new DrivenCell(elsewhere, {
          ...start,
          history: live.deliveries.slice(0, progress.deliveries),
        });
        await replayed.reports(1);

        const next = progress.deliveries + missed.length;
        for (const delivery of live.deliveries.slice(next)) await restored.deliver(delivery);
        for (const delivery of live.deliveries.slice(progress.deliveries)) await replayed.deliver(delivery);
        expect(replayed.said.slice(1)).toEqual(live.said.slice(said));
        // The first report has what the cell repeated at once.
        const repeated = live.said.slice(said, said + missed.length);
        expect(restored.said[0]).toEqual({
          ...(repeated.at(-1) ?? live.said[said - 1]),
          calls: repeated.flatMap(({ calls }) => calls),
          timers: repeated.flatMap(({ timers }) => timers),
          logs: repeated.flatMap(({ logs }) => logs),
        });
        expect(restored.said.slice(1)).toEqual(live.said.slice(said + missed.length));
        for (const cell of [restored, replayed]) cell.placement.drop();
        compared += live.said.length - said;
      },
    ),
    effort(60),
  );
  expect(compared).toBeGreaterThan(60);
});

test("a snapshot of a restored cell is the snapshot it was restored from", async () => {
  await fc.assert(
    fc.asyncProperty(anyProgram, fc.nat(6), async (source, steps) => {
      const start = toStart(source);
      const live = new DrivenCell(here, start);
      await live.reports(1);
      for (let step = 0; step < steps; step++) if (!(await live.step(step * 31))) break;
      const [first, second] = await Promise.all([live.placement.snapshot(), live.placement.snapshot()]);
      live.placement.drop();
      if (first === undefined || second === undefined) {
        expect([live.isOver, first, second]).toEqual([true, undefined, undefined]);
        return;
      }
      expect(Buffer.compare(first, second)).toBe(0);
      const restored = new DrivenCell(elsewhere, {
        ...start,
        snapshot: { bytes: first, progress: live.progress },
      });
      await restored.reports(1);
      const again = await restored.placement.snapshot();
      expect(Buffer.compare(again ?? new Uint8Array(), first)).toBe(0);
      restored.placement.drop();
    }),
    effort(25),
  );
});
