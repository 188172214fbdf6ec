/** What the tests of sandboxes are made of. */
import { afterEach } from "vitest";
import { nextTurn } from "../loop/turn.ts";
import type { CellStart, Sandbox } from "../sandbox/sandbox.ts";
import { DrivenCell } from "./driven-cell.ts";

export interface OpenSandboxOptions {
  /** Bytes that the heaps of all cells together may have; as many as they like where it is not given. */
  readonly heapBytes?: number;
}

/** Opens a sandbox of its own each time. */
export type OpenSandbox = (options: OpenSandboxOptions) => Sandbox | Promise<Sandbox>;

/** What not every sandbox can do. */
export type SandboxTest =
  | "drop ends guest code that runs"
  | "a native loop is ended"
  | "a value that takes for ever is given up"
  | "memory that others need is asked for";

export interface SandboxTestSkip {
  readonly test: SandboxTest;
  readonly reason: string;
}

/** Places cells, and drops them when their test is over. */
export interface Placer {
  /** Until its start is answered. */
  readonly place: (start: CellStart) => Promise<DrivenCell>;
  /** Without waiting. */
  readonly put: (start: CellStart) => DrivenCell;
}

/** To be called where tests are declared. */
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

/** Does again what came to a cell that was lost through no fault of its own: a sandbox may lose any, at any time. */
export async function untilKept(make: (moves: number) => Promise<DrivenCell>): Promise<DrivenCell> {
  for (let moves = 0; ; moves++) {
    const cell = await make(moves);
    const isLost = cell.loss === "computes" || cell.loss === "displaced";
    if (!isLost || moves === MOST_MOVES) return cell;
  }
}

/** The end of a program that waits for nothing, as whoever places cells gets it. */
export function endOf({ place }: Placer, start: CellStart): Promise<DrivenCell> {
  return untilKept((moves) => place({ ...start, moves }));
}

/** Whatever a sandbox still had to say has been said: two more cells have come and gone, and some turns have passed. */
export async function settle(placer: Placer, start: CellStart): Promise<void> {
  for (let cell = 0; cell < 2; cell++) await endOf(placer, start);
  for (let turn = 0; turn < 10; turn++) await nextTurn();
}
