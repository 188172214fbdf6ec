/** The tools of generated programs. Each execution is counted by its call id. */
import { setImmediate as turn, setTimeout as delay } from "node:timers/promises";
import type { CallContext, ToolSet } from "codecell";

interface Input {
  readonly v: unknown;
  readonly ms?: number;
}

/**
 * Longer than anything else that a program waits for; only losers of races take this long. On a busy machine the time may be
 * up before the winner was called at all: the turns of the event loop behind it are enough for that.
 */
const LATE_MS = 60;
const LATE_TURNS = 100;

async function late(): Promise<void> {
  await delay(LATE_MS);
  for (let left = LATE_TURNS; left > 0; left--) await turn();
}

const answer = ({ v }: Input): unknown => ({ v });

export class ProgramTools {
  readonly executions: Map<string, number> = new Map();
  readonly set: ToolSet;
  /** Called with its number at the start of every execution. */
  readonly #onExecution: (count: number) => void;
  #count = 0;

  constructor(onExecution: (count: number) => void = () => {}) {
    this.#onExecution = onExecution;
    this.set = {
      now: { execute: (input: Input, call) => (this.#note(call), answer(input)) },
      micro: { execute: (input: Input, call) => (this.#note(call), Promise.resolve(answer(input))) },
      turn: { execute: async (input: Input, call) => (this.#note(call), await turn(), answer(input)) },
      wait: {
        execute: async (input: Input, call) => (this.#note(call), await delay(input.ms ?? 1), answer(input)),
      },
      late: {
        execute: async (input: Input, call) => (this.#note(call), await late(), answer(input)),
      },
      fail: {
        execute: (_input: unknown, call) => {
          this.#note(call);
          throw Object.assign(new Error("it failed"), { code: "E_TEST", name: "TestError" });
        },
      },
    };
  }

  /** Ids of calls that were executed more than once. */
  get repeated(): string[] {
    return [...this.executions].filter(([, times]) => times > 1).map(([callId]) => callId);
  }

  #note({ callId }: CallContext): void {
    this.executions.set(callId, (this.executions.get(callId) ?? 0) + 1);
    this.#onExecution(++this.#count);
  }
}
