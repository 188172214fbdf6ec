/**
 * Runs get the room beyond their own memory: the texts of their ledger, which `ledgerSize` bounds, and what a suspended
 * result hands over, which `suspensionBytes` bounds (the input and payload of each pending call, as values).
 */
import { setTimeout } from "node:timers/promises";
import { createHost, type ToolSet } from "codecell";
import type { RoomCase } from "./heap-room.ts";
import {
  LONG_TEXT,
  LONG_TEXT_OWN,
  PATIENCE_MS,
  RECORDS,
  RECORDS_TEXT,
  RECORDS_VALUE,
  ROOM,
} from "./memory-parts.ts";

const PATIENT = { wallTimeMs: PATIENCE_MS, cpuTimeMs: PATIENCE_MS };

const tools: ToolSet = {
  count: { execute: (input) => Object.keys(input as object).length },
  /** Other calls that were made with it have begun by then, as far as they may. */
  hold: {
    execute: async (input) => {
      await setTimeout(500);
      return Object.keys(input as object).length;
    },
  },
  fail: {
    execute: (input) => {
      throw new Error(`no such user: ${String(input)}`);
    },
  },
  stream: {
    async *execute(input) {
      for (let n = 0; n < 20; n++) yield structuredClone(input);
      yield "done";
    },
  },
  grow: {
    async *execute() {
      for (let n = 0; n < 2000; n++) yield { text: Buffer.alloc(50_000 + n, "x").toString("latin1") };
      yield "done";
    },
  },
  ask: {
    execute: (input, { resolution, suspend }) => (resolution === undefined ? suspend({ input }) : resolution),
  },
};

function runCase(name: string, own: number, program: string): RoomCase {
  return {
    name,
    room: ROOM + own,
    prepare: async () => {
      const host = createHost({ workers: 1 });
      await host.start({ source: "return await tools.count({})", tools }).result;
      return async () => {
        const first = host.start({ source: `${RECORDS}\n${program}`, tools, limits: PATIENT });
        let result = await first.result;
        // Calls that ask later than others wait for the next suspension.
        while (result.status === "suspended") {
          const { token, pending } = result.suspension;
          const resolutions = Object.fromEntries(pending.map(({ callId }) => [callId, { resolution: 1 }]));
          result = await host.resume({ token, tools, resolutions }).result;
        }
        if (result.status !== "completed") throw new Error(JSON.stringify(result).slice(0, 999));
        await host[Symbol.asyncDispose]();
        // The holder of a run can still read its events.
        return first;
      };
    },
  };
}

const RUN_CASES: readonly RoomCase[] = [
  runCase(
    "a run calls a tool 40 times that throws its input",
    40 * LONG_TEXT_OWN,
    `${LONG_TEXT} for (let n = 0; n < 40; n++) await tools.fail(text).catch(() => 0);`,
  ),
  runCase(
    "a run calls a tool 20 times one after the other",
    20 * RECORDS_TEXT,
    "for (let n = 0; n < 20; n++) await tools.count(records);",
  ),
  runCase(
    "a run calls a tool 20 times at once",
    20 * RECORDS_TEXT,
    "await Promise.all(Array.from({ length: 20 }, () => tools.hold(records)));",
  ),
  runCase(
    "a run makes 1,152 calls with inputs of 4 KiB that take 90 as values",
    1152 * 4096,
    "const few = records.slice(0, 1364); for (let n = 0; n < 36; n++) await Promise.all(Array.from({ length: 32 }, () => tools.count(few)));",
  ),
  runCase("a run calls a tool that yields its input 20 times", RECORDS_TEXT, "await tools.stream(records);"),
  runCase("a run calls a tool that yields 2,000 texts of 50,000 characters", 0, "await tools.grow();"),
  runCase(
    "a run is suspended by four calls and resumed",
    // Texts, inputs and payloads in both runs; what the result hands over; and the resumed run.
    4 * (4 * RECORDS_TEXT + 3 * RECORDS_VALUE),
    "await Promise.all(Array.from({ length: 4 }, () => tools.ask(records)));",
  ),
];

/** The ledger is the caller's, and exists before. Its inputs have two bytes a unit. */
const REPLAY_CASE: RoomCase = {
  name: "a run of 48 inputs of a million characters is replayed",
  room: ROOM,
  prepare: async () => {
    const host = createHost({ workers: 1 });
    const source =
      'const text = "\\u0100" + "x".repeat(1e6); for (let n = 0; n < 48; n++) await tools.take(text); return 48';
    const take: ToolSet = { take: { execute: () => null } };
    const handle = host.start({ source, tools: take, limits: PATIENT });
    await handle.result;
    const ledger = handle.ledger();
    return async () => {
      const result = await host.replay(ledger).result;
      if (result.status !== "completed") throw new Error(JSON.stringify(result).slice(0, 999));
      await host[Symbol.asyncDispose]();
    };
  },
};

export const CASES: readonly RoomCase[] = [...RUN_CASES, REPLAY_CASE];
