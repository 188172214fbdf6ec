/** Tests of a sandbox: guest code cannot harm its host or other cells, nor exceed its limits. */
import { describe, expect, test } from "vitest";
import type { Limits } from "../contract/limits.ts";
import { nextTurn } from "../loop/turn.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { toOutput, toStart } from "./driven-cell.ts";
import { createPlacer, endOf, type SandboxTest, settle } from "./sandbox-cases.ts";

const MiB = 1024 * 1024;
const HOUR_MS = 3_600_000;
/** A loop in native code, which the engine's interrupt handler never interrupts. */
const NATIVE_LOOP = "Array.prototype.join.call({ length: 2 ** 53 - 1 }, '')";

export function testBounds(sandbox: () => Sandbox, unless: (title: SandboxTest) => typeof test): void {
  const placer = createPlacer(sandbox);
  const { place, put } = placer;

  describe("a cell that exceeds its limits", () => {
    test.each<[string, string, Partial<Limits>]>([
      ["timeout", "for (;;);", { cpuTimeMs: 50 }],
      ["timeout", "for (;;) await null", { cpuTimeMs: 50 }],
      ["memory_limit", "const a = []; for (;;) a.push(new Uint8Array(1e6))", { memoryBytes: 8 * MiB }],
      ["result_limit", "return 'x'.repeat(5000)", { resultBytes: 1000 }],
      ["call_limit", "for (;;) tools.now(1)", { calls: 10 }],
    ])("ends with %s: %s", async (code, source, limits) => {
      const cell = await endOf(placer, toStart(source, limits));
      expect(cell.last).toMatchObject({
        end: { status: "failed", failure: { failure: { code } } },
        isOver: true,
      });
      expect(cell.last?.calls.length).toBeLessThanOrEqual(10);
    });

    test("gets an error that it can catch, where it can go on", async () => {
      const source = `
        const codes = [await tools.now("x".repeat(2000)).catch((error) => error.code)];
        try { for (;;) setTimeout(() => {}, 1) } catch { codes.push("timers") }
        return codes;
      `;
      const cell = await place(toStart(source, { callInputBytes: 1000, timers: 3 }));
      expect(cell.last).toMatchObject({ calls: [], end: { result: '["input_limit","timers"]' } });
    });

    test("may throw at the depth of its stack, and go on", async () => {
      const source =
        "let depth = 0; const f = () => { depth++; f() }; try { f() } catch { return depth > 10 }";
      const cell = await place(toStart(source, { stackBytes: 32 * 1024 }));
      expect(cell.last?.end).toEqual({ status: "returned", result: "true" });
    });

    test("is told how many of its log lines were dropped", async () => {
      const source = "for (let i = 0; i < 1000; i++) console.log('')";
      const cell = await place(toStart(source, { logBytes: 1600 }));
      expect(cell.last).toMatchObject({ logs: { length: 100 }, logsDropped: 900 });
    });

    test("leaves others as they were", async () => {
      const neighbour = await place(toStart("return [1, await tools.now(1)]"));
      const hungry = "const a = []; for (;;) a.push(new Uint8Array(1e6))";
      await endOf(placer, toStart(hungry, { memoryBytes: 8 * MiB }));
      await neighbour.deliver(toOutput(0, 2));
      expect(neighbour.last?.end ?? neighbour.loss).toEqual({ status: "returned", result: "[1,2]" });
    });

    unless("a native loop is ended")("even in a native loop that cannot be interrupted", async () => {
      const cell = await endOf(placer, toStart(NATIVE_LOOP, { cpuTimeMs: 300 }));
      expect(cell.loss ?? cell.last?.end).toSatisfy(
        (end: unknown) => end === "overran" || JSON.stringify(end).includes('"timeout"'),
      );
      expect((await endOf(placer, toStart("return 1"))).last?.end).toMatchObject({ result: "1" });
    });
  });

  describe("a cell that computes", () => {
    test("does not keep others waiting for ever", async () => {
      const computing = put(toStart("for (;;);", { cpuTimeMs: HOUR_MS }));
      const passing = await endOf(placer, toStart("return 1"));
      expect(passing.last?.end).toEqual({ status: "returned", result: "1" });
      computing.placement.drop();
      expect(computing.said).toEqual([]);
    });

    test("reports nothing of a burst that it did not finish", async () => {
      const source = "console.log('told'); tools.now(1); let n = 0; while (n < 1e7) n++; return n";
      const computing = put(toStart(source, { cpuTimeMs: HOUR_MS }));
      await settle(placer, toStart("return 1"));
      await computing.reports(1);
      // The cell is either lost or reports its end, and nothing in between.
      if (computing.loss === undefined) {
        expect(computing.said).toMatchObject([{ logs: [{ text: "told" }], end: { result: "10000000" } }]);
      } else expect(computing).toMatchObject({ said: [], losses: { length: 1 } });
    });

    unless("drop ends guest code that runs")("is stopped at once when it is dropped", async () => {
      const computing = Array.from({ length: 8 }, () => put(toStart("for (;;);", { cpuTimeMs: HOUR_MS })));
      for (let turn = 0; turn < 100; turn++) await nextTurn();
      for (const cell of computing) cell.placement.drop();
      const next = await endOf(placer, toStart("return 1", { cpuTimeMs: HOUR_MS }));
      expect(next.last?.end).toEqual({ status: "returned", result: "1" });
      expect(computing.flatMap(({ said }) => said)).toEqual([]);
    });
  });

  describe("guest code", () => {
    test("sees nothing of the cells before it and beside it", async () => {
      const spoil = `
        globalThis.x = 1; Object.prototype.y = 2; Array.prototype.map = null; Math.random = null;
        Promise.prototype.then = null; JSON.stringify = () => "forged"; console.log = null;
      `;
      await place(toStart(`${spoil} await tools.late({})`));
      await place(toStart(`${spoil} return 1`));
      const cell = await place(
        toStart(
          "return [typeof x, ({}).y ?? null, typeof [].map, typeof Math.random, JSON.stringify([1]), typeof console.log]",
        ),
      );
      expect(cell.last?.end).toMatchObject({
        result: '["undefined",null,"function","function","[1]","function"]',
      });
    });

    test("has no access to the place where it runs", async () => {
      const names = [
        "process",
        "require",
        "module",
        "fetch",
        "XMLHttpRequest",
        "WebSocket",
        "Worker",
        "Atomics",
      ];
      names.push("WebAssembly", "window", "document", "self", "postMessage", "importScripts", "Deno", "Bun");
      const types = names.map((name) => `["${name}", typeof ${name}]`);
      const cell = await place(
        toStart(`return [${types.join()}].filter(([, type]) => type !== "undefined")`),
      );
      expect(cell.last?.end).toEqual({ status: "returned", result: "[]" });
    });

    test.each([
      "(() => {}).constructor('return 1')()",
      "(async () => {}).constructor('return 1')()",
      "(function* () {}).constructor('return 1')()",
      "tools.now.constructor('return 1')()",
      "(0, eval)('1')",
      "await import('node:fs')",
    ])("cannot make code from text or load code: %s", async (source) => {
      const cell = await place(toStart(`return ${source}`));
      expect(cell.last?.end).toMatchObject({ status: "failed" });
    });

    test("cannot settle a call, nor forge its own end", async () => {
      const source = `
        const Fake = class extends Promise {};
        Object.defineProperty(Promise.prototype, "constructor", { get: () => Fake });
        Object.prototype.toJSON = () => "forged";
        tools.now(1).then(() => console.log("settled"));
        await tools.late(2);
      `;
      const cell = await place(toStart(source));
      expect(cell.last).toMatchObject({ logs: [], end: null, isOver: false });
      expect(cell.last?.calls.map(({ tool }) => tool)).toEqual(["now", "late"]);
    });

    test("gets its own answers, however many cells wait at the same time", async () => {
      const starts = Array.from({ length: 300 }, (_, n) =>
        toStart(`const mine = ${n}; return [mine, await tools.now(1)]`),
      );
      const started = await Promise.all(starts.map((start) => endOf(placer, start)));
      const answer = toOutput(0, "x");
      const ended = started.toReversed().map(async (cell, index) => {
        await cell.deliver(answer);
        const start = starts[299 - index];
        if (cell.loss === undefined || start === undefined) return cell;
        return endOf(placer, { ...start, history: [answer] });
      });
      const cells = (await Promise.all(ended)).toReversed();
      expect(cells.map((cell) => cell.last?.end)).toEqual(
        cells.map((_, n) => ({ status: "returned", result: `[${n},"x"]` })),
      );
    });
  });
}
