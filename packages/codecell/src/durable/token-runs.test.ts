import { describe, expect, test, vi } from "vitest";
import type { CallOutcome } from "../contract/ledger.ts";
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
  abort: new AbortController(),
  resolutions: [],
  snapshot: undefined,
};
const tools: ToolSet = {
  look: { readOnly: true, execute: () => null },
  pay: { execute: () => null },
};

function newSuspender(): Suspender {
  return new Suspender(new Vault({ sealKey: new Uint8Array(32).fill(1) }), undefined, 1000);
}

type Open = () => OpenRun;

/** Suspends a run, and gives a way to open it. */
async function give(suspender: Suspender, keeping: RunKeeping, rest: RunAtRest): Promise<Open> {
  const suspension = await keeping.suspend(rest);
  if ("code" in suspension) throw new Error(suspension.message);
  return () => {
    const token = suspender.openToken(suspension.token, "");
    const opened = "code" in token ? token : suspender.openNow(token, tools);
    if ("code" in opened) throw new Error(opened.message);
    return opened;
  };
}

/** A run that was suspended while both of its calls execute. */
async function suspend(
  suspender: Suspender,
  runId: string,
  rest = REST,
): Promise<{ readonly keeping: RunKeeping; readonly open: Open }> {
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
  return { keeping, open: await give(suspender, keeping, rest) };
}

/** A run that took these calls up is suspended before they were awaited. */
function untouched({ past: { elsewhere } }: OpenRun): RunAtRest {
  return { ...REST, executing: new Map([...elsewhere].map(([call, { executor }]) => [call, executor])) };
}

const output = (call: number, text = "1"): CallOutcome => ({ kind: "output", call, output: text });

test("a run whose outcomes were forgotten goes on as after the end of its process, and the host is told", async () => {
  const suspender = newSuspender();
  const first = await suspend(suspender, "first");
  const second = await suspend(suspender, "second");
  for (const call of [0, 1]) first.keeping.takeLate(output(call));
  second.keeping.takeLate(output(1, "1".repeat(LATE_SIZE)));
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

describe("a run that took calls up and is suspended before it awaited them", () => {
  test("leaves the outcomes that came meanwhile to the next resume", async () => {
    const suspender = newSuspender();
    const first = await suspend(suspender, "r");
    const second = first.open();
    const keeping = second.take(TERMS);
    first.keeping.takeLate(output(1));
    const open = await give(suspender, keeping, untouched(second));
    first.keeping.takeLate(output(0));
    expect(open().past.items).toMatchObject([output(1), output(0)]);
  });

  test("awaits none whose outcome was forgotten before it took them", async () => {
    const suspender = newSuspender();
    const first = await suspend(suspender, "r");
    const second = first.open();
    expect([...second.past.elsewhere.keys()]).toEqual([0, 1]);
    first.keeping.takeLate(output(0));
    first.keeping.takeLate(output(1, "1".repeat(LATE_SIZE)));
    const open = await give(suspender, second.take(TERMS), untouched(second));
    const third = open();
    expect([...third.past.open.keys()]).toEqual([0]);
    expect(third.past.items).toMatchObject([{ kind: "output", call: 1 }]);
  });
});

test("a run that failed waits for the calls that it took up until they have stopped, and no longer", async () => {
  const suspender = newSuspender();
  const abort = new AbortController();
  const first = await suspend(suspender, "r", { ...REST, abort });
  const keeping = first.open().take(TERMS);
  const outcome = keeping.awaitOutcome(0, "", () => false);
  keeping.giveUpCalls();
  expect(abort.signal.aborted).toBe(true);
  first.keeping.takeLate(output(0));
  expect(await outcome).toEqual(output(0));
});
