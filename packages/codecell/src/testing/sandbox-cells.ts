/** Tests of a sandbox: one cell, its reports and its end. */
import { describe, expect, test } from "vitest";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { CLOCK, toOutput, toStart } from "./driven-cell.ts";
import { createPlacer, settle } from "./sandbox-cases.ts";

const NOTHING = toStart("return 0");

export function testCells(sandbox: () => Sandbox): void {
  const placer = createPlacer(sandbox);
  const { place, put } = placer;

  describe("reports", () => {
    test("the first says all that the program did before it waits, in order", async () => {
      const cell = await place(
        toStart(`
          console.log("a");
          setTimeout(() => {}, 50);
          void tools.wait({ n: 1 });
          console.warn("b");
          await Promise.all([tools.now({ n: 2 }), tools.late({ n: 3 })]);
        `),
      );
      expect(cell.said).toEqual([
        {
          calls: [
            { tool: "wait", input: '{"n":1}' },
            { tool: "now", input: '{"n":2}' },
            { tool: "late", input: '{"n":3}' },
          ],
          timers: [{ timer: 1, delayMs: 50 }],
          logs: [
            { level: "log", text: "a" },
            { level: "warn", text: "b" },
          ],
          logsDropped: 0,
          end: null,
          unhandled: null,
          isOver: false,
        },
      ]);
    });

    test("each delivery has one, in order, however fast deliveries come", async () => {
      const cell = await place(
        toStart("await Promise.all([...Array(50).keys()].map((n) => tools.now(n).then(console.log)))"),
      );
      const order = [...Array(50).keys()].toReversed();
      for (const call of order) cell.give(toOutput(call, `value ${call}`));
      await cell.reports(51);
      const texts = cell.said.slice(1).map(({ logs }) => logs.map(({ text }) => text));
      expect(texts).toEqual(order.map((call) => [`value ${call}`]));
      expect(cell.last).toMatchObject({ end: { status: "returned" }, isOver: true });
    });

    test("items of one delivery are seen together, in order", async () => {
      const source =
        "for (const n of [0, 1, 2]) tools.now(n).then((v) => console.log(v)); await tools.late({})";
      const cell = await place(toStart(source));
      const items = [2, 0, 1].map((call) => ({ kind: "output" as const, call, output: `"${call}"` }));
      await cell.deliver({ clock: CLOCK + 1, items });
      expect(cell.last?.logs.map(({ text }) => text)).toEqual(["2", "0", "1"]);
      expect(cell.said).toHaveLength(2);
    });

    test("a delivery before the start was reported comes after the start", async () => {
      const cell = put(toStart("setTimeout(() => console.log('due'), 5); await tools.late({})"));
      cell.give({ clock: CLOCK + 5, items: [{ kind: "timer", timer: 1 }] });
      await cell.reports(2);
      expect(cell.said).toMatchObject([
        { timers: [{ timer: 1, delayMs: 5 }], logs: [] },
        { logs: [{ text: "due" }] },
      ]);
    });

    test("no listener is called before place() has returned", async () => {
      let hasReturned = false;
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const placement = sandbox().place(NOTHING, {
        onReport: () => resolve(hasReturned),
        onPiece: () => resolve(false),
        onLost: () => resolve(false),
        onEvict: () => false,
      });
      hasReturned = true;
      expect(await promise).toBe(true);
      placement.drop();
    });

    test("a listener may deliver to its cell and place other cells at once", async () => {
      const { promise, resolve } = Promise.withResolvers<string | undefined>();
      const ignored = { onLost: () => resolve(undefined), onPiece: () => {}, onEvict: () => false };
      const outer = sandbox().place(toStart("return await tools.now(1)"), {
        ...ignored,
        onReport: ({ end }) => {
          if (end === null) outer.deliver(toOutput(0, 5));
          else if (end.status === "returned") {
            sandbox().place(toStart(`return ${end.result} + 1`), {
              ...ignored,
              onReport: (inner) => resolve(inner.end?.status === "returned" ? inner.end.result : undefined),
            });
          }
        },
      });
      expect(await promise).toBe("6");
    });

    test("timers of one burst are reported as they are at its end", async () => {
      const cell = await place(
        toStart(
          "clearTimeout(setTimeout(() => {}, 1)); const t = setTimeout(() => {}, 9); await tools.now(1); clearTimeout(t); await tools.now(2)",
        ),
      );
      await cell.deliver(toOutput(0, null));
      expect(cell.said.map(({ timers }) => timers)).toEqual([
        [{ timer: 2, delayMs: 9 }],
        [{ timer: 2, delayMs: null }],
      ]);
    });

    test("the program's clock shows the time of the last delivery", async () => {
      const cell = await place(toStart("const a = Date.now(); await tools.now(1); return [a, Date.now()]"));
      await cell.deliver(toOutput(0, null, CLOCK + 250));
      expect(cell.last?.end).toEqual({ status: "returned", result: `[${CLOCK},${CLOCK + 250}]` });
    });

    test("the program can catch the failure of a call", async () => {
      const cell = await place(toStart("return await tools.fail(1).catch((e) => [e.code, e.message])"));
      await cell.step(0);
      expect(cell.last?.end).toEqual({ status: "returned", result: '["tool_failed","it failed"]' });
    });
  });

  describe("the end of a cell", () => {
    test.each([
      ["syntax_error", "return ]"],
      ["module_denied", "import fs from 'fs'"],
      ["guest_error", "\n\nthrow new Error('no')"],
    ])("is reported: %s", async (code, source) => {
      const cell = await place(toStart(source));
      expect(cell.last).toMatchObject({
        end: { status: "failed", failure: { failure: { code } } },
        isOver: true,
      });
    });

    test("says where an error came from, in the program's own text", async () => {
      const cell = await place(toStart("const a: number = 1;\n  throw new Error(`no ${a as number}`)"));
      expect(cell.last?.end).toMatchObject({ failure: { failure: { position: { line: 2 } } } });
    });

    test("comes after the calls that a program did not wait for", async () => {
      const cell = await place(toStart("void tools.late({}); return 7"));
      expect(cell.last).toMatchObject({ end: { status: "returned", result: "7" }, isOver: false });
      await cell.deliver(toOutput(0, null));
      expect(cell.last).toMatchObject({ end: { status: "returned", result: "7" }, isOver: true });
    });

    test("is its last report", async () => {
      const cell = await place(toStart("return 1"));
      expect(cell.last).toMatchObject({ isOver: true });
      cell.give(toOutput(0, null));
      await settle(placer, NOTHING);
      expect(cell).toMatchObject({ said: { length: 1 }, losses: [] });
    });

    test("leaves later deliveries without a report", async () => {
      const cell = await place(toStart("return await Promise.race([tools.now(1), tools.now(2)])"));
      for (const call of [0, 1, 0]) cell.give(toOutput(call, call));
      await cell.reports(3);
      await settle(placer, NOTHING);
      expect(cell.said.map(({ isOver }) => isOver)).toEqual([false, false, true]);
      expect(cell.losses).toEqual([]);
    });
  });

  describe("a cell that was dropped", () => {
    test("reports nothing more, whatever was delivered to it", async () => {
      const waiting = await place(toStart("console.log(await tools.now(1))"));
      const unstarted = put(NOTHING);
      waiting.give(toOutput(0, 1));
      waiting.placement.drop();
      unstarted.placement.drop();
      await settle(placer, NOTHING);
      expect(waiting).toMatchObject({ said: { length: 1 }, losses: [] });
      expect(unstarted).toMatchObject({ said: [], losses: [] });
    });

    test("may be dropped again, and may get more deliveries", async () => {
      const over = await place(NOTHING);
      const waiting = await place(toStart("await tools.now(1)"));
      for (const cell of [over, waiting]) {
        cell.placement.drop();
        cell.placement.drop();
        cell.give(toOutput(0, null));
        expect(await cell.placement.snapshot()).toBeUndefined();
      }
      await settle(placer, NOTHING);
      expect([...over.losses, ...waiting.losses]).toEqual([]);
      expect([over.said.length, waiting.said.length]).toEqual([1, 1]);
    });

    test("leaves others as they were", async () => {
      const cells = await Promise.all(
        [1, 2, 3].map((n) => place(toStart(`return [${n}, await tools.now(1)]`))),
      );
      cells[1]?.placement.drop();
      for (const cell of [cells[0], cells[2]]) await cell?.deliver(toOutput(0, "x"));
      expect(cells.map((cell) => cell.last?.end)).toEqual([
        { status: "returned", result: '[1,"x"]' },
        null,
        { status: "returned", result: '[3,"x"]' },
      ]);
    });
  });
}
