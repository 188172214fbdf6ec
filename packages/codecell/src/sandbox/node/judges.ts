/**
 * Judges: threads that judge values for which judging may take long. Runs on the host.
 *
 * - All pools of the process whose threads execute the same script share the judges, because few values need them. A
 *   judge starts when it is first needed and ends when it is idle. Judges keep no process alive, and nobody has to
 *   close them.
 * - There are two lanes with one thread each. A case that takes too long ends its thread. After that, as after any slow
 *   case, its schema uses the second lane. So each schema delays the first lane at most once, and schemas come from the
 *   host, not from a program.
 * - A case whose run has ended leaves its lane; a case that has begun is finished.
 * - Within a lane owners take turns, however many cases each of them has.
 */
import { receiveMessageOnPort, type Worker } from "node:worker_threads";
import {
  JUDGE_ROLE,
  parseVerdict,
  READY,
  type Case,
  type JudgeApart,
  type VerdictApart,
} from "../../protocol/judges.ts";
import type { Verdict } from "../../json-schema/judge.ts";
import { hasRoomForThread } from "./address-space.ts";
import { SandboxUnavailable } from "../sandbox.ts";
import { startThread, type Thread } from "./start-thread.ts";
import { loadWorkerScript } from "./worker-script.ts";

/**
 * Far longer than any case takes unless it is stuck, because steps bound all other work. Measured as processor time of
 * the thread: a thread that hardly gets a processor is slow, not stuck.
 */
const MOST_MS = 3000;
/** A schema with a case this slow moves to the slow lane. */
const SLOW_MS = 200;
const MOST_START_MS = 30_000;
const IDLE_MS = 10_000;
const LIMITS = { maxOldGenerationSizeMb: 256, stackSizeMb: 8 };

const UNKNOWN: Verdict = { kind: "unknown" };
const UNAVAILABLE: VerdictApart = { kind: "unavailable" };

interface WaitingCase {
  readonly owner: string;
  readonly given: Case;
  readonly resolve: (verdict: VerdictApart) => void;
}

/** Processor time so far, in milliseconds. */
interface Spent {
  /** Undefined if the thread does not say: on Node.js 22, or while it compiles a regular expression. */
  readonly thread: number | undefined;
  readonly process: number;
}

/** A thread, one at a time, and the cases that wait for it. */
class Lane {
  /** The cases by owner, in the order of the owners' turns. */
  readonly #waiting = new Map<string, WaitingCase[]>();
  readonly #workerUrl: URL;
  readonly #mostMs: number;
  readonly #onSlow: (schema: string) => void;
  #thread: Thread | undefined;
  #current: WaitingCase | undefined;
  #isReady = false;
  /** Counts starts, so that an outdated start notices. */
  #start = 0;
  #postedAt = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(workerUrl: URL, mostMs: number, onSlow: (schema: string) => void) {
    this.#workerUrl = workerUrl;
    this.#mostMs = mostMs;
    this.#onSlow = onSlow;
  }

  add(one: WaitingCase): void {
    const queue = this.#waiting.get(one.owner);
    if (queue === undefined) this.#waiting.set(one.owner, [one]);
    else queue.push(one);
    this.#next();
  }

  /** Takes a case back that has not begun. */
  drop(one: WaitingCase): void {
    const queue = this.#waiting.get(one.owner);
    const place = queue?.indexOf(one) ?? -1;
    if (queue === undefined || place === -1) return;
    queue.splice(place, 1);
    if (queue.length === 0) this.#waiting.delete(one.owner);
    one.resolve(UNKNOWN);
  }

  #next(): void {
    if (this.#current !== undefined) return;
    const [first] = this.#waiting;
    if (first === undefined) {
      // The next case finds the thread ready for a while; after that the thread would only use memory.
      this.#after(IDLE_MS, () => this.#end());
      return;
    }
    const [owner, queue] = first;
    this.#current = queue.shift();
    if (queue.length === 0) this.#waiting.delete(owner);
    if (this.#thread === undefined) void this.#open();
    else if (this.#isReady) this.#post();
  }

  async #open(): Promise<void> {
    const start = ++this.#start;
    const failed = (): void => {
      if (this.#start !== start) return;
      this.#end();
      this.#settle(UNAVAILABLE);
    };
    this.#after(MOST_START_MS, failed);
    try {
      const loaded = await loadWorkerScript(this.#workerUrl);
      if (this.#start !== start) return;
      // Without addresses for its heap, V8 would end the process.
      if (!hasRoomForThread()) throw new SandboxUnavailable("no addresses are left for a thread");
      const thread = startThread("codecell-judge", loaded, { role: JUDGE_ROLE }, LIMITS);
      this.#thread = thread;
      const whileMine =
        <T>(act: (given: T) => void) =>
        (given: T): void => {
          if (this.#thread === thread) act(given);
        };
      const gone = (): void => (this.#isReady ? this.#fail() : failed());
      thread.port.on(
        "message",
        whileMine((message: unknown) => this.#receive(message)),
      );
      thread.port.unref();
      thread.worker.unref();
      thread.worker.on("error", whileMine(gone));
      thread.worker.on("exit", whileMine(gone));
    } catch {
      failed();
    }
  }

  #post(): void {
    const { given } = this.#current ?? {};
    if (given === undefined) return;
    this.#postedAt = performance.now();
    this.#watch();
    this.#thread?.port.postMessage(given);
  }

  /** Measures twice, half of the allowed time apart, because what the thread did before this case does not count. */
  #watch(before?: Spent): void {
    const [thread, current] = [this.#thread, this.#current];
    if (thread === undefined || current === undefined) return;
    this.#after(this.#mostMs / 2, () => {
      void spentBy(thread.worker, this.#mostMs).then((now) => {
        if (this.#thread !== thread || this.#current !== current) return;
        // The verdict may already be in the port: timers run first if this thread was busy.
        const answer = receiveMessageOnPort(thread.port);
        if (answer !== undefined) this.#receive(answer.message);
        else if (before === undefined || between(before, now) < this.#mostMs / 2) this.#watch(before ?? now);
        else {
          this.#onSlow(current.given.schema);
          this.#fail();
        }
      });
    });
  }

  #receive(message: unknown): void {
    if (message === READY && !this.#isReady) {
      this.#isReady = true;
      this.#post();
      return;
    }
    const verdict = parseVerdict(message);
    if (verdict === undefined) {
      this.#fail();
      return;
    }
    if (this.#current !== undefined && performance.now() - this.#postedAt > SLOW_MS) {
      this.#onSlow(this.#current.given.schema);
    }
    this.#settle(verdict);
  }

  /** Ends the thread; its case stays unknown. */
  #fail(): void {
    this.#end();
    this.#settle(UNKNOWN);
  }

  #settle(verdict: VerdictApart): void {
    clearTimeout(this.#timer);
    const current = this.#current;
    this.#current = undefined;
    if (current !== undefined) this.#putLast(current.owner);
    current?.resolve(verdict);
    this.#next();
  }

  #putLast(owner: string): void {
    const queue = this.#waiting.get(owner);
    this.#waiting.delete(owner);
    if (queue !== undefined) this.#waiting.set(owner, queue);
  }

  #end(): void {
    const thread = this.#thread;
    this.#start++;
    this.#thread = undefined;
    this.#isReady = false;
    thread?.port.close();
    void thread?.worker.terminate();
  }

  #after(ms: number, act: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(act, ms);
    if (this.#current === undefined) this.#timer.unref();
  }
}

async function spentBy(worker: Worker, patienceMs: number): Promise<Spent> {
  const silence = Promise.withResolvers<void>();
  const timer = setTimeout(silence.resolve, patienceMs);
  const asked = "cpuUsage" in worker ? worker.cpuUsage().catch(() => {}) : undefined;
  const thread = await Promise.race([asked, silence.promise]);
  clearTimeout(timer);
  return { thread: typeof thread === "object" ? toMs(thread) : undefined, process: toMs(process.cpuUsage()) };
}

function toMs({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / 1000;
}

/** The time of the whole process is an upper bound for a thread that does not say. */
function between(before: Spent, after: Spent): number {
  return before.thread === undefined || after.thread === undefined
    ? after.process - before.process
    : after.thread - before.thread;
}

/** More than any host has tools; beyond this the list is cleared. */
const MOST_SLOW = 10_000;

export class Judges {
  readonly #slowSchemas = new Set<string>();
  readonly #quick: Lane;
  readonly #slow: Lane;

  /** Takes the URL of the threads' script, and how long a case may take. */
  constructor(workerUrl: URL, mostMs: number = MOST_MS) {
    const note = (schema: string): void => {
      if (this.#slowSchemas.size >= MOST_SLOW) this.#slowSchemas.clear();
      this.#slowSchemas.add(schema);
    };
    this.#quick = new Lane(workerUrl, mostMs, note);
    this.#slow = new Lane(workerUrl, mostMs, note);
  }

  /** Judges for one owner, such as a run, until the signal is aborted. */
  for(owner: string, signal: AbortSignal): JudgeApart {
    return (given) =>
      new Promise((resolve) => {
        if (signal.aborted) {
          resolve(UNKNOWN);
          return;
        }
        const lane = this.#slowSchemas.has(given.schema) ? this.#slow : this.#quick;
        const one: WaitingCase = {
          owner,
          given,
          resolve: (verdict) => {
            signal.removeEventListener("abort", leave);
            resolve(verdict);
          },
        };
        const leave = (): void => lane.drop(one);
        signal.addEventListener("abort", leave);
        lane.add(one);
      });
  }
}

/** A process has one script, or two while it changes to another. Pools keep their own judges alive. */
const MOST_SCRIPTS = 8;

const judgesByScript = new Map<string, Judges>();

/** The judges of all pools whose threads execute this script. */
export function judgesOf(workerUrl: URL): Judges {
  let judges = judgesByScript.get(workerUrl.href);
  if (judges === undefined) {
    judges = new Judges(workerUrl);
    const [oldest] = judgesByScript.keys();
    if (judgesByScript.size >= MOST_SCRIPTS && oldest !== undefined) judgesByScript.delete(oldest);
    judgesByScript.set(workerUrl.href, judges);
  }
  return judges;
}
