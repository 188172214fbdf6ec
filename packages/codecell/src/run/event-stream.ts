/**
 * Runs on the host. EventStream holds a run's events for any number of readers. Each reader begins with the first
 * event.
 *
 * - Events are kept for readers that come late. Only inputs of `KEPT_LENGTH` characters together are kept as values. The
 *   others are kept as the texts that the ledger has anyway, and built again for each late reader: a value takes up to
 *   twenty times as much as its text.
 * - Of what tools yield while they work, the newest parts are kept (`calls/kept-newest.ts`), as values. A reader that
 *   comes late, or falls behind, does not get the older ones.
 * - Of failed calls, the causes of the last ones are kept (`calls/kept-causes.ts`). A late reader gets the other events without
 *   their causes.
 * - A reader that waits gets an event as it was emitted.
 * - One listener hears events at once, and also the steps of calls, which are not kept. If a call outlives the run,
 *   only the listener hears of it, after the run's end.
 */
import { KeptCauses } from "../calls/kept-causes.ts";
import { KEPT_LENGTH, KeptNewest } from "../calls/kept-newest.ts";
import { buildJson } from "../value/parse-json.ts";
import { lengthUpTo } from "../value/print-json.ts";
import { isTurnLong, nextTurn } from "../loop/turn.ts";
import type { CallStartEvent, CallStepEvent, OnEvent, RunEvent } from "../contract/events.ts";

/** What a part counts for in addition to its value. */
const PART_LENGTH = 64;

/** The start of a call without its input. */
interface Stripped {
  readonly event: Omit<CallStartEvent, "input">;
  readonly inputText: string;
}

type ProgressEvent = Extract<RunEvent, { readonly type: "call-progress" }>;

interface KeptPart {
  readonly event: ProgressEvent;
  /** How many other events came before. */
  readonly after: number;
}

export class EventStream implements AsyncIterable<RunEvent> {
  readonly #hear: OnEvent | undefined;
  /** All events but progress. */
  readonly #kept: (Exclude<RunEvent, ProgressEvent> | Stripped)[] = [];
  /** By numbers that follow each other. */
  readonly #parts = new KeptNewest<number, KeptPart>();
  #oldestPart = 0;
  #nextPart = 0;
  /** Readers that have seen everything so far. They get undefined when no more events will come. */
  #waiting: ((event: RunEvent | undefined) => void)[] = [];
  #isEnded = false;
  /** Characters of the inputs that are kept as values. */
  #keptLength = 0;
  /** By the index of the kept event. */
  readonly #causes = new KeptCauses<number>();

  /** The listener must not throw. */
  constructor(hear?: OnEvent) {
    this.#hear = hear;
  }

  /** Whether somebody listens to the steps of calls. */
  get isHeard(): boolean {
    return this.#hear !== undefined;
  }

  /** Tells the listener alone. */
  tell(event: RunEvent | CallStepEvent, inputText = ""): void {
    const at = Date.now();
    this.#hear?.(event.type === "call-start" ? { ...event, at, inputText } : { ...event, at });
  }

  /** `inputText` is the text of the call's input, for the start and the end of a call. */
  emit(event: RunEvent, inputText = ""): void {
    if (this.#hear !== undefined) this.tell(event, inputText);
    if (event.type === "call-progress") this.#keepPart(event);
    else this.#kept.push(this.#toKept(event, inputText));
    if (event.type === "call-end" && event.outcome.status === "failed") {
      this.#keepCause(event.outcome.cause, inputText.length);
    }
    this.#wake(event);
  }

  #keepPart(event: ProgressEvent): void {
    const length = PART_LENGTH + lengthUpTo(event.output, KEPT_LENGTH);
    const part = { event, after: this.#kept.length };
    this.#oldestPart += this.#parts.add(this.#nextPart++, part, length).length;
  }

  #toKept(
    event: Exclude<RunEvent, ProgressEvent>,
    inputText: string,
  ): Exclude<RunEvent, ProgressEvent> | Stripped {
    if (event.type !== "call-start") return event;
    const length = this.#keptLength + inputText.length;
    if (length > KEPT_LENGTH) return strip(event, inputText);
    this.#keptLength = length;
    return event;
  }

  /** The event was kept last. */
  #keepCause(cause: unknown, inputLength: number): void {
    if (cause === undefined) return;
    for (const index of this.#causes.add(this.#kept.length - 1, cause, inputLength)) {
      const kept = this.#kept[index];
      if (kept !== undefined && "outcome" in kept) this.#kept[index] = withoutCause(kept);
    }
  }

  /** Call when there will be no run, so that readers end all the same. */
  end(): void {
    this.#isEnded = true;
    this.#wake(undefined);
  }

  #wake(event: RunEvent | undefined): void {
    if (this.#waiting.length === 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake(event);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<RunEvent, void, undefined> {
    let [index, part] = [0, 0];
    for (;;) {
      part = Math.max(part, this.#oldestPart);
      const event = await this.#at(index, part);
      if (event === undefined) return;
      if (event.type === "call-progress") part++;
      else index++;
      yield event;
      if (event.type === "run-end") return;
    }
  }

  /** The event that comes next if so many other events and parts came before. Undefined if there will be none. */
  #at(index: number, part: number): RunEvent | undefined | Promise<RunEvent | undefined> {
    const next = this.#parts.get(part);
    if (next !== undefined && next.after <= index) return next.event;
    const kept = this.#kept[index];
    if (kept !== undefined) return "inputText" in kept ? rebuild(kept) : kept;
    if (this.#isEnded) return undefined;
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }
}

function strip({ type, runId, callId, index, tool }: CallStartEvent, inputText: string): Stripped {
  return { event: { type, runId, callId, index, tool }, inputText };
}

/** The cause is not enumerable, so a copy does not have it. */
function withoutCause<T extends { readonly outcome: object }>(event: T): T {
  return { ...event, outcome: { ...event.outcome } };
}

async function rebuild({ event, inputText }: Stripped): Promise<CallStartEvent> {
  while (isTurnLong()) await nextTurn();
  return { ...event, input: await buildJson(inputText) };
}
