/** Programs of code mode get the room beyond their run's own memory, as other runs do. */
import { jsonSchema, tool } from "ai";
import { createCodeModeTool, runCodeMode } from "codecell/ai";
import type { RoomCase } from "./heap-room.ts";
import { LONG_TEXT, LONG_TEXT_OWN, PATIENCE_MS, RECORDS, RECORDS_TEXT, ROOM } from "./memory-parts.ts";

/** With and without a hook that hears of calls. */
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
  { how: "one after the other", program: "for (let n = 0; n < 22; n++) await echo();" },
  { how: "at once", program: "await Promise.all(Array.from({ length: 22 }, echo));" },
].map(({ how, program }) => ({
  name: `a program of code mode calls a tool 22 times ${how} that gives its input back, and a hook never settles`,
  room: ROOM + 22 * 2 * RECORDS_TEXT,
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
  name: `a program of code mode calls a tool 14 times that gives its input back, and the model is shown ${shown}`,
  room: ROOM + 14 * 2 * RECORDS_TEXT,
  prepare: () => {
    const echo = tool({
      inputSchema: jsonSchema<object>({ type: "array" }),
      execute: (input) => input,
      toModelOutput: ({ output }) => ({ type: "json", value: output as never }),
    });
    const made = createCodeModeTool({ echo }, { modelOutput, executionPolicy: { timeoutMs: PATIENCE_MS } });
    const input = { js: `${RECORDS} for (let n = 0; n < 14; n++) await tools.echo(records);` };
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
  name: "a program of code mode calls a tool 24 times that needs an approval, and a hook gets the trace",
  room: ROOM + 24 * RECORDS_TEXT,
  prepare: () => {
    const pay = tool({
      inputSchema: jsonSchema<object>({ type: "array" }),
      needsApproval: true,
      execute: () => 1,
    });
    return () =>
      runCodeMode({
        js: `${RECORDS} for (let n = 0; n < 24; n++) await tools.pay(records).catch(() => 0);`,
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
];
