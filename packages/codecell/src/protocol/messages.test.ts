import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Command, MAX_SNAPSHOT_BYTES, parseAnswers, parseCommands } from "./messages.ts";

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
    features: { yield: true, detachedFails: true, fetch: true, catalog: "[]" },
    limits,
    history: [delivery],
  },
  {
    type: "start",
    cell: 1,
    source: "",
    language: "typescript",
    seed: "",
    clock: 1,
    toolNames: "[]",
    features: {},
    limits,
    history: [],
    snapshot: { bytes: new Uint8Array(2), progress: { deliveries: 1, calls: 2, timers: 3, logs: 4 } },
  },
  { type: "deliver", cell: 1, delivery },
  { type: "snapshot", cell: 1 },
  { type: "next", cell: 1 },
  { type: "drop", cell: 1 },
];

/** The same message with one field replaced, at any depth. */
function* withOneFieldChanged(value: unknown, to: unknown): Generator {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return;
  for (const [key, member] of Object.entries(value)) {
    const copy = structuredClone(value) as Record<string, unknown>;
    copy[key] = to;
    yield Array.isArray(value) ? Object.values(copy) : copy;
    for (const changed of withOneFieldChanged(member, to)) yield { ...value, [key]: changed };
  }
}

describe("parseCommands", () => {
  test("accepts the commands that hosts send", () => {
    expect(parseCommands(commands)).toEqual(commands);
    expect(parseCommands([])).toEqual([]);
  });

  test.each(commands)("refuses a $type command with any field spoilt", (command) => {
    for (const changed of withOneFieldChanged(command, Symbol.iterator)) {
      expect(parseCommands([changed])).toBeUndefined();
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

describe("snapshots in messages", () => {
  const given = (bytes: unknown): unknown => [{ kind: "snapshot", cell: 1, bytes }];

  test("are bytes in a buffer of their own, or null", () => {
    expect(parseAnswers(given(new Uint8Array(3)))).toBeDefined();
    expect(parseAnswers(given(null))).toBeDefined();
    expect(parseAnswers([{ kind: "snapshot_refused", cell: 1 }])).toBeDefined();
  });

  test.each([
    ["undefined", undefined],
    ["text", "abc"],
    ["another view", new DataView(new ArrayBuffer(3))],
    ["a part of a buffer", new Uint8Array(new ArrayBuffer(8), 2, 3)],
    ["memory others can change", new Uint8Array(new SharedArrayBuffer(3))],
    ["too many bytes", new Uint8Array(MAX_SNAPSHOT_BYTES + 1)],
    ["an object that only looks like bytes", { length: 3, byteLength: 3, buffer: new ArrayBuffer(3) }],
  ])("%s is refused", (_name, bytes) => {
    expect(parseAnswers(given(bytes))).toBeUndefined();
    const [, start] = commands;
    const progress = { deliveries: 0, calls: 0, timers: 0, logs: 0 };
    expect(parseCommands([{ ...start, snapshot: { bytes, progress } }])).toBeUndefined();
  });

  test("an answer of an unknown kind is refused", () => {
    expect(parseAnswers([{ kind: "report", cell: 1 }])).toBeUndefined();
    expect(parseAnswers([{ kind: "snapshot_refused", cell: -1 }])).toBeUndefined();
  });
});

describe("pieces of a report", () => {
  const piece = {
    kind: "piece",
    cell: 1,
    calls: [{ tool: "t", input: "1" }],
    timers: [{ timer: 1, delayMs: null }],
  };

  test("are accepted with calls, with timer changes or with both, and refused if any field is wrong", () => {
    expect(parseAnswers([piece])).toEqual([piece]);
    for (const one of ["calls", "timers"]) expect(parseAnswers([{ ...piece, [one]: [] }])).toBeDefined();
    for (const changed of withOneFieldChanged(piece, Symbol.iterator)) {
      expect(parseAnswers([changed])).toBeUndefined();
    }
  });

  test("are refused if empty: a worker could send empty pieces without end", () => {
    expect(parseAnswers([{ ...piece, calls: [], timers: [] }])).toBeUndefined();
  });
});
