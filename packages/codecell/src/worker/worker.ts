/**
 * Worker: serves commands of the host by moving cells, and reports what they did.
 *
 * - Neutral: knows no `node:` and no DOM; an entry gives it its channel.
 * - Commands of one cell are served in the order they came; those of a cell dropped meanwhile are skipped.
 * - Says on the status board which cell it is in, so that a supervisor can tell who holds it.
 */
import { type Command, type Report, STATUS, type WorkerSetup } from "../bridge/protocol.ts";
import { PRELUDE_BYTECODE } from "../guest/prelude.generated.ts";
import { Cell, type CellEnvironment } from "./cell.ts";
import { type EqualRanges, Image } from "./image.ts";
import { SourceCache } from "./source-cache.ts";
import { VmPool } from "./vm-pool.ts";

/** Reports are held back for others to join them, but not longer than this. */
const REPORT_HOLD_MS = 2;

/** Returns the function to call whenever messages have come: it serves until `receive` has no more. */
export function createWorker(
  setup: WorkerSetup,
  equal: EqualRanges,
  receive: () => readonly Command[] | undefined,
  send: (reports: Report[]) => void,
): () => void {
  const status = new Int32Array(setup.status);
  const cells = new Map<number, Cell>();
  /** Cells that ended, whose instances are cleared when their reports have gone out. */
  const over: Cell[] = [];
  const environment: CellEnvironment = {
    vms: new VmPool(new Image(setup.engine, decodeBase64(PRELUDE_BYTECODE), equal)),
    sources: new SourceCache(),
    now,
    isCancelled: (cell) => {
      Atomics.add(status, STATUS.polls, 1);
      return Atomics.load(status, STATUS.cancel) === cell;
    },
  };

  function serve(command: Command): Report | undefined {
    if (command.type === "drop") {
      cells.get(command.cell)?.drop();
      cells.delete(command.cell);
      return undefined;
    }
    let cell = cells.get(command.cell);
    if (command.type === "start") cells.set(command.cell, (cell = new Cell(command, environment)));
    if (cell === undefined) return undefined;
    const report = command.type === "start" ? cell.start() : cell.deliver(command.delivery);
    if (report.isOver) {
      cells.delete(command.cell);
      over.push(cell);
    }
    return report;
  }

  function enter(command: Command): Report | undefined {
    Atomics.add(status, STATUS.entries, 1);
    Atomics.store(status, STATUS.cell, command.cell);
    const report = serve(command);
    Atomics.store(status, STATUS.cell, 0);
    return report;
  }

  return () => {
    let queue: Command[] = [];
    let reports: Report[] = [];
    let heldSince = 0;
    for (;;) {
      // Looked for before every entry: one cell may hold this thread for long, and much can happen meanwhile.
      for (let more = receive(); more !== undefined; more = receive()) queue = enqueue(queue, more);
      const command = queue.shift();
      if (reports.length > 0 && (command === undefined || now() - heldSince > REPORT_HOLD_MS)) {
        send(reports);
        reports = [];
        for (const cell of over.splice(0)) cell.drop();
      }
      if (command === undefined) return;
      const report = enter(command);
      if (report === undefined) continue;
      if (reports.length === 0) heldSince = now();
      reports.push(report);
    }
  };
}

function decodeBase64(text: string): Uint8Array {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < bytes.length; index++) bytes[index] = binary.charCodeAt(index);
  return bytes;
}

/** Takes in commands; those of cells that are dropped by them are not worth serving any more. */
function enqueue(queue: Command[], commands: readonly Command[]): Command[] {
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
