/**
 * Judges: threads of this process on which values are judged that may take long.
 *
 * - Shared by all hosts of the process, since hardly any value needs them. Started when first needed, ended when idle;
 *   they keep no process alive.
 * - There are two lanes with a thread each. A case that takes too long ends its thread, and from then on, as after
 *   any slow one, its schema has the second lane: the first is held up at most once by each schema, and schemas are the host's, not a program's.
 * - Within a lane those who wait take turns, whoever has how many.
 */
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from "node:worker_threads";
import { JUDGE_ROLE, parseVerdict, READY } from "../bridge/judges.ts";
import type { Case, JudgeApart } from "../bridge/schema.ts";
import type { Verdict } from "../json-schema/validator.ts";
import { defaultWorkerUrl, loadWorkerScript } from "./worker-script.ts";

/**
 * Far longer than any case takes that is not stuck: other work is bounded by steps. By the clock and by the processor time
 * of the process: one that hardly gets a processor is slow, not stuck.
 */
const MOST_MS = 3000;
/** Whoever takes as long goes where others of that kind wait for each other. */
const SLOW_MS = 200;
const MOST_START_MS = 30_000;
const IDLE_MS = 10_000;
const HEAP_MB = 256;
const STACK_MB = 8;

const UNKNOWN: Verdict = { kind: "unknown" };

interface Waiting {
  readonly owner: string;
  readonly given: Case;
  readonly resolve: (verdict: Verdict) => void;
}

/** One thread at a time, and those who wait for it. */
class Lane {
  /** By owner, in the order of their turns. */
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #mostMs: number;
  readonly #onSlow: (schema: string) => void;
  #thread: { readonly worker: Worker; readonly port: MessagePort } | undefined;
  #current: Waiting | undefined;
  #isReady = false;
  #postedAt = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(mostMs: number, onSlow: (schema: string) => void) {
    this.#mostMs = mostMs;
    this.#onSlow = onSlow;
  }

  add(one: Waiting): void {
    const queue = this.#waiting.get(one.owner);
    if (queue === undefined) this.#waiting.set(one.owner, [one]);
    else queue.push(one);
    this.#next();
  }

  #next(): void {
    if (this.#current !== undefined) return;
    const [first] = this.#waiting;
    if (first === undefined) {
      // Whoever comes now finds it warm; later it would only use memory.
      this.#after(IDLE_MS, () => this.#end());
      return;
    }
    const [owner, queue] = first;
    this.#current = queue.shift();
    if (queue.length === 0) this.#waiting.delete(owner);
    if (this.#thread === undefined) void this.#start();
    else if (this.#isReady) this.#post();
  }

  async #start(): Promise<void> {
    this.#after(MOST_START_MS, () => this.#fail());
    try {
      const { url, text } = await loadWorkerScript(workerUrl ?? defaultWorkerUrl());
      const { port1: port, port2 } = new MessageChannel();
      const setup = { role: JUDGE_ROLE, port: port2 };
      const worker = new Worker(url, {
        name: "codecell-judge",
        workerData: text === undefined ? setup : { ...setup, text },
        transferList: [port2],
        env: {},
        execArgv: [],
        stdout: true,
        stderr: true,
        resourceLimits: { maxOldGenerationSizeMb: HEAP_MB, stackSizeMb: STACK_MB },
      });
      const thread = { worker, port };
      this.#thread = thread;
      worker.unref();
      const whileMine =
        <T>(act: (given: T) => void) =>
        (given: T): void => {
          if (this.#thread === thread) act(given);
        };
      port.on(
        "message",
        whileMine((message: unknown) => this.#receive(message)),
      );
      port.unref();
      worker.on(
        "error",
        whileMine(() => this.#fail()),
      );
      worker.on(
        "exit",
        whileMine(() => this.#fail()),
      );
    } catch {
      this.#fail();
    }
  }

  #post(): void {
    const { given } = this.#current ?? {};
    if (given === undefined) return;
    this.#postedAt = performance.now();
    this.#watch(given, process.cpuUsage());
    this.#thread?.port.postMessage(given);
  }

  #watch(given: Case, since: NodeJS.CpuUsage): void {
    const thread = this.#thread;
    this.#after(this.#mostMs, () => {
      // Its verdict may lie in the port already: timers come first when this thread was busy.
      const answer = thread === undefined ? undefined : receiveMessageOnPort(thread.port);
      if (answer !== undefined) {
        this.#receive(answer.message);
        return;
      }
      const { user, system } = process.cpuUsage(since);
      if (user + system < this.#mostMs * 1000) {
        this.#watch(given, since);
        return;
      }
      this.#onSlow(given.schema);
      this.#fail();
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

  /** The thread is of no use any more, and its case stays unknown. */
  #fail(): void {
    this.#end();
    this.#settle(UNKNOWN);
  }

  #settle(verdict: Verdict): void {
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

/** More than any host has tools; then all begin anew. */
const MOST_SLOW = 10_000;

export class Judges {
  readonly #slowSchemas = new Set<string>();
  readonly #quick: Lane;
  readonly #slow: Lane;

  /** Takes how long a case may take. */
  constructor(mostMs: number) {
    const note = (schema: string): void => {
      if (this.#slowSchemas.size >= MOST_SLOW) this.#slowSchemas.clear();
      this.#slowSchemas.add(schema);
    };
    this.#quick = new Lane(mostMs, note);
    this.#slow = new Lane(mostMs, note);
  }

  /** For one owner, such as a run. */
  for(owner: string): JudgeApart {
    return (given) =>
      new Promise((resolve) => {
        (this.#slowSchemas.has(given.schema) ? this.#slow : this.#quick).add({ owner, given, resolve });
      });
  }
}

const judges = new Judges(MOST_MS);
let workerUrl: URL | undefined;

/** What the threads execute from now on: the same script as the workers of the host that was made last. */
export function useJudgeScript(url: URL): void {
  workerUrl = url;
}

export function judgeApartFor(owner: string): JudgeApart {
  return judges.for(owner);
}
