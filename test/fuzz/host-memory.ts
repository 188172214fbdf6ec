/**
 * HostMemory: cases that have 64 MB of room beyond the run's own memory.
 *
 * - A surface gets this room for all it does and gives. Its input exists before: the run's own text, or what another
 *   surface made from it.
 * - A run gets this room beyond its own memory: the texts of its ledger, which `ledgerSize` bounds, and what a
 *   suspended result hands over, which `suspensionBytes` bounds (the input and payload of each pending call, as
 *   values).
 */
import { setTimeout } from "node:timers/promises";
import { jsonSchema, tool } from "ai";
import { createHost, type ToolSet } from "codecell";
import { createCodeModeTool, runCodeMode } from "codecell/ai";
import { LedgerRecorder } from "../../packages/codecell/src/ledger/ledger-recorder.ts";
import { OpenToken, Tokens } from "../../packages/codecell/src/durable/token.ts";
import { Vault } from "../../packages/codecell/src/seal/vault.ts";
import { CALL_SURFACES } from "./call-surfaces.ts";
import type { RoomCase } from "./heap-room.ts";
import { nastyText, noise, unknownWords } from "./nasty-texts.ts";
import { KINDS, nastyJson } from "./nasty-values.ts";
import { Random } from "./random.ts";
import { schemaValues } from "./schema-values.ts";
import { LIMITS, REST, type Surface } from "./surface-parts.ts";
import { SURFACES } from "./surfaces.ts";
import { TRAJECTORY_SURFACES } from "./trajectory-surfaces.ts";

const MB = 1_000_000;
const ROOM = 64 * MB;
const MiB = 1024 * 1024;
/**
 * The kind that takes most while it is printed, and the kind that takes most as a value, which surfaces of calls
 * keep.
 */
const PRINTED = "empty texts";
const KEPT = "many fields";
/** The kind that takes most for the length of its text, of the values that a trajectory keeps. */
const DENSE = "small lists";

function kindsFor(surface: Surface): readonly string[] {
  // Filling a trajectory with many fields takes long, so only the first of its surfaces gets them.
  if (surface === TRAJECTORY_SURFACES[0]) return [KEPT, DENSE];
  if (TRAJECTORY_SURFACES.includes(surface)) return [DENSE];
  return CALL_SURFACES.includes(surface) ? [PRINTED, KEPT] : [PRINTED];
}

function surfaceCases(surface: Surface): RoomCase[] {
  const { name, given, most, prepare, own = 0 } = surface;
  const room = ROOM + own;
  if (given === "json") {
    return kindsFor(surface).map((kind) => ({
      name: `${name}, ${kind}`,
      room,
      prepare: async () => orRefused(await prepare(nastyJson(new Random(1), most, kind))),
    }));
  }
  const make = (): string => (given === "words" ? unknownWords : nastyText)(new Random(most), most);
  const lines = (): string =>
    make()
      .slice(0, most / 2)
      .replaceAll(/[^]{17}/gu, "$&\n");
  return [
    { name, room, prepare: async () => orRefused(await prepare(given === "lines" ? lines() : make())) },
  ];
}

/** Random schemas with a value of the most fields. */
const SCHEMA_CASES: readonly RoomCase[] = [0, 1, 2, 3, 4].map((at) => {
  const { title, prepare } = schemaValues.caseOf(KINDS.indexOf(KEPT) + at * KINDS.length);
  return { name: title, room: ROOM, prepare: async () => orRefused(await prepare()) };
});

/** Work may refuse its input. */
function orRefused(work: () => unknown): () => Promise<unknown> {
  return async () => {
    try {
      return await work();
    } catch (error) {
      // An error in the work itself is no refusal.
      if (error instanceof TypeError || error instanceof ReferenceError) throw error;
      return error;
    }
  };
}

/** A ledger as large as a suspended run may be, in inputs or in outputs. */
function fullRecorder(where: "inputs" | "outputs"): LedgerRecorder {
  const texts = Array.from({ length: 15 }, (_, at) => JSON.stringify(noise(at, MiB - 8)));
  return new LedgerRecorder(
    {
      runId: "r",
      source: "",
      language: "javascript",
      seed: "",
      clock: 0,
      limits: LIMITS,
      toolNames: [],
      features: {},
    },
    {
      calls: texts.map((text) => ({ tool: "t", input: where === "inputs" ? text : "0" })),
      deliveries:
        where === "inputs"
          ? []
          : texts.map((output, call) => ({ clock: 1, items: [{ kind: "output", call, output }] })),
    },
  );
}

const tokens = new Tokens(new Vault({ sealKey: new Uint8Array(32).fill(7), encrypt: true }));

/** The token; throws if none was issued. */
function issued(given: Awaited<ReturnType<Tokens["issue"]>>): string {
  if ("code" in given) throw new Error(given.message);
  return given.token;
}

async function fullToken(where: "inputs" | "outputs"): Promise<string> {
  return issued(await tokens.issue(fullRecorder(where), "", "e", REST));
}

/** Two bytes a character, for the texts of the ledger. */
const FULL_OWN = 2 * 15 * MiB;

const TOKEN_CASES: readonly RoomCase[] = (["inputs", "outputs"] as const).flatMap((where) => [
  {
    name: `a token is made of 15 MiB of ${where}`,
    room: ROOM,
    prepare: () => {
      const recorder = fullRecorder(where);
      return async () => issued(await tokens.issue(recorder, "", "e", REST));
    },
  },
  {
    name: `a token of 15 MiB of ${where} is opened`,
    room: ROOM + FULL_OWN,
    prepare: async () => {
      const token = await fullToken(where);
      return async () => {
        const opened = tokens.open(token, "");
        if (!(opened instanceof OpenToken)) throw new Error(opened.message);
        const run = await opened.unpack();
        if (run === undefined) throw new Error("The token could not be unpacked");
        return run;
      };
    },
  },
]);

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

/** Collecting takes long where there is hardly any room, and longer on a busy machine. */
const PATIENCE_MS = 600_000;
const PATIENT = { wallTimeMs: PATIENCE_MS, cpuTimeMs: PATIENCE_MS };

/** As many records as an input may have: a text of 200 KB that takes 4 MB as a value. */
const RECORDS = "const records = Array.from({ length: 65000 }, () => ({}));";
const [RECORDS_TEXT, RECORDS_VALUE] = [0.2 * MB, 5 * MB];

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

/** Texts of inputs, two bytes a character. */
const [LONG_TEXT, LONG_TEXT_OWN] = ['const text = "x".repeat(1_000_000) + "必";', 2 * MB];

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
    "a run makes 1,536 calls with inputs of 4 KiB that take 90 as values",
    1536 * 4096,
    "const few = records.slice(0, 1364); for (let n = 0; n < 48; n++) await Promise.all(Array.from({ length: 32 }, () => tools.count(few)));",
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

/** The same through the adapter, with and without a hook that hears of calls. */
const AI_CASES: readonly RoomCase[] = [{}, { lifecycle: { onNestedToolResult: (): void => {} } }].map(
  (options) => ({
    name: `a program of code mode calls a tool 20 times, ${"lifecycle" in options ? "and a hook is told" : "and nobody is told"}`,
    room: ROOM + 20 * RECORDS_TEXT,
    prepare: () => {
      const count = tool({
        inputSchema: jsonSchema<object>({ type: ["object", "array"] }),
        execute: (input) => Object.keys(input).length,
      });
      return () =>
        runCodeMode({
          js: `${RECORDS} let all = 0; for (let n = 0; n < 20; n++) all += await tools.count(records); return all;`,
          tools: { count },
          options: { ...options, executionPolicy: { timeoutMs: PATIENCE_MS } },
        });
    },
  }),
);

/** The hook is told of one call after the other, and waited for. The program could make all calls meanwhile. */
const AI_SLOW_CASES: readonly RoomCase[] = [
  { how: "one after the other", calls: 40, program: "for (let n = 0; n < 40; n++) await echo();" },
  { how: "at once", calls: 20, program: "await Promise.all(Array.from({ length: 20 }, echo));" },
].map(({ how, calls, program }) => ({
  name: `a program of code mode calls a tool ${calls} times ${how} that gives its input back, and a hook never settles`,
  room: ROOM + calls * 2 * RECORDS_TEXT,
  prepare: () => {
    const give = tool({ inputSchema: jsonSchema<object>({ type: "array" }), execute: (input) => input });
    return () =>
      runCodeMode({
        js: `${RECORDS} const echo = () => tools.give(records).then(() => 0); ${program}`,
        tools: { give },
        options: {
          lifecycle: { onNestedToolResult: () => new Promise<void>(() => {}) },
          executionPolicy: { timeoutMs: PATIENCE_MS },
        },
      });
  },
}));

/** What the model is shown of calls lives as long as the input of the tool call. */
const AI_SHOWN_CASES: readonly RoomCase[] = [
  { shown: "a summary", modelOutput: { includeNestedToolSummary: true } },
  { shown: "outputs", modelOutput: { includeNestedToolOutputs: true } },
].map(({ shown, modelOutput }) => ({
  name: `a program of code mode calls a tool 20 times that gives its input back, and the model is shown ${shown}`,
  room: ROOM + 20 * 2 * RECORDS_TEXT,
  prepare: () => {
    const echo = tool({
      inputSchema: jsonSchema<object>({ type: "array" }),
      execute: (input) => input,
      toModelOutput: ({ output }) => ({ type: "json", value: output as never }),
    });
    const made = createCodeModeTool({ echo }, { modelOutput, executionPolicy: { timeoutMs: PATIENCE_MS } });
    const input = { js: `${RECORDS} for (let n = 0; n < 20; n++) await tools.echo(records);` };
    return async () => {
      const output = await made.execute(input, { toolCallId: "call", messages: [] });
      return [input, await made.toModelOutput?.({ toolCallId: "call", input, output })];
    };
  },
}));

/** A tool that repeats its input in its error, with and without hooks that are given the error. */
const AI_ERROR_CASES: readonly RoomCase[] = [
  { told: "nobody is told", lifecycle: {} },
  { told: "hooks are told", lifecycle: { onNestedToolResult: (): void => {}, onTrace: (): void => {} } },
].map(({ told, lifecycle }) => ({
  name: `a program of code mode calls a tool 40 times that throws its input, and ${told}`,
  room: ROOM + 40 * LONG_TEXT_OWN,
  prepare: () => {
    const fail = tool({
      inputSchema: jsonSchema<string>({ type: "string" }),
      execute: (name): string => {
        throw new Error(`no such user: ${name}`);
      },
    });
    return () =>
      runCodeMode({
        js: `${LONG_TEXT} for (let n = 0; n < 40; n++) await tools.fail(text).catch(() => 0);`,
        tools: { fail },
        options: { lifecycle, executionPolicy: { timeoutMs: PATIENCE_MS } },
      });
  },
}));

/** Nobody is there to approve, so each error has the input in its details. */
const AI_APPROVAL_CASE: RoomCase = {
  name: "a program of code mode calls a tool 32 times that needs an approval, and a hook gets the trace",
  room: ROOM + 32 * RECORDS_TEXT,
  prepare: () => {
    const pay = tool({
      inputSchema: jsonSchema<object>({ type: "array" }),
      needsApproval: true,
      execute: () => 1,
    });
    return () =>
      runCodeMode({
        js: `${RECORDS} for (let n = 0; n < 32; n++) await tools.pay(records).catch(() => 0);`,
        tools: { pay },
        options: { lifecycle: { onTrace: () => {} }, executionPolicy: { timeoutMs: PATIENCE_MS } },
      });
  },
};

export const CASES: readonly RoomCase[] = [
  ...AI_CASES,
  ...AI_SHOWN_CASES,
  AI_APPROVAL_CASE,
  ...AI_SLOW_CASES,
  ...AI_ERROR_CASES,
  ...SURFACES.flatMap(surfaceCases),
  ...SCHEMA_CASES,
  ...TOKEN_CASES,
  ...RUN_CASES,
  REPLAY_CASE,
];
