/** The contract's README from its interrupts on: each of its blocks runs, and does what it is there for. */
import { type ModelMessage, tool } from "ai";
import * as codeMode from "codecell/ai";
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { blockOf, runBlock } from "./contract/readme.ts";

type Made = codeMode.CodeModeTool;

const OUTER = { toolCallId: "call_1", messages: [] };
const SDK = 'import { tool } from "ai"; import { z } from "zod";';
const CREATE = 'import { createCodeModeTool } from "experimental-ai-sdk-code-mode";';

afterEach(() => codeMode.setCodeModeContinuationSigningKey());

describe("the contract's README on interrupts", () => {
  const fetched: unknown[] = [];
  const fetchWithConnection = async (given: unknown): Promise<object> => {
    fetched.push(given);
    return { id: "item", title: "Title", private: true };
  };

  test("Host Interrupts: paused for OAuth, stored, continued, and replaced in the messages", async () => {
    // The block is one module, in which the host stores and comes back at once.
    const parts = blockOf("Host Interrupts").split("const finalOutput");
    const [start = "", end = ""] = parts;
    const session = { state: {} as { codeMode?: codeMode.CodeModeInterrupt } };
    const messages: ModelMessage[] = [];
    const block = `${start}
      storedInterrupt = JSON.parse(JSON.stringify(session.state.codeMode));
      messages = [{ role: "tool", content: [{ type: "tool-result", toolCallId: "call_1", toolName: "codeMode", output: { type: "json", value: storedInterrupt } }] }];
      const finalOutput${end}`;
    const done = await runBlock(block, {
      imports: SDK,
      free: { fetchWithConnection, messages, session, storedInterrupt: undefined, oauthToken: "token" },
      gives: ["normalized", "finalOutput", "messages", "storedInterrupt"],
    });
    expect(session.state.codeMode).toMatchObject({
      interruptId: "call_1:tool-1:interrupt",
      toolName: "connectionTool",
      toolCallId: "call_1:tool-1",
      outerToolCallId: "call_1",
      input: { connectionId: "conn_1" },
      payload: { kind: "connection-auth", connectionId: "conn_1", scopes: ["read:items"] },
    });
    expect(fetched).toEqual([{ connectionId: "conn_1", token: "token" }]);
    expect(done["finalOutput"]).toEqual({ id: "item", title: "Title" });
    expect(done["messages"]).toMatchObject([
      { content: [{ output: { type: "json", value: { id: "item", title: "Title" } } }] },
    ]);
    expect(codeMode.isCodeModeApprovalInterrupt(done["storedInterrupt"])).toBe(false);
  });

  test("Callback Approval: without a callback the call fails", async () => {
    const deleted: string[] = [];
    const made = await runBlock(blockOf("Callback Approval"), {
      imports: `${SDK} ${CREATE}`,
      free: { deleteFile: async (path: string) => deleted.push(path) },
      gives: ["codeMode"],
    });
    const failure = (made["codeMode"] as Made).execute(
      { js: 'await tools.deleteFile({ path: "a" })' },
      OUTER,
    );
    await expect(failure).rejects.toThrow(codeMode.CodeModeToolApprovalRequiredError);
    expect(deleted).toEqual([]);
  });

  test("Callback Approval: the callback decides before the call", async () => {
    const asked: unknown[] = [];
    const deleted: string[] = [];
    const tools = {
      deleteFile: tool({
        inputSchema: z.object({ path: z.string() }),
        needsApproval: true,
        execute: async ({ path }) => deleted.push(path),
      }),
    };
    const made = await runBlock(blockOf("Callback Approval", 1), {
      imports: CREATE,
      free: {
        tools,
        askUserForApproval: async (request: { input: { path: string } }) => {
          asked.push(request);
          return request.input.path === "yes";
        },
      },
      gives: ["codeMode"],
    });
    const run = async (path: string): Promise<unknown> =>
      (made["codeMode"] as Made).execute({ js: `return await tools.deleteFile({ path: "${path}" })` }, OUTER);
    expect(await run("yes")).toBe(1);
    await expect(run("no")).rejects.toMatchObject({
      name: "CodeModeToolApprovalDeniedError",
      message: expect.stringContaining("User denied") as string,
    });
    expect(deleted).toEqual(["yes"]);
    expect(asked[0]).toEqual({ toolName: "deleteFile", input: { path: "yes" }, toolCallId: "call_1:tool-1" });
  });

  test.each([true, false])("AI SDK Approval Flow: interrupted, answered %s, continued", async (approved) => {
    const done: string[] = [];
    const file = (name: string, needsApproval: boolean): object =>
      tool({
        inputSchema: z.object({ path: z.string() }),
        needsApproval,
        execute: async ({ path }) => {
          done.push(`${name} ${path}`);
          return `${name} ${path}`;
        },
      });
    const tools = { readFile: file("read", false), deleteFile: file("delete", true) };
    const flow = await runBlock(blockOf("AI SDK Approval Flow", 1), {
      free: { tools },
      gives: ["result", "messages", "pendingApprovals", "continueAfterApproval"],
    });
    const approvalId = "call_1:tool-2:interrupt";
    expect(codeMode.isCodeModeApprovalInterrupt(flow["result"])).toBe(true);
    expect(flow["result"]).toMatchObject({
      interruptId: approvalId,
      payload: { kind: "ai-sdk-code-mode/tool-approval" },
    });
    const messages = flow["messages"] as ModelMessage[];
    expect(messages).toEqual([
      {
        role: "assistant",
        content: [
          {
            type: "tool-call",
            toolCallId: "call_1:tool-2",
            toolName: "deleteFile",
            input: { path: "notes.md" },
          },
          { type: "tool-approval-request", approvalId, toolCallId: "call_1:tool-2" },
        ],
      },
    ]);
    const go = flow["continueAfterApproval"] as (id: string) => Promise<unknown>;
    await expect(go("other")).rejects.toThrow("Unknown approval");
    await expect(go(approvalId)).rejects.toThrow("still pending");
    messages.push({ role: "tool", content: [{ type: "tool-approval-response", approvalId, approved }] });
    if (approved) expect(await go(approvalId)).toEqual({ deleted: true, file: "read notes.md" });
    else await expect(go(approvalId)).rejects.toThrow(codeMode.CodeModeToolApprovalDeniedError);
    expect(done).toEqual(["read notes.md", ...(approved ? ["delete notes.md"] : [])]);
  });

  test("AI SDK Approval Flow: the mode alone", async () => {
    const ask = tool({ inputSchema: z.object({}), needsApproval: true, execute: async () => 1 });
    const made = await runBlock(blockOf("AI SDK Approval Flow"), {
      imports: CREATE,
      free: { tools: { ask } },
      gives: ["codeMode"],
    });
    const output = await (made["codeMode"] as Made).execute({ js: "return await tools.ask({})" }, OUTER);
    expect(codeMode.isCodeModeApprovalInterrupt(output)).toBe(true);
  });

  test("Continuation Replay: a stable secret from the environment", async () => {
    const ask = tool({ inputSchema: z.object({}), needsApproval: true, execute: async () => "asked" });
    const options = { approval: { mode: "interrupt" } } as const;
    process.env["CODE_MODE_CONTINUATION_KEY"] = "a secret of many bytes, from somewhere safe";
    try {
      await runBlock(blockOf("Continuation Replay"));
      const interrupt = (await codeMode.runCodeMode({
        js: "return await tools.ask({})",
        tools: { ask },
        options,
      })) as codeMode.CodeModeApprovalInterrupt;
      // As another process that is given the same secret; and one that is not.
      codeMode.setCodeModeContinuationSigningKey("another secret of many bytes");
      expect(codeMode.isCodeModeInterrupt(interrupt)).toBe(false);
      await runBlock(blockOf("Continuation Replay"));
      const approvalResponse = { approvalId: interrupt.interruptId, approved: true };
      const output = codeMode.continueCodeModeApproval({ interrupt, approvalResponse, tools: { ask } });
      expect(await output).toBe("asked");
    } finally {
      delete process.env["CODE_MODE_CONTINUATION_KEY"];
    }
  });

  test("Errors: each class is there, an Error, with a code", () => {
    const names = blockOf("Errors").trim().split("\n");
    expect(names).toHaveLength(12);
    for (const name of names) {
      const Class = (codeMode as unknown as Record<string, new (...args: unknown[]) => Error>)[name];
      const error = new (Class ?? Object)("first", "second") as Error & { code?: unknown };
      expect(error, name).toBeInstanceOf(codeMode.CodeModeError);
      expect(error, name).toBeInstanceOf(Error);
      expect(error.name).toBe(name);
      expect(error.code, name).toMatch(name === "CodeModeError" ? /^second$/u : /^CODE_MODE_[A-Z_]+$/u);
    }
  });
});

describe("the contract's sentences on interrupts", () => {
  const ask = tool({
    inputSchema: z.object({ id: z.number() }),
    needsApproval: true,
    execute: async ({ id }) => id,
  });
  const INTERRUPT = { approval: { mode: "interrupt" } } as const;

  test("an interrupt is not wrapped for the model, a summary is of its own execution or empty", async () => {
    const modelOutput = { includeNestedToolSummary: true };
    const made = codeMode.createCodeModeTool({ ask }, { ...INTERRUPT, modelOutput });
    const shownOf = async (input: { js: string }, given: { js: string }): Promise<unknown> => {
      const output = await made.execute(input, OUTER);
      return made.toModelOutput?.({ toolCallId: "call_1", input: given, output });
    };
    const asking = { js: "console.log('asking'); return await tools.ask({ id: 1 })" };
    const shown = (await shownOf(asking, asking)) as { value: unknown };
    expect(codeMode.getCodeModeApprovalInterrupt(shown)).toMatchObject({ toolName: "ask" });
    expect(codeMode.isCodeModeInterrupt(shown.value)).toBe(true);
    const failing = { js: "await tools.nope({}).catch(() => {}); return 1" };
    expect(await shownOf(failing, failing)).toMatchObject({ value: { nestedTools: [{ toolName: "nope" }] } });
    // Another object, as after a detour through JSON: nothing is told rather than what another execution did.
    expect(await shownOf(failing, { ...failing })).toEqual({
      type: "json",
      value: { result: 1, nestedTools: [] },
    });
  });

  test("malformed responses are rejected before anything is replayed, and use nothing up", async () => {
    const tools = { ask };
    const js = "return await tools.ask({ id: 1 })";
    const interrupt = (await codeMode.runCodeMode({
      js,
      tools,
      options: INTERRUPT,
      toolExecutionOptions: OUTER,
    })) as codeMode.CodeModeApprovalInterrupt;
    const approvalId = interrupt.interruptId;
    const malformed = [
      null,
      "yes",
      {},
      { approvalId },
      { approvalId, approved: "true" },
      { approvalId, approved: 1 },
    ];
    for (const approvalResponse of [...malformed, { approvalId, approved: true, reason: 5 }] as never[]) {
      await expect(codeMode.continueCodeModeApproval({ interrupt, approvalResponse, tools })).rejects.toThrow(
        codeMode.CodeModeProtocolError,
      );
      const resolution = approvalResponse;
      await expect(codeMode.continueCodeModeInterrupt({ interrupt, resolution, tools })).rejects.toThrow(
        codeMode.CodeModeProtocolError,
      );
    }
    const approvalResponse = { approvalId, approved: true };
    const lists = [
      null,
      {},
      [null],
      [approvalResponse, { approvalId, approved: false }],
      [approvalResponse, "yes"],
    ];
    for (const approvalResponses of lists as never[]) {
      await expect(
        codeMode.continueCodeModeApprovals({ interrupt, approvalResponses, tools }),
      ).rejects.toThrow(codeMode.CodeModeProtocolError);
    }
    expect(await codeMode.continueCodeModeApproval({ interrupt, approvalResponse, tools })).toBe(1);
  });

  test("a program that returns what looks like an interrupt is a program that returned a value", async () => {
    const { continuation, ...told } = (await codeMode.runCodeMode({
      js: "return await tools.ask({ id: 1 })",
      tools: { ask },
      options: INTERRUPT,
    })) as codeMode.CodeModeInterrupt;
    const js = `return ${JSON.stringify({ ...told, continuation: { ...continuation, seal: "x" } })}`;
    const output = await codeMode.runCodeMode({ js, tools: { ask } });
    expect(codeMode.unwrapCodeModeResult(output).status).toBe("completed");
    expect(codeMode.isCodeModeInterrupt(output)).toBe(false);
    const interrupt = output as codeMode.CodeModeInterrupt;
    const resumed = codeMode.continueCodeModeInterrupt({
      interrupt,
      resolution: { approved: true },
      tools: { ask },
    });
    await expect(resumed).rejects.toThrow(codeMode.CodeModeProtocolError);
  });

  test("randomness of every kind, and clocks, are the same when a program is replayed", async () => {
    const echoed: unknown[] = [];
    const echo = tool({
      inputSchema: z.object({ seen: z.array(z.unknown()) }),
      execute: async (input) => {
        echoed.push(input.seen);
        return input;
      },
    });
    const js = `const seen = () => [Math.random(), crypto.randomUUID(), performance.now(), Date.now(), new Date().getTime()];
      const first = seen(); await tools.echo({ seen: first }); const second = seen();
      await tools.ask({ id: 1 }); await tools.echo({ seen: [...first, ...second] }); return second[3] >= first[3]`;
    const interrupt = (await codeMode.runCodeMode({
      js,
      tools: { ask, echo },
      options: INTERRUPT,
    })) as codeMode.CodeModeApprovalInterrupt;
    const approvalResponse = { approvalId: interrupt.interruptId, approved: true };
    const resumed = codeMode.continueCodeModeApproval({ interrupt, approvalResponse, tools: { ask, echo } });
    expect(await resumed).toBe(true);
    expect(echoed).toHaveLength(2);
    expect((echoed[1] as unknown[]).slice(0, 5)).toEqual(echoed[0]);
  });
});
