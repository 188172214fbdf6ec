/** Tests of a sandbox: snapshots that are taken, used, refused or unavailable. */
import { describe, expect, test } from "vitest";
import type { CellSnapshot } from "../protocol/messages.ts";
import type { CellStart, Sandbox } from "../sandbox/sandbox.ts";
import { CLOCK, DrivenCell, toOutput, toStart } from "./driven-cell.ts";
import { createPlacer, type OpenSandbox } from "./sandbox-cases.ts";

async function snapshotOf(cell: DrivenCell): Promise<CellSnapshot> {
  const { progress } = cell;
  const bytes = await cell.placement.snapshot();
  if (bytes === undefined) throw new Error("No snapshot");
  return { bytes, progress };
}

const SOURCE = `
  console.log("first");
  const random = Math.random();
  const t = setTimeout(() => console.log("due"), 9);
  const a = await tools.now({ n: 1 });
  console.log("second", a);
  return [a, await tools.now({ n: 2 }), random === Math.random()];
`;
const START = toStart(SOURCE);

export function testSnapshots(sandbox: () => Sandbox, open: OpenSandbox): void {
  const { place, put } = createPlacer(sandbox);

  describe("a snapshot", () => {
    test("goes on where it was taken, reports nothing twice, and leaves its cell as it was", async () => {
      const original = await place(START);
      const snapshot = await snapshotOf(original);
      const restored = await place({ ...START, snapshot });
      expect(restored.said).toMatchObject([
        { calls: [], timers: [], logs: [], end: null, unhandled: null, isOver: false },
      ]);
      for (const delivery of [toOutput(0, 5), toOutput(1, 6)]) {
        await original.deliver(delivery);
        await restored.deliver(delivery);
      }
      expect(restored.said.slice(1)).toEqual(original.said.slice(1));
      expect(restored.last?.end).toEqual({ status: "returned", result: "[5,6,false]" });
    });

    test("shows the cell after all that was delivered to it", async () => {
      const original = await place(START);
      original.give(toOutput(0, 5));
      const bytes = await original.placement.snapshot();
      expect(original.said).toHaveLength(2);
      if (bytes === undefined) throw new Error("No snapshot");
      const restored = await place({ ...START, snapshot: { bytes, progress: original.progress } });
      await restored.deliver(toOutput(1, 6));
      expect(restored.last).toMatchObject({ logs: [], end: { result: "[5,6,false]" } });
    });

    test("goes on in another sandbox, also if the first sandbox has ended", async () => {
      await using elsewhere = await open({});
      const first = new DrivenCell(elsewhere, START);
      await first.reports(1);
      const snapshot = await snapshotOf(first);
      await elsewhere[Symbol.asyncDispose]();
      const restored = await place({ ...START, snapshot });
      for (const call of [0, 1]) await restored.deliver(toOutput(call, call));
      expect(restored.last?.end).toEqual({ status: "returned", result: "[0,1,false]" });
    });

    test("repeats the history behind it, as the cell would have", async () => {
      const original = await place(START);
      const snapshot = await snapshotOf(original);
      const due = { clock: CLOCK + 9, items: [{ kind: "timer" as const, timer: 1 }] };
      await original.deliver(due);
      await original.deliver(toOutput(0, 5));
      const restored = await place({ ...START, snapshot, history: original.deliveries });
      expect(restored.last?.logs).toEqual(original.said.slice(1).flatMap(({ logs }) => logs));
      expect(restored.last?.calls).toEqual([{ tool: "now", input: '{"n":2}' }]);
    });

    test("has the limits of its new placement", async () => {
      const source = "await tools.now(1); return 'x'.repeat(5000)";
      const snapshot = await snapshotOf(await place(toStart(source)));
      const restored = await place({ ...toStart(source, { resultBytes: 1000 }), snapshot });
      await restored.deliver(toOutput(0, null));
      expect(restored.last?.end).toMatchObject({ failure: { failure: { code: "result_limit" } } });
    });

    test("can be used again, and is not changed by its use", async () => {
      const snapshot = await snapshotOf(await place(START));
      const padded = new Uint8Array(snapshot.bytes.length + 100).fill(7);
      padded.set(snapshot.bytes, 50);
      const bytes = padded.subarray(50, 50 + snapshot.bytes.length);
      for (let placement = 0; placement < 2; placement++) {
        const restored = await place({ ...START, snapshot: { ...snapshot, bytes } });
        await restored.deliver(toOutput(0, 5));
        expect(restored.last?.calls).toEqual([{ tool: "now", input: '{"n":2}' }]);
      }
      expect(bytes).toEqual(snapshot.bytes);
    });

    test("is undefined for a cell that has ended, was lost or was dropped", async () => {
      const over = await place(toStart("return 1"));
      expect(await over.placement.snapshot()).toBeUndefined();
      const snapshot = { ...(await snapshotOf(await place(START))), bytes: new Uint8Array(9) };
      const lost = await place({ ...START, snapshot });
      expect(lost.loss).toBe("snapshot_refused");
      expect(await lost.placement.snapshot()).toBeUndefined();
      const dropped = await place(START);
      const asked = dropped.placement.snapshot();
      dropped.placement.drop();
      // The sandbox may have taken the snapshot before the drop.
      expect(await asked).toSatisfy((bytes) => bytes === undefined || bytes instanceof Uint8Array);
      expect(await dropped.placement.snapshot()).toBeUndefined();
    });
  });

  describe("a snapshot is refused", () => {
    const changed: [string, (start: CellStart & { snapshot: CellSnapshot }) => CellStart][] = [
      ["that is empty", (start) => withBytes(start, new Uint8Array())],
      ["that was cut", (start) => withBytes(start, start.snapshot.bytes.slice(0, -1))],
      [
        "that was damaged",
        (start) =>
          withBytes(
            start,
            start.snapshot.bytes.map((byte, n) => (n === 40 ? byte ^ 1 : byte)),
          ),
      ],
      ["of another source", (start) => ({ ...start, source: `${start.source};` })],
      ["of another seed", (start) => ({ ...start, seed: "02".repeat(32) })],
      ["of other tools", (start) => ({ ...start, toolNames: '["other"]' })],
      ["of another clock", (start) => ({ ...start, clock: start.clock + 1 })],
      [
        "that stands elsewhere",
        (start) => ({
          ...start,
          snapshot: { ...start.snapshot, progress: { ...start.snapshot.progress, calls: 2 } },
        }),
      ],
    ];

    test.each(changed)("%s, and nothing else happens", async (_name, change) => {
      const original = await place(START);
      const refused = put(change({ ...START, snapshot: await snapshotOf(original) }));
      await refused.reports(1);
      expect(refused).toMatchObject({ said: [], losses: ["snapshot_refused"] });
      const again = await place(START);
      expect(again.said).toEqual(original.said);
      await original.deliver(toOutput(0, 5));
      expect(original.last?.calls).toEqual([{ tool: "now", input: '{"n":2}' }]);
    });
  });
}

function withBytes(start: CellStart & { snapshot: CellSnapshot }, bytes: Uint8Array<ArrayBuffer>): CellStart {
  return { ...start, snapshot: { ...start.snapshot, bytes } };
}
