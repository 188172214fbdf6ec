/**
 * Runs in a worker thread; in an InProcessSandbox, which is for tests, on the caller's own thread. Worker serves the
 * host's commands by moving cells, and reports what the cells did.
 *
 * - The code is neutral: it knows no `node:` and no DOM. An entry gives it its channel.
 * - The worker serves the commands of one cell in the order they came. It skips commands of a cell that was dropped
 *   meanwhile.
 * - When a command waits for the platform, the later commands of its cell wait too. Commands of other cells, and a
 *   `drop`, do not. The same holds while a report goes out in pieces.
 * - The status board says which cell the worker is in, so a supervisor can tell which cell holds the thread.
 */
import { type Answer, type Command, type Report, STATUS } from "../protocol/messages.ts";
import { reportInPieces } from "../protocol/report-pieces.ts";
import type { WorkerSetup } from "../protocol/worker-setup.ts";
import type { Delivery } from "../contract/ledger.ts";
import type { StartCommand } from "./cell-start.ts";
import { Cell, type CellEnvironment } from "./cell.ts";
import { preludeBytecode } from "./bytecode.ts";
import { Image } from "./image.ts";
import type { Eventual, WorkerPlatform } from "./platform.ts";
import { SnapshotCodec } from "./snapshot.ts";
import { SourceCache } from "./source-cache.ts";
import { ThreadClock } from "./thread-clock.ts";
import { VmPool } from "./vm-pool.ts";

/** The worker holds an answer back so that others can join it, but not longer than this. */
const REPORT_HOLD_MS = 2;

/** A command that goes on: the platform has given the answer that the command waited for. */
interface SettledCommand {
  readonly type: "settled";
  readonly cell: number;
  readonly act: () => Answer | undefined;
}

type QueuedCommand = Command | SettledCommand;

/**
 * Returns the function to call whenever messages have come: it serves commands until `receive` has no more.
 *
 * The worker calls `wake` when the platform has answered; whoever gave `wake` then calls the function, at once or
 * later. Without `wake` the worker calls the function itself, and an error it throws rejects a promise that nobody
 * listens to.
 */
export function createWorker(
  setup: WorkerSetup,
  platform: WorkerPlatform,
  receive: () => readonly Command[] | undefined,
  send: (answers: Answer[]) => void,
  wake?: () => void,
): () => void {
  const status = new Int32Array(setup.status);
  const cells = new Map<number, Cell>();
  /** Cells that have ended. Their instances are cleared after their reports have gone out. */
  const over: Cell[] = [];
  let queue: QueuedCommand[] = [];
  /** Cells that wait for the platform or for `next`, each with the commands that have come for it since. */
  const awaiting = new Map<number, Command[]>();
  /** What is left of the reports that go out in pieces. */
  const unsent = new Map<number, Answer[]>();
  let answers: Answer[] = [];
  let heldSince = 0;
  /** Histories of cells that have not started yet. */
  const histories = new Map<number, Delivery[]>();
  const image = new Image(setup.engine, preludeBytecode(), platform.equal);
  const environment: CellEnvironment = {
    vms: new VmPool(image, setup.vms, platform.onMemoryDropped),
    sources: new SourceCache(),
    snapshots: new SnapshotCodec(image, platform),
    now,
    threadClock: platform.threadTimeMs && new ThreadClock(platform.threadTimeMs),
    countWaiting: (cell) => {
      receiveAll();
      // The worker hears the platform's answers only when this thread is free, so cells that await them count as
      // waiting.
      let waiting = Atomics.load(status, STATUS.wanted) + awaiting.size;
      for (const command of queue) if (command.cell !== cell && command.type !== "drop") waiting++;
      return waiting;
    },
    isCancelled: (cell) => {
      Atomics.add(status, STATUS.polls, 1);
      // Answers from before this cell's burst may not wait until the cell leaves the thread.
      if (answers.length > 0 && now() - heldSince > REPORT_HOLD_MS) sendAnswers();
      return Atomics.load(status, STATUS.cancel) === cell;
    },
  };

  function receiveAll(): void {
    for (let more = receive(); more !== undefined; more = receive()) queue = enqueue(queue, more);
  }

  function serve(command: QueuedCommand): Answer | undefined {
    switch (command.type) {
      case "settled":
        return command.act();
      case "history":
        histories.set(command.cell, [...(histories.get(command.cell) ?? []), ...command.deliveries]);
        return undefined;
      case "start":
        return start(withHistory(command));
      case "deliver":
        return move(command.cell, (cell) => cell.deliver(command.delivery));
      case "snapshot":
        return snapshot(command.cell);
      case "next":
        return next(command.cell);
      case "drop":
        histories.delete(command.cell);
        awaiting.delete(command.cell);
        unsent.delete(command.cell);
        cells.get(command.cell)?.drop();
        cells.delete(command.cell);
        tellHeld();
        Atomics.add(status, STATUS.dropped, 1);
        return undefined;
      default:
        return command satisfies never;
    }
  }

  function withHistory(command: StartCommand): StartCommand {
    const told = histories.get(command.cell);
    histories.delete(command.cell);
    return told === undefined ? command : { ...command, history: [...told, ...command.history] };
  }

  function start(command: StartCommand): Answer | undefined {
    const cell = new Cell(command, environment);
    const { snapshot: given } = command;
    if (given === undefined) return begin(command, cell);
    return after(command.cell, cell.decode(), (found) =>
      cell.restore(found, given.progress)
        ? begin(command, cell)
        : { kind: "snapshot_refused", cell: command.cell },
    );
  }

  function begin({ cell: number, history }: StartCommand, cell: Cell): Answer | undefined {
    cells.set(number, cell);
    const answer = move(number, () => cell.start());
    // One burst makes no report that is too large.
    if (history.length === 0 || answer === undefined || answer.kind !== undefined) return answer;
    const [first, ...rest] = reportInPieces(answer);
    if (rest.length > 0) {
      unsent.set(number, rest);
      awaiting.set(number, []);
    }
    return first;
  }

  /** The host has read a piece. Commands that came meanwhile go on when nothing is left. */
  function next(number: number): Answer | undefined {
    const rest = unsent.get(number);
    const answer = rest?.shift();
    if (rest?.length !== 0) return answer;
    unsent.delete(number);
    // They came before all commands of this cell that are in the queue.
    queue.unshift(...(awaiting.get(number) ?? []));
    awaiting.delete(number);
    return answer;
  }

  function snapshot(number: number): Answer | undefined {
    // If the cell is gone, the host knows from its last report that it is over.
    const cell = cells.get(number);
    if (cell === undefined) return undefined;
    return after(number, cell.snapshot(), (bytes) => ({
      kind: "snapshot",
      cell: number,
      bytes: bytes ?? null,
    }));
  }

  /** Calls `act` with the platform's answer, now or later. A failure of the platform counts as undefined. */
  function after<T>(
    number: number,
    given: Eventual<T | undefined>,
    act: (found: T | undefined) => Answer | undefined,
  ): Answer | undefined {
    if (!(given instanceof Promise)) return act(given);
    const commands: Command[] = [];
    awaiting.set(number, commands);
    const goOn = (found?: T): void => {
      // The cell was dropped meanwhile.
      if (awaiting.get(number) !== commands) return;
      awaiting.delete(number);
      queue.push({ type: "settled", cell: number, act: () => act(found) }, ...commands);
      if (wake === undefined) serveAll();
      else wake();
    };
    given.then(goOn, () => goOn());
    return undefined;
  }

  function move(number: number, action: (cell: Cell) => Report): Answer | undefined {
    const cell = cells.get(number);
    if (cell === undefined) return undefined;
    const report = action(cell);
    if (report.isOver) {
      cells.delete(number);
      over.push(cell);
    }
    // Another placement repeats the burst that this cell left, so nobody may hear of that burst here.
    return cell.hasLeft ? { kind: "computes", cell: number } : report;
  }

  function tellHeld(): void {
    Atomics.store(status, STATUS.held, Math.ceil(environment.vms.heldBytes / 1024));
  }

  function enter(command: QueuedCommand): Answer | undefined {
    Atomics.add(status, STATUS.entries, 1);
    Atomics.store(status, STATUS.cell, command.cell);
    const answer = serve(command);
    tellHeld();
    Atomics.store(status, STATUS.cell, 0);
    return answer;
  }

  function sendAnswers(): void {
    const sent = answers;
    answers = [];
    send(sent);
  }

  function serveAll(): void {
    for (;;) {
      // Look before every entry: a cell may hold this thread for long, and many messages can come meanwhile.
      receiveAll();
      const command = queue.shift();
      if (answers.length > 0 && (command === undefined || now() - heldSince > REPORT_HOLD_MS)) {
        sendAnswers();
      }
      if (answers.length === 0 && over.length > 0) {
        for (const cell of over.splice(0)) cell.drop();
        tellHeld();
      }
      if (command === undefined) return;
      if (mustWait(command)) continue;
      const answer = enter(command);
      if (answer === undefined) continue;
      if (answers.length === 0) heldSince = now();
      answers.push(answer);
    }
  }

  /**
   * Whether the command has to wait because its cell waits for the platform or for `next`. Then the command joins that
   * cell's list.
   */
  function mustWait(command: QueuedCommand): boolean {
    if (awaiting.size === 0 || command.type === "settled") return false;
    if (command.type === "drop" || command.type === "next") return false;
    const commands = awaiting.get(command.cell);
    commands?.push(command);
    return commands !== undefined;
  }

  return serveAll;
}

/** Adds the commands to the queue, without those of cells that these commands drop. */
function enqueue(queue: QueuedCommand[], commands: readonly Command[]): QueuedCommand[] {
  const dropped = new Set<number>();
  for (const { type, cell } of commands) if (type === "drop") dropped.add(cell);
  const kept = dropped.size === 0 ? queue : queue.filter(({ cell }) => !dropped.has(cell));
  for (const command of commands) {
    if (command.type === "drop" || !dropped.has(command.cell)) kept.push(command);
  }
  return kept;
}

function now(): number {
  return performance.now();
}
