/**
 * InProcessSandbox: a Sandbox on the caller's own thread, for tests of code that uses sandboxes. Runs on the host.
 *
 * **It protects nobody from a program.** A program that computes blocks the caller's event loop for all of its
 * processor time, a native loop of the engine blocks it for ever, and a fault of the engine is a fault of this process.
 * Never give it to a host that runs what a model wrote.
 *
 * - It uses the worker's own core through the messages of the protocol, which are copied and parsed as if they had
 *   crossed to a thread. There is no shared memory.
 * - All commands given in one turn of the event loop are served together, in a later turn.
 * - It does not bound the memory of all cells together, so it evicts no cell.
 */
import type { Delivery } from "../../contract/ledger.ts";
import { nextTurn } from "../../loop/turn.ts";
import type { JudgeApart } from "../../protocol/judges.ts";
import {
  type Answer,
  type Command,
  parseAnswers,
  parseCommands,
  STATUS,
  STATUS_BYTES,
} from "../../protocol/messages.ts";
import { judge } from "../../worker/judge.ts";
import type { WorkerPlatform } from "../../worker/platform.ts";
import { createWorker } from "../../worker/worker.ts";
import {
  type CellListener,
  type CellStart,
  type Loss,
  type Placement,
  type Sandbox,
  SandboxUnavailable,
} from "../sandbox.ts";

/** What it takes from its environment. */
export interface InProcessParts {
  readonly loadEngine: () => Promise<WebAssembly.Module>;
  /** Takes the status board. */
  readonly createPlatform: (status: Int32Array) => WorkerPlatform;
}

type SnapshotBytes = Uint8Array<ArrayBuffer> | undefined;

interface InProcessCell {
  readonly number: number;
  readonly listener: CellListener;
  /** Requested snapshots without an answer yet, in order. */
  readonly snapshots: ((bytes: SnapshotBytes) => void)[];
}

/** Few enough that tests see parked cells. */
const VMS = 16;

export class InProcessSandbox implements Sandbox {
  readonly #parts: InProcessParts;
  readonly #status = new Int32Array(new ArrayBuffer(STATUS_BYTES));
  readonly #cells = new Map<number, InProcessCell>();
  #placed = 0;
  #outbox: Command[] = [];
  #inbox: Command[] | undefined;
  #answers: Answer[] = [];
  #isMoving = false;
  /** The worker has something to go on with that nobody commanded. */
  #isWoken = false;
  #serve: (() => void) | undefined;
  #isClosed = false;

  constructor(parts: InProcessParts) {
    this.#parts = parts;
  }

  place(start: CellStart, listener: CellListener): Placement {
    const number = ++this.#placed;
    const cell: InProcessCell = { number, listener, snapshots: [] };
    this.#cells.set(number, cell);
    this.#post({ type: "start", cell: number, ...withOwnBytes(start) });
    return {
      isWaiting: () => this.#serve === undefined,
      fullBytes: () => undefined,
      deliver: (delivery: Delivery) => {
        if (this.#cells.has(number)) this.#post({ type: "deliver", cell: number, delivery });
      },
      snapshot: () => this.#snapshot(cell),
      drop: () => {
        if (!this.#forget(cell)) return;
        this.#outbox = this.#outbox.filter((command) => command.cell !== number);
        this.#post({ type: "drop", cell: number });
      },
    };
  }

  judgeFor(_owner: string, signal: AbortSignal): JudgeApart {
    return async (given) => {
      await nextTurn();
      return signal.aborted ? { kind: "unknown" } : judge(given);
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#outbox = [];
    for (const cell of this.#cells.values()) this.#forget(cell);
    this.#serve = undefined;
  }

  #snapshot(cell: InProcessCell): Promise<SnapshotBytes> {
    const { promise, resolve } = Promise.withResolvers<SnapshotBytes>();
    if (this.#cells.has(cell.number)) {
      cell.snapshots.push(resolve);
      this.#post({ type: "snapshot", cell: cell.number });
    } else resolve(undefined);
    return promise;
  }

  #post(command: Command): void {
    this.#outbox.push(command);
    this.#moveSoon();
  }

  #moveSoon(): void {
    if (this.#isMoving) return;
    this.#isMoving = true;
    void this.#move();
  }

  /** Serves the commands, turn by turn, until there are no more. */
  async #move(): Promise<void> {
    while (this.#outbox.length > 0 || this.#isWoken) {
      this.#isWoken = false;
      await nextTurn();
      try {
        this.#serve ??= await this.#open();
      } catch (error) {
        this.#outbox = [];
        this.#loseAll(() => "unavailable", error);
        continue;
      }
      this.#turn(this.#serve);
    }
    this.#isMoving = false;
  }

  async #open(): Promise<() => void> {
    const engine = await this.#parts.loadEngine();
    if (this.#isClosed) throw new SandboxUnavailable("the sandbox is closed");
    const setup = { engine, vms: VMS, status: this.#status.buffer };
    const receive = (): Command[] | undefined => {
      const commands = this.#inbox;
      this.#inbox = undefined;
      return commands;
    };
    const send = (answers: Answer[]): void => void this.#answers.push(...answers);
    const wake = (): void => {
      // A worker that crashed or was closed must not answer.
      if (this.#serve !== serve) return;
      this.#isWoken = true;
      this.#moveSoon();
    };
    const serve = createWorker(setup, this.#parts.createPlatform(this.#status), receive, send, wake);
    return serve;
  }

  #turn(serve: () => void): void {
    this.#inbox = parseCommands(structuredClone(this.#outbox));
    this.#outbox = [];
    try {
      serve();
      // Not inside `serve`, because a listener may send further commands.
      const answers = parseAnswers(structuredClone(this.#answers)) ?? [];
      this.#answers = [];
      for (const answer of answers) this.#tell(answer);
    } catch {
      // The worker ends with all its cells, as a thread would.
      const current = Atomics.load(this.#status, STATUS.cell);
      this.#status.fill(0);
      this.#serve = undefined;
      this.#answers = [];
      this.#outbox = [];
      this.#loseAll(({ number }) => (number === current ? "crashed" : "displaced"));
    }
  }

  #tell(answer: Answer): void {
    const cell = this.#cells.get(answer.cell);
    if (cell === undefined) return;
    switch (answer.kind) {
      case undefined:
        if (answer.isOver) this.#forget(cell);
        cell.listener.onReport(answer);
        return;
      case "piece":
        cell.listener.onPiece(answer);
        // Served in a later turn. The listener may have dropped the cell.
        if (this.#cells.has(cell.number)) this.#post({ type: "next", cell: cell.number });
        return;
      case "snapshot":
        cell.snapshots.shift()?.(answer.bytes ?? undefined);
        return;
      case "computes":
      case "snapshot_refused":
        this.#forget(cell);
        cell.listener.onLost(answer.kind);
        return;
      default:
        answer satisfies never;
    }
  }

  /** False if the cell was already removed. */
  #forget(cell: InProcessCell): boolean {
    for (const request of cell.snapshots.splice(0)) request(undefined);
    return this.#cells.delete(cell.number);
  }

  #loseAll(lossOf: (cell: InProcessCell) => Loss, cause?: unknown): void {
    const cells = [...this.#cells.values()];
    // A copy, because listeners place cells again meanwhile.
    for (const cell of cells) {
      if (this.#forget(cell)) cell.listener.onLost(lossOf(cell), cause);
    }
  }
}

/** Makes a copy, because the protocol refuses a view of a larger buffer. */
function withOwnBytes(start: CellStart): CellStart {
  const { snapshot } = start;
  return snapshot === undefined
    ? start
    : { ...start, snapshot: { ...snapshot, bytes: new Uint8Array(snapshot.bytes) } };
}
