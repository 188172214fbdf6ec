import { describe, expect, test } from "vitest";
import type { CodeModeInterrupt } from "../interrupt.ts";
import { isReceiptFor, issueReceipt, type WaitingCall } from "./receipt.ts";

const CALL = {
  interruptId: "1:tool-1:interrupt",
  toolName: "remove",
  toolCallId: "1:tool-1",
  input: { path: "a", force: true },
  payload: { kind: "k" },
};

function waiting(call: Partial<typeof CALL> = {}, token = "token"): WaitingCall {
  const pending = { ...CALL, ...call };
  const continuation = {
    version: 2,
    runId: "r",
    token,
    expiresAtMs: 1,
    pending: [pending],
    seal: "",
  } as const;
  const interrupt = {
    type: "code-mode-interrupt",
    ...pending,
    outerToolCallId: "1",
    continuation,
  } as unknown as CodeModeInterrupt;
  return { interrupt, call: pending };
}

describe("a receipt", () => {
  test("is issued for the call that waits, however its keys are ordered, and proves that call", async () => {
    const receipt = await issueReceipt(waiting(), "remove", { force: true, path: "a" });
    expect(receipt).toMatchObject({ type: "code-mode-approved", toolName: "remove" });
    expect(await isReceiptFor(receipt, waiting())).toBe(true);
    expect(await isReceiptFor(structuredClone(receipt), waiting())).toBe(true);
  });

  test.each([
    ["another tool", "read", CALL.input],
    ["another input", "remove", { path: "b", force: true }],
    ["less input", "remove", { path: "a" }],
    ["no input", "remove", undefined],
  ])("is not issued for %s", async (_what, toolName, input) => {
    await expect(issueReceipt(waiting(), toolName, input)).rejects.toThrow(
      "what was approved is not the call that waits",
    );
  });

  test.each([
    ["another pause", waiting({ interruptId: "1:tool-2:interrupt" })],
    ["another tool", waiting({ toolName: "read" })],
    ["another input", waiting({ input: { path: "b", force: true } })],
    ["another suspension", waiting({}, "later")],
  ])("proves nothing for %s", async (_what, other) => {
    const receipt = await issueReceipt(waiting(), "remove", CALL.input);
    expect(await isReceiptFor(receipt, other)).toBe(false);
  });

  test.each([undefined, null, "code-mode-approved", {}, { type: "code-mode-approved" }])(
    "%j is refused",
    async (value) => {
      expect(await isReceiptFor(value, waiting())).toBe(false);
    },
  );
});
