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

export function createWorker(
  setup: WorkerSetup,
  equal: EqualRanges,
  send: (reports: Report[]) => void,
): (commands: readonly Command[]) => void {
  const status = new Int32Array(setup.status);
  const now = (): number => performance.now();
  const cells = new Map<number, Cell>();
  const environment: CellEnvironment = {
    vms: new VmPool(new Image(setup.engine, decodeBase64(PRELUDE_BYTECODE), equal)),
    sources: new SourceCache(),
    now,
    isCancelled: (cell) => Atomics.load(status, STATUS.cancel) === cell,
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
    if (cell.ended) cells.delete(command.cell);
    return report;
  }

  return (commands) => {
    let reports: Report[] = [];
    let heldSince = now();
    const dropped = new Set(commands.filter(({ type }) => type === "drop").map(({ cell }) => cell));
    for (const command of commands) {
      if (command.type !== "drop" && dropped.has(command.cell)) continue;
      if (reports.length > 0 && now() - heldSince > REPORT_HOLD_MS) {
        send(reports);
        reports = [];
      }
      Atomics.add(status, STATUS.entries, 1);
      Atomics.store(status, STATUS.cell, command.cell);
      const report = serve(command);
      Atomics.store(status, STATUS.cell, 0);
      if (report === undefined) continue;
      if (reports.length === 0) heldSince = now();
      reports.push(report);
    }
    if (reports.length > 0) send(reports);
  };
}

function decodeBase64(text: string): Uint8Array {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < bytes.length; index++) bytes[index] = binary.charCodeAt(index);
  return bytes;
}
