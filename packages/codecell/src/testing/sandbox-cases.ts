/** Runs in tests. What the tests of sandboxes share. */
import { afterEach } from "vitest";
import { nextTurn } from "../loop/turn.ts";
import type { CellStart, Sandbox } from "../sandbox/sandbox.ts";
import { DrivenCell } from "./driven-cell.ts";

export interface OpenSandboxOptions {
  /** Bytes that the heaps of all cells together may have; without it there is no bound. */
  readonly heapBytes?: number;
}

/** Opens a new sandbox each time. */
export type OpenSandbox = (options: OpenSandboxOptions) => Sandbox | Promise<Sandbox>;

/** Tests of what not every sandbox can do. */
export type SandboxTest =
  | "drop ends guest code that runs"
  | "a native loop is ended"
  | "a value that takes for ever is given up"
  | "memory that others need is asked for";

export interface SandboxTestSkip {
  readonly test: SandboxTest;
  readonly reason: string;
}

/** Places cells, and drops them at the end of their test. */
export interface Placer {
  /** Places a cell and waits for the report of its start. */
  readonly place: (start: CellStart) => Promise<DrivenCell>;
  /** Places a cell without waiting. */
  readonly put: (start: CellStart) => DrivenCell;
}

/** Call this where tests are declared. */
export function createPlacer(sandbox: () => Sandbox): Placer {
  const cells: DrivenCell[] = [];
  afterEach(() => {
    for (const cell of cells.splice(0)) cell.placement.drop();
  });
  const put = (start: CellStart): DrivenCell => {
    const cell = new DrivenCell(sandbox(), start);
    cells.push(cell);
    return cell;
  };
  const place = async (start: CellStart): Promise<DrivenCell> => {
    const cell = put(start);
    await cell.reports(1);
    return cell;
  };
  return { place, put };
}

const MOST_MOVES = 13;

/** Repeats `make` while its cell is lost through no fault of its own: a sandbox may lose any cell at any time. */
export async function untilKept(make: (moves: number) => Promise<DrivenCell>): Promise<DrivenCell> {
  for (let moves = 0; ; moves++) {
    const cell = await make(moves);
    const isLost = cell.loss === "computes" || cell.loss === "displaced";
    if (!isLost || moves === MOST_MOVES) return cell;
  }
}

/** Runs a program that waits for nothing to its end, as a host would. */
export function endOf({ place }: Placer, start: CellStart): Promise<DrivenCell> {
  return untilKept((moves) => place({ ...start, moves }));
}

/** Waits until a sandbox has nothing left to say: two more cells have come and gone, and some turns have passed. */
export async function settle(placer: Placer, start: CellStart): Promise<void> {
  for (let cell = 0; cell < 2; cell++) await endOf(placer, start);
  for (let turn = 0; turn < 10; turn++) await nextTurn();
}
