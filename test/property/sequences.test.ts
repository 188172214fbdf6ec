/**
 * Sequences of {call, answer, late answer, throw, return, abort, timeout} over the public API, compared with a model.
 *
 * The guest is an interpreter that asks the host for its next step, so one source serves every sequence.
 */
import fc from "fast-check";
import { afterAll, expect, test, vi } from "vitest";
import { type CallContext, createHost, type FailureCode, type RunResult, type ToolSet } from "codecell";
import { effort, TIMES } from "./effort.ts";

vi.setConfig({ testTimeout: 300_000 * TIMES });

const host = createHost({ workers: 1 });
afterAll(() => host[Symbol.asyncDispose]());

type Step =
  | { readonly do: "call" }
  | { readonly do: "answer" | "fail" | "await"; readonly which: number }
  | { readonly do: "tick" | "throw" | "return" | "abort" | "hang" | "spin" };

const which = fc.nat(5);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.constant({ do: "call" } as const) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("answer" as const), which }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("fail" as const), which }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("await" as const), which }) },
  { weight: 2, arbitrary: fc.constant({ do: "tick" } as const) },
  fc.constantFrom<Step>({ do: "throw" }, { do: "return" }, { do: "abort" }, { do: "hang" }, { do: "spin" }),
);

const SOURCE = `
const works: Promise<any>[] = [];
const settled: any[] = [];
for (;;) {
  const step = await tools.next({});
  if (step.do === "call") {
    const id = works.length;
    works.push(tools.work({ id }).then((v: any) => settled.push([id, v]), (e: any) => settled.push([id, e.code])));
  } else if (step.do === "await") await works[step.which];
  else if (step.do === "tick") await new Promise((r) => setTimeout(r, 1));
  else if (step.do === "throw") throw new Error("thrown by the program");
  else if (step.do === "return") return settled.sort((a, b) => a[0] - b[0]);
  else if (step.do === "spin") for (;;);
}`;

/** AMPLE_MS is enough for any sequence that ends, on any machine. SHORT_MS is for sequences that cannot end. */
const AMPLE_MS = 30_000;
const SHORT_MS = 300;

type Expected = FailureCode | { readonly settled: readonly (readonly [number, unknown])[] };

/** The outcome that a sequence must have. */
function predict(steps: readonly Step[]): Expected {
  const outcomes: unknown[] = [];
  const open = new Set<number>();
  for (const one of [...steps, { do: "return" } as const]) {
    if (one.do === "call") open.add(outcomes.push(undefined) - 1);
    else if (one.do === "answer" || one.do === "fail") {
      if (open.delete(one.which))
        outcomes[one.which] = one.do === "answer" ? `answer ${one.which}` : "tool_failed";
    } else if (one.do === "await") {
      if (open.has(one.which)) return "timeout";
    } else if (one.do === "throw") return "guest_error";
    else if (one.do === "abort") return "aborted";
    else if (one.do === "hang" || one.do === "spin") return "timeout";
    else if (one.do === "return") {
      // A run does not end while its calls execute.
      return open.size > 0 ? "timeout" : { settled: outcomes.map((outcome, id) => [id, outcome] as const) };
    }
  }
  throw new Error("unreachable");
}

class Script {
  readonly executed: string[] = [];
  readonly tools: ToolSet;
  readonly #abort: AbortController;
  readonly #works: PromiseWithResolvers<unknown>[] = [];
  #steps: Step[];

  constructor(steps: readonly Step[], abort: AbortController) {
    this.#steps = [...steps];
    this.#abort = abort;
    this.tools = {
      next: { execute: (_input: unknown, { callId }: CallContext) => this.#next(callId) },
      work: {
        execute: ({ id }: { id: number }, { callId, signal }: CallContext) => {
          this.executed.push(callId);
          const work = Promise.withResolvers<unknown>();
          this.#works[id] = work;
          signal.addEventListener("abort", () => work.reject(signal.reason));
          return work.promise;
        },
      },
    };
  }

  /** Answers all open calls after the end. */
  answerLate(): void {
    for (const work of this.#works) work.resolve("too late");
  }

  #next(callId: string): unknown {
    this.executed.push(callId);
    const one = this.#steps.shift() ?? { do: "return" };
    if (one.do === "answer") this.#works[one.which]?.resolve(`answer ${one.which}`);
    else if (one.do === "fail") this.#works[one.which]?.reject(new Error("no"));
    else if (one.do === "abort") this.#abort.abort(new Error("enough"));
    return one.do === "abort" || one.do === "hang" ? new Promise(() => {}) : one;
  }
}

function toExpected(result: RunResult): Expected {
  if (result.status === "failed") return result.failure.code;
  expect(result.status).toBe("completed");
  return { settled: result.status === "completed" ? (result.value as [number, unknown][]) : [] };
}

test("every sequence ends as the model says, executes each call once, and does not change afterwards", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (steps) => {
      const expected = predict(steps);
      const abort = new AbortController();
      const script = new Script(steps, abort);
      const handle = host.start({
        source: SOURCE,
        tools: script.tools,
        signal: abort.signal,
        limits: { wallTimeMs: expected === "timeout" ? SHORT_MS : AMPLE_MS },
      });
      const result = await handle.result;
      const found = toExpected(result);
      expect(found).toEqual(expected);
      const executed = [...script.executed];
      const ledger = JSON.stringify(handle.ledger());
      script.answerLate();
      abort.abort();
      // A late answer would show up while the next run runs.
      const next = await host.start({ source: "return 42" }).result;
      expect(next).toMatchObject({ status: "completed", value: 42 });
      expect(script.executed).toEqual(executed);
      expect(new Set(executed).size).toBe(executed.length);
      expect(JSON.stringify(handle.ledger())).toBe(ledger);
      expect(toExpected(await handle.result)).toEqual(expected);
      expect(toExpected(await host.replay(handle.ledger()).result)).toEqual(expected);
    }),
    effort(60),
  );
});
