/**
 * Tests that a run comes back the same, whether its suspensions were new states, last entries of its journal, or a
 * mixture.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { CallResolution } from "../contract/result.ts";
import type { Asked, Delivery, LedgerCall } from "../contract/ledger.ts";
import { resolveLimits } from "../contract/limits.ts";
import type { ToolSet } from "../contract/tool.ts";
import { createMemoryStore } from "../store/memory.ts";
import { LedgerRecorder } from "../ledger/ledger-recorder.ts";
import type { RunAtRest } from "./suspended-run.ts";
import { Vault } from "../seal/vault.ts";
import type { Journal } from "./journal.ts";
import { takeRun, TERMS } from "../../../../test/taken-run.ts";
import { StoredRuns } from "./stored-runs.ts";
import type { RunKeeping } from "./run-keeping.ts";
import type { RunPast } from "./run-past.ts";

const vault = new Vault({ sealKey: new Uint8Array(32).fill(1) });
const limits = resolveLimits({});
const tools: ToolSet = { repeatable: { readOnly: true, execute: () => 1 } };

type Step =
  | { readonly kind: "report"; readonly calls: readonly string[]; readonly timer?: number }
  | { readonly kind: "dispatch" | "ask" | "deliver" | "post"; readonly which: number }
  | { readonly kind: "suspend"; readonly executing: boolean; readonly resolved: boolean }
  /** The process dies, and another takes the run up. */
  | { readonly kind: "die" };

const which = fc.nat(9);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant("report" as const),
    calls: fc.array(fc.constantFrom("repeatable", "other", "yield_control"), { maxLength: 3 }),
    timer: fc.nat(3),
  }),
  fc.record({ kind: fc.constantFrom("dispatch", "ask", "deliver", "post"), which }),
  fc.record({ kind: fc.constant("suspend" as const), executing: fc.boolean(), resolved: fc.boolean() }),
  fc.constant({ kind: "die" } as const),
);

/** Drives a run as its host would, step by step. */
class Driven {
  readonly #store = createMemoryStore();
  readonly #hasSnapshot: (suspension: number) => boolean;
  #suspensions = 0;
  #runs = new StoredRuns(this.#store, vault, 0);
  #journal: Journal;
  #keeping: RunKeeping;
  #recorder: LedgerRecorder;
  #pending = new Map<number, Asked>();
  #resolutions: (readonly [number, CallResolution])[] = [];
  #timers = new Map<number, number>();

  constructor(hasSnapshot: (suspension: number) => boolean) {
    this.#hasSnapshot = hasSnapshot;
    this.#recorder = new LedgerRecorder({
      runId: "r",
      source: "",
      language: "javascript",
      seed: "ab",
      clock: 1,
      limits,
      toolNames: [],
      features: { yield: true },
    });
    const keeping = this.#runs.keep(this.#recorder, TERMS);
    this.#journal = keeping.journal;
    this.#keeping = keeping;
  }

  async take(): Promise<RunPast> {
    const { past, keeping, journal } = await takeRun(this.#runs, "r", tools);
    this.#journal = journal;
    this.#keeping = keeping;
    this.#recorder = past.recorder;
    this.#pending = new Map(past.pending);
    this.#timers = new Map(past.timers.map(({ timer, delayMs }) => [timer, delayMs ?? 0]));
    return past;
  }

  async go(given: Step): Promise<void> {
    switch (given.kind) {
      case "report": {
        const calls: LedgerCall[] = given.calls.map((tool, index) => ({ tool, input: `"${index}"` }));
        const timers = given.timer === undefined ? [] : [{ timer: given.timer, delayMs: 1_000_000 }];
        for (const { timer, delayMs } of timers) this.#timers.set(timer, delayMs);
        const { seen } = this.#recorder;
        this.#report(calls);
        await this.#journal.write({ kind: "report", at: Date.now(), calls, timers, seen });
        return;
      }
      case "dispatch": {
        const call = this.#open(given.which);
        if (call === undefined) return;
        this.#pending.delete(call);
        await this.#journal.write({ kind: "dispatch", call, resolution: { resolution: given.which } });
        return;
      }
      case "ask": {
        const call = this.#open(given.which);
        if (call === undefined) return;
        this.#pending.set(call, { payload: given.which });
        await this.#journal.write({ kind: "asked", call, payload: given.which });
        return;
      }
      case "deliver": {
        const call = this.#open(given.which);
        // A call that asked is dispatched again first.
        if (call === undefined || this.#pending.has(call)) return;
        const delivery: Delivery = {
          clock: 2,
          items: [{ kind: "output", call, output: `"${given.which}"` }],
        };
        this.#recorder.addDelivery(delivery);
        await this.#journal.write({ kind: "delivery", delivery });
        return;
      }
      case "post": {
        const call = this.#open(given.which);
        if (call === undefined) return;
        this.#keeping.takeLate({ kind: "output", call, output: "7" });
        await this.#posted(call);
        return;
      }
      case "suspend":
        return this.#suspend(given.executing, given.resolved);
      case "die":
        await this.take();
    }
  }

  async #posted(call: number): Promise<void> {
    for (;;) {
      if ((await this.#store.outcomes("r"))?.has(call) === true) return;
      await new Promise(setImmediate);
    }
  }

  /** The cell reports new calls. */
  #report(calls: readonly LedgerCall[]): void {
    const { deliveries, seen } = this.#recorder;
    const { timers, logs, logsDropped, cpuTimeMs } = seen;
    this.#recorder.rewindTo({
      deliveries: deliveries.length,
      calls: this.#recorder.calls.length,
      timers,
      logs,
    });
    const made = { calls, timers: [], logs: [], logsDropped, cpuTimeMs };
    this.#recorder.read({ ...made, cell: 1, end: null, unhandled: null, isOver: false });
  }

  async #suspend(isExecuting: boolean, isResolved: boolean): Promise<void> {
    const others = this.#recorder.calls
      .keys()
      .filter((call) => this.#isOpen(call) && !this.#pending.has(call));
    const [executing, resolved] = [...others];
    this.#resolutions = isResolved && resolved !== undefined ? [[resolved, { resolution: 1 }]] : [];
    const rest: RunAtRest = {
      pending: this.#pending,
      timers: [...this.#timers].map(([timer, delayMs]) => ({ timer, delayMs })),
      executing: new Map(isExecuting && executing !== undefined ? [[executing, "somebody else"]] : []),
      abort: new AbortController(),
      resolutions: this.#resolutions,
      snapshot: this.#hasSnapshot(this.#suspensions++)
        ? { bytes: new Uint8Array(3), progress: this.#recorder.progress }
        : undefined,
    };
    const given = await this.#keeping.suspend(rest);
    if ("code" in given) throw new Error(given.message);
    await this.take();
  }

  #open(index: number): number | undefined {
    const open = [...this.#recorder.calls.keys()].filter((call) => this.#isOpen(call));
    return open[index % Math.max(1, open.length)];
  }

  #isOpen(call: number): boolean {
    return !this.#recorder.isSettled(call) && !this.#recorder.openYields.has(call);
  }
}

test("a run comes back the same, however often it moves, dies and is suspended", async () => {
  let suspended = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 25 }), async (steps) => {
      const whole = new Driven(() => false);
      const others = [new Driven(() => true), new Driven((suspension) => suspension % 2 === 0)];
      for (const one of steps) {
        for (const driven of [whole, ...others]) await driven.go(one);
        if (one.kind === "suspend") suspended++;
      }
      const expected = comparable(await whole.take());
      for (const driven of others) expect(comparable(await driven.take())).toEqual(expected);
    }),
    { numRuns: 300 },
  );
  expect(suspended).toBeGreaterThan(100);
});

/** Without the snapshot, which only one of the runs has, and without times, since timers run on between the two. */
function comparable({ recorder, timers, snapshot: _snapshot, ...past }: RunPast): unknown {
  return {
    ...past,
    ledger: recorder.toLedger(),
    seen: recorder.seen,
    timers: timers.map(({ timer }) => timer),
  };
}
