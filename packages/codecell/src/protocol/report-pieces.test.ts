import fc from "fast-check";
import { expect, test } from "vitest";
import type { Report } from "./messages.ts";
import { MESSAGE_UNITS, reportInPieces } from "./report-pieces.ts";

function reportOf(inputs: readonly number[], timers: number): Report {
  return {
    cell: 3,
    calls: inputs.map((length, at) => ({ tool: `t${at}`, input: "x".repeat(length) })),
    timers: Array.from({ length: timers }, (_, timer) => ({ timer, delayMs: 1 })),
    logs: [{ level: "log", text: "one" }],
    logsDropped: 2,
    cpuTimeMs: 5,
    end: null,
    unhandled: null,
    isOver: false,
  };
}

test("the pieces of a report together are the report, and a piece exceeds the bound by at most one call", () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat({ max: 700_000 }), { maxLength: 10 }),
      fc.nat({ max: 40_000 }),
      (inputs, timers) => {
        const report = reportOf(inputs, timers);
        const parts = reportInPieces(report);
        const [last, ...pieces] = parts.toReversed();
        expect({ ...last, calls: [], timers: [] }).toEqual({ ...report, calls: [], timers: [] });
        expect(parts.flatMap(({ calls }) => calls)).toEqual(report.calls);
        expect(parts.flatMap((part) => part.timers)).toEqual(report.timers);
        for (const { kind, cell, calls, timers: changes } of pieces) {
          expect({ kind, cell }).toEqual({ kind: "piece", cell: 3 });
          expect(calls.length + changes.length).toBeGreaterThan(0);
          const before = calls.slice(0, -1).reduce((sum, { input }) => sum + input.length, 0);
          expect(before + changes.length).toBeLessThanOrEqual(MESSAGE_UNITS);
        }
      },
    ),
    { numRuns: 30 },
  );
});

test("a report that fits into a message is not copied", () => {
  const report = reportOf([900_000], 100);
  expect(reportInPieces(report)).toEqual([report]);
  expect(reportInPieces(report)[0]).toBe(report);
});
