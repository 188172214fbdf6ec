/** Programs that wait for approvals and cannot go on: their hosts hear of it, and what can be mended is not lost. */
import { generateText, type ModelMessage, tool } from "ai";
import type { HostError } from "codecell";
import { createMemoryStore, type Store, StoreError } from "codecell/store";
import {
  type CodeModeLostProgram,
  type CodeModeOptions,
  createCodeModeTool,
  isCodeModeInterrupt,
  runCodeMode,
  setCodeModeContinuationSigningKey,
  setMaxWorkers,
  withCodeModeApprovals,
} from "codecell/ai";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { answers, messagesOf, requestsIn } from "./conversation.ts";
import { type Move, scriptedModel } from "./scripted-model.ts";

const KEY = "the first secret of this test";
const OTHER = "the second secret of this test";

const deleted: string[] = [];
const deleteFile = tool({
  inputSchema: z.object({ path: z.string() }),
  needsApproval: true,
  execute: async ({ path }) => deleted.push(path),
});
const listFiles = tool({ inputSchema: z.object({}), execute: async () => ["a"] });

const DELETE: Move = { call: "code_mode", input: { js: `return await tools.deleteFile({ path: "a" })` } };
const stopWhen = ({ steps }: { steps: readonly unknown[] }): boolean => steps.length === 10;

const lost: CodeModeLostProgram[] = [];
const onLost = (one: CodeModeLostProgram): number => lost.push(one);

function settingsFor(
  moves: readonly Move[],
  tools = { deleteFile, listFiles } as object,
  options: CodeModeOptions = { continuation: { onLost } },
) {
  const scripted = scriptedModel(moves);
  const codeMode = createCodeModeTool(tools as { listFiles: typeof listFiles }, options);
  const settings = withCodeModeApprovals({ model: scripted.model, tools: { code_mode: codeMode }, stopWhen });
  return { scripted, settings };
}

/** A conversation in which a program has asked, and the user has answered. */
async function asked(
  moves: readonly Move[],
  answer: boolean | string,
  options?: CodeModeOptions,
): Promise<ModelMessage[]> {
  const messages: ModelMessage[] = [{ role: "user", content: "Go" }];
  const result = await generateText({ ...settingsFor(moves, undefined, options).settings, messages });
  return [...messages, ...messagesOf(result), answers(requestsIn(result), [answer])];
}

const approved = (): Promise<ModelMessage[]> => asked([DELETE], true);

beforeEach(() => {
  deleted.length = 0;
  lost.length = 0;
  setCodeModeContinuationSigningKey(KEY);
});
afterEach(() => {
  setCodeModeContinuationSigningKey();
  vi.restoreAllMocks();
});

describe("a program whose key is not there any more [suspend:lost]", () => {
  test("is told of to its host once, and warned of once for the whole process", async () => {
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const messages = await approved();
    setCodeModeContinuationSigningKey(OTHER);
    for (let times = 1; times <= 2; times++) {
      const { settings } = settingsFor([{ say: "Done" }]);
      await generateText({ ...settings, messages });
      expect(lost).toHaveLength(times);
    }
    expect(lost[0]).toMatchObject({
      toolName: "code_mode",
      toolCallId: "call-1",
      code: "token_key",
      message: expect.stringContaining("setCodeModeContinuationSigningKey"),
    });
    expect(deleted).toEqual([]);
    expect(warned.mock.calls).toEqual([
      [
        expect.stringContaining("CODECELL_SEAL_KEY"),
        { type: "CodecellWarning", code: "CODECELL_CONTINUATION_KEY" },
      ],
    ]);
    // Its key is back.
    setCodeModeContinuationSigningKey([OTHER, KEY]);
    await generateText({ ...settingsFor([{ say: "Done" }]).settings, messages });
    expect(deleted).toEqual(["a"]);
  });

  test("is not told of again when the user has moved on", async () => {
    const messages = await approved();
    setCodeModeContinuationSigningKey(OTHER);
    const tried = await generateText({ ...settingsFor([{ say: "I could not" }]).settings, messages });
    messages.push(...messagesOf(tried));
    const toldAfter = async (...more: ModelMessage[]): Promise<unknown[]> => {
      lost.length = 0;
      const { settings } = settingsFor([{ say: "Well" }]);
      await generateText({ ...settings, messages: [...messages, ...more] });
      return lost.map(({ code }) => code);
    };
    expect(await toldAfter()).toEqual(["token_key"]);
    expect(await toldAfter({ role: "user", content: "Never mind" })).toEqual([]);
  });

  test("goes on with the conversation if the hook throws", async () => {
    const messages = await approved();
    setCodeModeContinuationSigningKey(OTHER);
    const scripted = scriptedModel([{ say: "Done" }]);
    const throwing = (): never => {
      throw new Error("down");
    };
    const codeMode = createCodeModeTool({ deleteFile }, { continuation: { onLost: throwing } });
    const settings = withCodeModeApprovals({
      model: scripted.model,
      tools: { code_mode: codeMode },
      stopWhen,
    });
    expect((await generateText({ ...settings, messages })).text).toBe("Done");
  });
});

test("a program that was approved too late is told of [suspend:lost]", async () => {
  setCodeModeContinuationSigningKey(KEY, { maxAgeMs: 1000 });
  const messages = await approved();
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 60_000 });
  try {
    await generateText({ ...settingsFor([{ say: "Done" }]).settings, messages });
  } finally {
    vi.useRealTimers();
  }
  expect(lost).toMatchObject([{ toolCallId: "call-1", code: "token_expired" }]);
  expect(deleted).toEqual([]);
});

describe("a program whose tool is not there any more [suspend:tools]", () => {
  test("is refused with the tool's name, and goes on from the same messages when it is back", async () => {
    const messages = await approved();
    const { settings, scripted } = settingsFor([{ say: "Done" }], { listFiles });
    await expect(generateText({ ...settings, messages })).rejects.toMatchObject({
      name: "CodeModeProtocolError",
      message: expect.stringContaining(
        `its call of "deleteFile" waits for a tool that "code_mode" does not have`,
      ),
    });
    expect(scripted.requests).toEqual([]);
    const done = await generateText({ ...settingsFor([{ say: "Done" }]).settings, messages });
    expect([done.text, deleted]).toEqual(["Done", ["a"]]);
  });
});

test("a program that was denied goes on without its tool, which is not called [suspend:tools]", async () => {
  const js = `
    const why = await tools.deleteFile({ path: "a" }).catch(({ name, message }) => name + ": " + message);
    return [why, await tools.listFiles({}), await tools.deleteFile({ path: "b" }).catch((e) => e.message)]`;
  const messages = await asked([{ call: "code_mode", input: { js } }], "Not that one");
  const { settings, scripted } = settingsFor([{ say: "Done" }], { listFiles });
  expect((await generateText({ ...settings, messages })).text).toBe("Done");
  expect(scripted.sent()).toContain(
    'CodeModeToolApprovalDeniedError: Tool \\"deleteFile\\" was not approved: Not that one',
  );
  expect(scripted.sent()).toContain("no such tool");
  expect([deleted, lost]).toEqual([[], []]);
});

describe("a program that its store does not give back is told of [suspend:lost]", () => {
  const fault = new StoreError("unavailable", "db: pw@db is down");

  test("if the store is down", async () => {
    const told: HostError[] = [];
    const memory = createMemoryStore();
    let isDown = false;
    const store = failing(memory, "claim", () => (isDown ? fault : undefined));
    const options = {
      onError: (report: HostError) => void told.push(report),
      continuation: { onLost, store },
    };
    const messages = await asked([DELETE], true, options);
    isDown = true;
    const { settings, scripted } = settingsFor([{ say: "Sorry" }], undefined, options);
    await generateText({ ...settings, messages });
    expect(lost).toMatchObject([{ toolCallId: "call-1", code: "store_failed" }]);
    expect(told).toMatchObject([{ error: fault, source: "store" }]);
    expect(scripted.sent()).not.toContain("pw@db");
    expect(deleted).toEqual([]);
  });

  test("if it is not the store that keeps it", async () => {
    const store = createMemoryStore();
    const messages = await asked([DELETE], true, { continuation: { onLost, store } });
    await generateText({ ...settingsFor([{ say: "Sorry" }]).settings, messages });
    expect(lost).toMatchObject([
      { code: "store_failed", message: expect.stringContaining("continuation.store among them") },
    ]);
    lost.length = 0;
    const other = { continuation: { onLost, store: createMemoryStore() } };
    await generateText({ ...settingsFor([{ say: "Sorry" }], undefined, other).settings, messages });
    expect(lost).toMatchObject([{ code: "run_unknown" }]);
    expect(deleted).toEqual([]);
  });

  test("if too many others are active", async () => {
    const messages = await approved();
    const gate = Promise.withResolvers<string>();
    const wait = tool({ inputSchema: z.object({}), execute: () => gate.promise });
    setMaxWorkers(1);
    try {
      const other = runCodeMode({ js: "return await tools.wait({})", tools: { wait } });
      await generateText({ ...settingsFor([{ say: "Sorry" }]).settings, messages });
      gate.resolve("done");
      await other;
    } finally {
      setMaxWorkers(undefined);
    }
    expect(lost).toMatchObject([{ toolCallId: "call-1", code: "too_many_runs" }]);
  });
});

/** A store one of whose methods may fail. */
function failing(store: Store, method: keyof Store, fault: () => Error | undefined): Store {
  return new Proxy(store, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== "function") return value;
      return async (...given: unknown[]): Promise<unknown> => {
        const error = key === method ? fault() : undefined;
        if (error !== undefined) throw error;
        return (value as (...args: unknown[]) => unknown).apply(target, given);
      };
    },
  });
}

test("an interrupt sealed with another key is ignored until its key is back", async () => {
  const messages = await approved();
  setCodeModeContinuationSigningKey(OTHER);
  const [part] = (messages[2] as { content: { output: { value: unknown } }[] }).content;
  expect(isCodeModeInterrupt(part?.output.value)).toBe(false);
  setCodeModeContinuationSigningKey(KEY);
  expect(isCodeModeInterrupt(part?.output.value)).toBe(true);
});
