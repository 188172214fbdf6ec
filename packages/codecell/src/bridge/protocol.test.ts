import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Command, parseCommands, parseAnswers } from "./protocol.ts";

const limits = {
  cpuTimeMs: 1,
  memoryBytes: 1,
  stackBytes: 1,
  resultBytes: 1,
  logBytes: 1,
  callInputBytes: 1,
  calls: 1,
  timers: 1,
};
const delivery = {
  clock: 1,
  items: [
    { kind: "timer", timer: 1 },
    { kind: "output", call: 0, output: "1" },
    { kind: "failure", call: 1, failure: { code: "denied", name: "CallError", message: "no" } },
  ],
} as const;
const commands: Command[] = [
  {
    type: "start",
    cell: 1,
    source: "",
    language: "typescript",
    seed: "",
    clock: 1,
    toolNames: "[]",
    limits,
    history: [delivery],
  },
  { type: "deliver", cell: 1, delivery },
  { type: "drop", cell: 1 },
];

/** The same message with one field somewhere replaced. */
function* withOneFieldChanged(value: unknown, to: unknown): Generator {
  if (typeof value !== "object" || value === null) return;
  for (const [key, member] of Object.entries(value)) {
    const copy = structuredClone(value) as Record<string, unknown>;
    copy[key] = to;
    yield Array.isArray(value) ? Object.values(copy) : copy;
    for (const changed of withOneFieldChanged(member, to)) yield { ...value, [key]: changed };
  }
}

describe("parseCommands", () => {
  test("accepts what hosts send", () => {
    expect(parseCommands(commands)).toEqual(commands);
    expect(parseCommands([])).toEqual([]);
  });

  test.each(commands)("refuses a $type command with any field spoilt", (command) => {
    for (const changed of withOneFieldChanged(command, Symbol.iterator)) {
      // The text of a failure is the guest's business only.
      const isFailureText =
        JSON.stringify(changed).includes('"failure":{') &&
        JSON.stringify(changed) !== JSON.stringify(command);
      if (!isFailureText) expect(parseCommands([changed])).toBeUndefined();
    }
  });

  test("never throws, whatever the message", () => {
    fc.assert(
      fc.property(
        fc.anything({ withSparseArray: true, withBigInt: true, withNullPrototype: true }),
        (message) => {
          const parsed = [parseCommands(message), parseAnswers(message)];
          expect(parsed.every((one) => one === undefined || Array.isArray(one))).toBe(true);
        },
      ),
    );
  });
});
