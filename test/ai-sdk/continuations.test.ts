/** Continuations: what of them can be changed, kept, shared and used again, and what cannot. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { tool } from "ai";
import { createMemoryStore, type Store } from "codecell/store";
import * as codeMode from "codecell/ai";
import {
  type CodeModeApprovalInterrupt,
  type CodeModeInterrupt,
  type CodeModeOptions,
  continueCodeModeInterrupt,
  continueCodeModeInterrupts,
  getPendingCodeModeInterrupts,
  isCodeModeInterrupt,
  requestCodeModeInterrupt,
  runCodeMode,
  setCodeModeContinuationSigningKey,
} from "codecell/ai";
import { openSqliteStore } from "codecell/store/sqlite";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";

const KEY = "the first secret of this test";
const OTHER = "the second secret of this test";

afterEach(() => vi.useRealTimers());

/** For one test: every key has a host of its own, which takes its time to start. */
function setKey(...given: Parameters<typeof setCodeModeContinuationSigningKey>): void {
  setCodeModeContinuationSigningKey(...given);
  onTestFinished(() => setCodeModeContinuationSigningKey());
}

const executed: unknown[] = [];
const tools = {
  ask: tool({
    inputSchema: z.object({ id: z.number() }),
    execute: async ({ id }, options) => {
      const { codeModeInterrupt } = options as codeMode.CodeModeToolExecutionOptions;
      if (codeModeInterrupt === undefined) requestCodeModeInterrupt({ kind: "question", id });
      executed.push(id);
      return { id, answer: String(codeModeInterrupt.resolution) };
    },
  }),
  read: tool({ inputSchema: z.object({}), execute: async () => ({ secret: "hunter2" }) }),
  remove: tool({
    inputSchema: z.object({ path: z.string().trim() }),
    needsApproval: true,
    execute: async ({ path }) => {
      executed.push(path);
      return path;
    },
  }),
};

const ASK = "return await tools.ask({ id: 1 })";

async function interruptOf(js = ASK, options: CodeModeOptions = {}): Promise<CodeModeInterrupt> {
  const toolExecutionOptions = { toolCallId: "call_1", messages: [] };
  const output = await runCodeMode({ js, tools, options, toolExecutionOptions });
  // As whoever stored it has it.
  return JSON.parse(JSON.stringify(output)) as CodeModeInterrupt;
}

const go = async (
  interrupt: unknown,
  resolution: unknown = "yes",
  options: CodeModeOptions = {},
): Promise<unknown> =>
  continueCodeModeInterrupt({ interrupt: interrupt as CodeModeInterrupt, resolution, tools, options });

const refused = expect.objectContaining({
  name: "CodeModeProtocolError",
  code: "CODE_MODE_PROTOCOL_ERROR",
}) as Error;

type Mutation = readonly [what: string, (interrupt: CodeModeInterrupt) => object];
const inContinuation =
  (change: (continuation: CodeModeInterrupt["continuation"]) => object): Mutation[1] =>
  (interrupt) => ({
    ...interrupt,
    continuation: { ...interrupt.continuation, ...change(interrupt.continuation) },
  });
const inPending = (change: object): Mutation[1] =>
  inContinuation(({ pending }) => ({ pending: pending.map((one) => ({ ...one, ...change })) }));

const MUTATIONS: readonly Mutation[] = [
  ["type", (one) => ({ ...one, type: "code-mode-other" })],
  ["interruptId", (one) => ({ ...one, interruptId: "call_1:tool-2:interrupt" })],
  ["toolName", (one) => ({ ...one, toolName: "remove" })],
  ["toolCallId", (one) => ({ ...one, toolCallId: "call_1:tool-2" })],
  ["outerToolCallId", (one) => ({ ...one, outerToolCallId: "call_2" })],
  ["input", (one) => ({ ...one, input: { id: 2 } })],
  ["payload", (one) => ({ ...one, payload: { ...one.payload, id: 2 } })],
  ["the kind of payload", (one) => ({ ...one, payload: { ...one.payload, kind: "other" } })],
  ["continuation.version", inContinuation(() => ({ version: 1 }))],
  ["continuation.runId", inContinuation(({ runId }) => ({ runId: `${runId}x` }))],
  ["continuation.token", inContinuation(({ token }) => ({ token: `${token.slice(0, -4)}AAAA` }))],
  ["continuation.expiresAtMs", inContinuation(({ expiresAtMs }) => ({ expiresAtMs: expiresAtMs + 1 }))],
  ["continuation.seal", inContinuation(({ seal }) => ({ seal: `${seal.slice(0, -4)}AAAA` }))],
  ["no continuation.seal", inContinuation(() => ({ seal: "" }))],
  ["continuation.pending left out", inContinuation(() => ({ pending: [] }))],
  ["continuation.pending twice", inContinuation(({ pending }) => ({ pending: [...pending, ...pending] }))],
  ["a pending input", inPending({ input: { id: 2 } })],
  ["a pending tool", inPending({ toolName: "remove" })],
  ["a pending payload", inPending({ payload: { kind: "ai-sdk-code-mode/tool-approval" } })],
  [
    "both inputs",
    (one) => ({ ...(inPending({ input: { id: 2 } })(one) as CodeModeInterrupt), input: { id: 2 } }),
  ],
];

describe("continuations", () => {
  test.each(MUTATIONS)("a change of %s is refused, and nothing is executed", async (_what, mutate) => {
    const interrupt = await interruptOf();
    const before = executed.length;
    const changed = mutate(interrupt);
    expect(isCodeModeInterrupt(changed)).toBe(false);
    await expect(go(changed)).rejects.toEqual(refused);
    expect(executed).toHaveLength(before);
    // The refusal has used nothing up.
    expect(await go(interrupt)).toEqual({ id: 1, answer: "yes" });
  });

  test("the seal or the token of another interrupt is refused", async () => {
    const [first, second] = [await interruptOf(), await interruptOf("return await tools.ask({ id: 2 })")];
    const { token, seal } = second.continuation;
    await expect(go(inContinuation(() => ({ token }))(first))).rejects.toEqual(refused);
    await expect(go(inContinuation(() => ({ seal }))(first))).rejects.toEqual(refused);
    await expect(go({ ...first, continuation: second.continuation })).rejects.toEqual(refused);
  });

  test("a database may reorder keys and add fields of its own", async () => {
    const reorder = (value: unknown): unknown => {
      if (typeof value !== "object" || value === null) return value;
      if (Array.isArray(value)) return value.map(reorder);
      return Object.fromEntries(
        Object.entries(value)
          .toReversed()
          .map(([key, part]) => [key, reorder(part)]),
      );
    };
    const kept = { _id: 1, ...(reorder(await interruptOf()) as object) };
    expect(Object.keys(kept)).not.toEqual(Object.keys(await interruptOf()));
    expect(isCodeModeInterrupt(kept)).toBe(true);
    expect(await go(kept)).toEqual({ id: 1, answer: "yes" });
  });

  test("it is opaque: it shows neither the source nor outputs of tools [P16]", async () => {
    const js = "const { secret } = await tools.read({}); await tools.ask({ id: 1 }); return secret";
    const interrupt = await interruptOf(js);
    const text = JSON.stringify(interrupt);
    expect(text).not.toMatch(/hunter2|tools\.read/u);
    for (const part of [interrupt.continuation.token, interrupt.continuation.seal]) {
      expect(Buffer.from(part, "base64url").toString("latin1")).not.toMatch(/hunter2|tools\.read/u);
    }
    expect(await go(interrupt)).toBe("hunter2");
  });

  test("it expires after an hour, and stays an interrupt [P15]", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const [early, late] = [await interruptOf(), await interruptOf()];
    expect(early.continuation.expiresAtMs).toBe(Date.now() + 3_600_000);
    vi.setSystemTime(Date.now() + 3_599_000);
    expect(await go(early)).toEqual({ id: 1, answer: "yes" });
    vi.setSystemTime(Date.now() + 2000);
    expect(isCodeModeInterrupt(late)).toBe(true);
    expect(codeMode.unwrapCodeModeResult(late).status).toBe("interrupted");
    await expect(go(late)).rejects.toEqual(refused);
  });

  test("it expires at the time that was asked for", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    setKey(KEY, { maxAgeMs: 60_000 });
    const interrupt = await interruptOf();
    expect(interrupt.continuation.expiresAtMs).toBe(Date.now() + 60_000);
    vi.setSystemTime(Date.now() + 60_001);
    await expect(go(interrupt)).rejects.toEqual(refused);
  });

  test("another key opens nothing; a list of keys opens what the old one sealed", async () => {
    setKey(KEY);
    const [first, second] = [await interruptOf(), await interruptOf()];
    setKey(OTHER);
    await expect(go(first)).rejects.toThrow(/a key this process does not have/u);
    setKey([OTHER, KEY]);
    expect(await go(first)).toEqual({ id: 1, answer: "yes" });
    const renewed = await interruptOf();
    setKey(OTHER);
    expect(await go(renewed)).toEqual({ id: 1, answer: "yes" });
    await expect(go(second)).rejects.toEqual(refused);
  });

  test.each([[""], ["x"], [new Uint8Array(15)], [[]], [[KEY, "short"]], [5]])(
    "%o is not a key [P27]",
    (key) => {
      expect(() => setCodeModeContinuationSigningKey(key as never)).toThrow(/^Cannot set the signing key/u);
    },
  );

  test.each([0, -1, 1.5, Number.NaN])("an age of %d is refused", (maxAgeMs) => {
    expect(() => setCodeModeContinuationSigningKey(KEY, { maxAgeMs })).toThrow(/^Cannot set maxAgeMs/u);
  });

  test("it belongs to its scope", async () => {
    const scoped = (scope: string): CodeModeOptions => ({ continuation: { scope } });
    const interrupt = await interruptOf(ASK, scoped("tenant a"));
    await expect(go(interrupt, "yes", scoped("tenant b"))).rejects.toEqual(refused);
    await expect(go(interrupt)).rejects.toEqual(refused);
    expect(await go(interrupt, "yes", scoped("tenant a"))).toEqual({ id: 1, answer: "yes" });
  });

  test("it can be used once, by whoever comes first; a denial is final [P11]", async () => {
    const options = { approval: { mode: "interrupt" } } as const;
    const js = "return await tools.remove({ path: '  /a  ' })";
    const interrupt = (await interruptOf(js, options)) as CodeModeApprovalInterrupt;
    // What is approved is what is executed [P17].
    expect(interrupt.input).toEqual({ path: "/a" });
    const before = executed.length;
    const respond = async (approved: boolean): Promise<unknown> =>
      codeMode.continueCodeModeApproval({
        interrupt,
        approvalResponse: { approvalId: interrupt.interruptId, approved },
        tools,
      });
    await expect(respond(false)).rejects.toThrow(codeMode.CodeModeToolApprovalDeniedError);
    await expect(respond(true)).rejects.toEqual(refused);
    expect(executed).toHaveLength(before);
    const raced = await interruptOf();
    const ends = await Promise.allSettled([go(raced), go(raced), go(raced)]);
    expect(ends.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected", "rejected"]);
  });

  test("limits go with it: whoever continues need not know them [P12]", async () => {
    const js = "await tools.ask({ id: 1 }); return (await tools.read({ pad: 'x'.repeat(2000) })).secret";
    const interrupt = await interruptOf(js, { executionPolicy: { maxToolInputBytes: 1000 } });
    await expect(go(interrupt)).rejects.toThrow(/1000/u);
  });

  test("another source, and a resolution without a continuation, are refused", async () => {
    const { continuation, interruptId } = await interruptOf();
    const interruptResolution = { interruptId, resolution: 1 };
    await expect(runCodeMode({ js: "return 1", tools, continuation, interruptResolution })).rejects.toEqual(
      refused,
    );
    await expect(runCodeMode({ js: ASK, tools, interruptResolution })).rejects.toEqual(refused);
    expect(await runCodeMode({ js: ASK, tools, continuation, interruptResolution })).toEqual({
      id: 1,
      answer: "1",
    });
  });

  test("a resolution that is not JSON reaches the tool unchanged", async () => {
    const given: unknown[] = [];
    const take = tool({
      inputSchema: z.object({}),
      execute: async (_input, options) => {
        const { codeModeInterrupt } = options as codeMode.CodeModeToolExecutionOptions;
        if (codeModeInterrupt === undefined) requestCodeModeInterrupt({ kind: "client" });
        given.push(codeModeInterrupt.resolution);
        return "taken";
      },
    });
    const client = { call: () => "called", large: 10n };
    const interrupt = (await runCodeMode({
      js: "return await tools.take({})",
      tools: { take },
    })) as CodeModeInterrupt;
    expect(await continueCodeModeInterrupt({ interrupt, resolution: client, tools: { take } })).toBe("taken");
    expect(given[0]).toBe(client);
  });

  test.each([undefined, null, "text", {}, { type: "code-mode-interrupt" }, { continuation: 5 }, []])(
    "%o in place of an interrupt is refused clearly",
    async (given) => {
      const interrupt = given as never;
      const approvalResponse = { approvalId: "a", approved: true };
      expect(isCodeModeInterrupt(given)).toBe(false);
      expect(() => getPendingCodeModeInterrupts(interrupt)).toThrow(codeMode.CodeModeProtocolError);
      const endings = await Promise.allSettled([
        go(interrupt),
        continueCodeModeInterrupts({ interrupt, resolutions: {}, tools }),
        codeMode.continueCodeModeApproval({ interrupt, approvalResponse, tools }),
        codeMode.continueCodeModeApprovals({ interrupt, approvalResponses: [approvalResponse], tools }),
      ]);
      for (const ending of endings) expect(ending).toEqual({ status: "rejected", reason: refused });
    },
  );

  test("an interrupt that is not JSON, missing tools and missing resolutions are refused and use nothing up", async () => {
    const interrupt = await interruptOf();
    const cyclic: Record<string, unknown> = {};
    cyclic["self"] = cyclic;
    for (const input of [cyclic, 1n]) {
      expect(isCodeModeInterrupt({ ...interrupt, input })).toBe(false);
      await expect(go({ ...interrupt, input })).rejects.toEqual(refused);
    }
    const none = continueCodeModeInterrupt({ interrupt, resolution: 1, tools: undefined as never });
    await expect(none).rejects.toThrow(/tools must be/u);
    const nothing = continueCodeModeInterrupts({ interrupt, resolutions: null as never, tools });
    await expect(nothing).rejects.toEqual(refused);
    expect(await go(interrupt)).toEqual({ id: 1, answer: "yes" });
  });

  test("time and randomness are the same after it as before", async () => {
    const js = `const seen = () => [Date.now(), new Date().getTime(), Math.random()];
      const before = seen(); await tools.ask({ id: 1 }); const after = seen();
      await tools.ask({ id: 2 }); return { before, after, clocks: after[0] >= before[0] }`;
    const first = await interruptOf(js);
    const second = (await go(first)) as CodeModeInterrupt;
    const { before, after, clocks } = (await go(second)) as {
      before: number[];
      after: number[];
      clocks: boolean;
    };
    expect(clocks).toBe(true);
    expect(before[0]).toBe(before[1]);
    expect(before[2]).not.toBe(after[2]);
  });
});

describe("batches", () => {
  const THREE = "return await Promise.all([1, 2, 3].map((id) => tools.ask({ id })))";
  const id = (call: number): string => `call_1:tool-${call}:interrupt`;

  test.each([[[[1, 2, 3]]], [[[3], [1], [2]]], [[[2, 3], [1]]], [[[1], [3, 2]]]])(
    "calls that wait together are resolved as %j",
    async (steps) => {
      let at: unknown = await interruptOf(THREE);
      const pending = getPendingCodeModeInterrupts(at as CodeModeInterrupt);
      expect(pending.map(({ interruptId }) => interruptId)).toEqual([id(1), id(2), id(3)]);
      expect(pending.every(isCodeModeInterrupt)).toBe(true);
      for (const step of steps) {
        const resolutions = Object.fromEntries(step.map((call) => [id(call), `r${call}`]));
        at = await continueCodeModeInterrupts({ interrupt: at as CodeModeInterrupt, resolutions, tools });
      }
      expect(at).toEqual([1, 2, 3].map((call) => ({ id: call, answer: `r${call}` })));
    },
  );

  test("any interrupt of a batch can be continued", async () => {
    const [, , third] = getPendingCodeModeInterrupts(await interruptOf(THREE));
    const left = (await go(third, "third")) as CodeModeInterrupt;
    expect(left.continuation.pending.map(({ interruptId }) => interruptId)).toEqual([id(1), id(2)]);
  });

  test("an id that does not wait is refused, and nothing is used up", async () => {
    const interrupt = await interruptOf(THREE);
    const wrong = continueCodeModeInterrupts({ interrupt, resolutions: { [id(9)]: 1 }, tools });
    await expect(wrong).rejects.toThrow(/no call waits under this id/u);
    expect(isCodeModeInterrupt(await go(interrupt))).toBe(true);
  });
});

describe.each(["memory", "sqlite"])("continuations in a store: %s", (kind) => {
  test("are small references, used at most once", async () => {
    const folder = mkdtempSync(`${tmpdir()}/codecell-ai-`);
    const store: Store =
      kind === "memory" ? createMemoryStore() : await openSqliteStore({ path: `${folder}/runs.sqlite` });
    setKey(KEY);
    try {
      const options: CodeModeOptions = { continuation: { store } };
      const js = `const kept = Array.from({ length: 2000 }, (_, i) => "row " + Math.random() + i);
        await tools.ask({ id: 1 }); return kept.length`;
      const [inStore, alone] = [await interruptOf(js, options), await interruptOf(js)];
      expect(JSON.stringify(inStore).length).toBeLessThan(2000);
      expect(inStore.continuation.token.length).toBeLessThan(alone.continuation.token.length);
      await expect(go(inStore)).rejects.toEqual(refused);
      const ends = await Promise.allSettled([go(inStore, "yes", options), go(inStore, "yes", options)]);
      expect(ends.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
      await expect(go(inStore, "yes", options)).rejects.toEqual(refused);
    } finally {
      await store[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
