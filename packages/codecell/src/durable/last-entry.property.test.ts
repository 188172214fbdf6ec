/** A run comes back the same, whether it was suspended as new states, by last entries of its journal, or now this, now that. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { CallResolution } from "../contract/result.ts";
import type { Delivery, LedgerCall } from "../contract/ledger.ts";
import { resolveLimits } from "../contract/limits.ts";
import type { ToolSet } from "../contract/tool.ts";
import type { Json } from "../contract/value.ts";
import { createMemoryStore } from "../store/memory.ts";
import { LedgerRecorder } from "../ledger/ledger-recorder.ts";
import type { RunAtRest } from "./suspended-run.ts";
import { Vault } from "../seal/vault.ts";
import type { Journal } from "./journal.ts";
import { StoredRuns, type TakenRun } from "./stored-runs.ts";

const vault = new Vault({ sealKey: new Uint8Array(32).fill(1) });
const limits = resolveLimits({});
const tools: ToolSet = { repeatable: { readOnly: true, execute: () => 1 } };

type Step =
  | { readonly kind: "turn"; readonly calls: readonly string[]; readonly timer?: number }
  | { readonly kind: "dispatch" | "ask" | "deliver" | "post"; readonly which: number }
  | { readonly kind: "suspend"; readonly executing: boolean; readonly decided: boolean }
  /** The process dies, another one takes the run up. */
  | { readonly kind: "die" };

const which = fc.nat(9);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant("turn" as const),
    calls: fc.array(fc.constantFrom("repeatable", "other", "yield_control"), { maxLength: 3 }),
    timer: fc.nat(3),
  }),
  fc.record({ kind: fc.constantFrom("dispatch", "ask", "deliver", "post"), which }),
  fc.record({ kind: fc.constant("suspend" as const), executing: fc.boolean(), decided: fc.boolean() }),
  fc.constant({ kind: "die" } as const),
);

/** A run as its host would drive it, told step by step. */
class Driven {
  readonly #store = createMemoryStore();
  readonly #hasSnapshot: (suspension: number) => boolean;
  #suspensions = 0;
  #runs = new StoredRuns(this.#store, vault, 0);
  #journal: Journal;
  #recorder: LedgerRecorder;
  #pending = new Map<number, Json>();
  #decisions: (readonly [number, CallResolution])[] = [];
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
    this.#journal = this.#runs.keep(this.#recorder, "");
  }

  async take(): Promise<Omit<TakenRun, "journal">> {
    const taken = await this.#runs.take({ id: "r", suspensionId: undefined }, "", tools, () => undefined);
    if ("code" in taken) throw new Error(taken.message);
    const { journal, run } = taken;
    this.#journal = journal;
    this.#recorder = new LedgerRecorder(this.#recorder.header, { ...run.ledger, seen: run.seen });
    this.#pending = new Map(run.pending);
    this.#timers = new Map(run.timers.map(({ timer, delayMs }) => [timer, delayMs ?? 0]));
    return taken;
  }

  async go(given: Step): Promise<void> {
    switch (given.kind) {
      case "turn": {
        const calls: LedgerCall[] = given.calls.map((tool, index) => ({ tool, input: `"${index}"` }));
        const timers = given.timer === undefined ? [] : [{ timer: given.timer, delayMs: 1_000_000 }];
        for (const { timer, delayMs } of timers) this.#timers.set(timer, delayMs);
        const { deliveries, seen } = this.#recorder;
        this.#recorder = new LedgerRecorder(this.#recorder.header, {
          calls: [...this.#recorder.calls, ...calls],
          deliveries,
          seen,
        });
        await this.#journal.write({ kind: "turn", at: Date.now(), calls, timers, seen });
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
        this.#pending.set(call, given.which);
        await this.#journal.write({ kind: "asked", call, payload: given.which });
        return;
      }
      case "deliver": {
        const call = this.#open(given.which);
        // One that asked is dispatched again first.
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
        await this.#runs.post("r", { kind: "output", call, output: "7" }, Date.now() + 1000);
        return;
      }
      case "suspend":
        return this.#suspend(given.executing, given.decided);
      case "die":
        await this.take();
    }
  }

  async #suspend(isExecuting: boolean, isDecided: boolean): Promise<void> {
    const others = this.#recorder.calls
      .keys()
      .filter((call) => this.#isOpen(call) && !this.#pending.has(call));
    const [executing, decided] = [...others];
    this.#decisions = isDecided && decided !== undefined ? [[decided, { resolution: 1 }]] : [];
    const rest: RunAtRest = {
      pending: this.#pending,
      timers: [...this.#timers].map(([timer, delayMs]) => ({ timer, delayMs })),
      executing: new Map(isExecuting && executing !== undefined ? [[executing, "somebody else"]] : []),
      resolutions: this.#decisions,
      snapshot: this.#hasSnapshot(this.#suspensions++)
        ? { bytes: new Uint8Array(3), progress: this.#recorder.progress }
        : undefined,
    };
    const given = await this.#runs.suspend(this.#journal, this.#recorder, "", rest);
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

test("however often it moves, dies and is suspended", async () => {
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

/** Ids are random, and a snapshot is what only one of them has; timers run on between the two. */
function comparable({ run, open, items, elsewhere }: Omit<TakenRun, "journal">): unknown {
  const { id: _id, expiresAt: _at, snapshot: _snapshot, timers, ledger, ...rest } = run;
  const toolsOfCalls = [...elsewhere].map(([call, { executor, resolution }]) => [call, executor, resolution]);
  return { ...rest, ledger, timers: timers.map(({ timer }) => timer), open, items, elsewhere: toolsOfCalls };
}
