import { expect, test, vi } from "vitest";
import { resolveLimits } from "../contract/limits.ts";
import type { ToolSet } from "../contract/tool.ts";
import { LedgerRecorder } from "../ledger/ledger-recorder.ts";
import { Vault } from "../seal/vault.ts";
import { TERMS } from "../../../../test/taken-run.ts";
import { LATE_SIZE } from "./late-outcomes.ts";
import type { OpenRun, RunKeeping } from "./run-keeping.ts";
import type { RunAtRest } from "./suspended-run.ts";
import { Suspender } from "./suspender.ts";

const REST: RunAtRest = {
  pending: new Map(),
  timers: [],
  executing: new Map([0, 1].map((call) => [call, undefined])),
  abort: () => {},
  resolutions: [],
  snapshot: undefined,
};
const tools: ToolSet = {
  look: { readOnly: true, execute: () => null },
  pay: { execute: () => null },
};

test("a run whose outcomes were forgotten goes on as after the end of its process, and the host is told", async () => {
  const suspender = new Suspender(new Vault({ sealKey: new Uint8Array(32).fill(1) }), undefined, 1000);
  const suspend = async (runId: string): Promise<{ keeping: RunKeeping; open: () => OpenRun }> => {
    const header = {
      runId,
      source: "",
      language: "javascript",
      seed: "",
      clock: 1,
      limits: resolveLimits(),
      toolNames: ["look", "pay"],
      features: {},
    } as const;
    const calls = ["look", "pay"].map((tool) => ({ tool, input: "{}" }));
    const keeping = suspender.keep(new LedgerRecorder(header, { calls, deliveries: [] }), TERMS);
    const suspension = await keeping.suspend(REST);
    if ("code" in suspension) throw new Error(suspension.message);
    const open = (): OpenRun => {
      const token = suspender.openToken(suspension.token, "");
      const opened = "code" in token ? token : suspender.openNow(token, tools);
      if ("code" in opened) throw new Error(opened.message);
      return opened;
    };
    return { keeping, open };
  };
  const first = await suspend("first");
  const second = await suspend("second");
  for (const call of [0, 1]) first.keeping.takeLate({ kind: "output", call, output: "1" });
  second.keeping.takeLate({ kind: "output", call: 1, output: "1".repeat(LATE_SIZE) });
  const tell = vi.fn<typeof TERMS.errors.tell>();
  const terms = { ...TERMS, errors: { ...TERMS.errors, tell } };

  const late = second.open();
  expect(late.past.items).toMatchObject([{ kind: "output", call: 1 }]);
  expect([...late.past.elsewhere.keys()]).toEqual([0]);
  late.take(terms);
  expect(tell).not.toHaveBeenCalled();

  const opened = first.open();
  expect([...opened.past.open.keys()]).toEqual([0]);
  expect(opened.past.items).toMatchObject([
    { kind: "failure", call: 1, failure: { code: "outcome_unknown" } },
  ]);
  expect(tell).not.toHaveBeenCalled();
  opened.take(terms);
  expect(tell.mock.calls.map(([report]) => report)).toMatchObject([
    { callId: "first:0", tool: "look", source: "internal" },
    { callId: "first:1", tool: "pay", source: "internal" },
  ]);
});
