import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Command } from "../../protocol/messages.ts";
import type { Delivery } from "../../contract/ledger.ts";
import { inPieces, messageOf } from "./message-pieces.ts";

const delivery = fc.record({
  clock: fc.nat(),
  items: fc.array(
    fc.record({
      kind: fc.constant("output" as const),
      call: fc.nat(),
      output: fc.nat({ max: 700_000 }).map((length) => "x".repeat(length)),
    }),
    { maxLength: 3 },
  ),
});

function unitsOf(deliveries: readonly Delivery[]): number {
  return deliveries
    .flatMap(({ items }) => items)
    .reduce((sum, item) => sum + (item.kind === "output" ? item.output.length : 0), 0);
}

describe("a history", () => {
  test("divided into pieces stays the same, and a piece is large only if one delivery is", () => {
    fc.assert(
      fc.property(fc.array(delivery, { maxLength: 12 }), (history) => {
        const pieces = inPieces(history);
        expect(pieces.length).toBeGreaterThan(0);
        expect(pieces.flat()).toEqual(history);
        for (const piece of pieces) expect(unitsOf(piece.slice(0, -1))).toBeLessThanOrEqual(1_000_000);
      }),
      { numRuns: 50 },
    );
  });
});

describe("a message", () => {
  const deliver = (length: number): Command => ({
    type: "deliver",
    cell: 1,
    delivery: { clock: 0, items: [{ kind: "output", call: 0, output: "x".repeat(length) }] },
  });

  test("has all commands if they are small, else as many as can be copied quickly, and at least one", () => {
    expect(messageOf([deliver(10), { type: "snapshot", cell: 1 }, { type: "drop", cell: 1 }])).toBe(3);
    expect(messageOf([deliver(600_000), deliver(600_000), deliver(1)])).toBe(2);
    expect(messageOf([deliver(4_000_000), deliver(1)])).toBe(1);
  });
});
