/**
 * HeapRoom: does work in a process whose heap has so much room and no more: what needs more dies.
 *
 * - The heap of the process is limited, and filled up to the room with ballast. V8 collects all garbage before it gives
 *   up, so only what is alive counts, within a turn as between two, however busy the machine is.
 * - Buffers and texts outside of the heap count as much as the heap. V8 does not limit them, so they are looked at
 *   between turns, garbage collected before; the work is done again with as much less room as they took.
 * - What was there before the work is not counted: it is prepared, and alive, before the ballast is.
 */
import { setImmediate as nextTurn } from "node:timers/promises";

const MB = 1_000_000;
/** Less of buffers is not worth doing the work again. */
const FEW_BYTES = 2 * MB;

export interface RoomCase {
  readonly name: string;
  /** Bytes that the work may take. */
  readonly room: number;
  /** Makes what the work is given. What the work gives counts, as it is alive until the end. */
  readonly prepare: () => (() => unknown) | Promise<() => unknown>;
}

/** The process dies where the work does not find room. Gives the most that buffers took. */
export async function workInRoom({ name, room, prepare }: RoomCase): Promise<number> {
  const buffers = await attempt(prepare, room);
  if (buffers > room) throw new Error(`"${name}" takes ${Math.round(buffers / MB)} MB of buffers`);
  if (buffers > FEW_BYTES) await attempt(prepare, room - buffers);
  return buffers;
}

async function attempt(prepare: RoomCase["prepare"], room: number): Promise<number> {
  ballast.length = Math.min(ballast.length, LEAST_BALLAST);
  const work = await prepare();
  collect();
  leaveRoom(room);
  const before = process.memoryUsage().external;
  let most = 0;
  const look = (): void => {
    if (process.memoryUsage().external - before <= most + MB) return;
    collect();
    most = Math.max(most, process.memoryUsage().external - before);
  };
  const state = { isDone: false };
  const working = Promise.resolve(work()).finally(() => {
    state.isDone = true;
  });
  look();
  while (!state.isDone) {
    await nextTurn();
    look();
  }
  // What it gave is alive up to here.
  await working;
  return most;
}

/** Twice: buffers that one collection finds dead are freed by the next. */
function collect(): void {
  if (gc === undefined) throw new Error("Cannot collect garbage: start Node.js with --expose-gc");
  gc();
  gc();
}

const chunk = Buffer.alloc(MB / 2, "b");
const ballast: string[] = [];
/** Preparing may take far more room than the work: no more ballast than this stays meanwhile, which is faster than none. */
const LEAST_BALLAST = 240;

/** Fills the heap up to so much of it. */
function leaveRoom(room: number): void {
  const used = process.memoryUsage().heapUsed - ballast.length * chunk.length;
  const wanted = Math.floor((heapLimit() - room - used) / chunk.length);
  if (wanted < 0)
    throw new RangeError(`Cannot leave a room of ${room} bytes: give the process a larger heap`);
  ballast.length = Math.min(ballast.length, wanted);
  while (ballast.length < wanted) ballast.push(chunk.toString("latin1"));
  // What is alive is moved out of the young generation, which has room of its own.
  collect();
}

function heapLimit(): number {
  const flag = process.execArgv.find((one) => one.startsWith(HEAP_FLAG));
  if (flag === undefined)
    throw new Error(`Cannot tell the limit of the heap: start Node.js with ${HEAP_FLAG}`);
  return Number(flag.slice(HEAP_FLAG.length)) * 1024 * 1024;
}

const HEAP_FLAG = "--max-old-space-size=";

/** Of the process that works. */
export const ROOM_FLAGS: readonly string[] = [
  `${HEAP_FLAG}320`,
  // The young generation comes on top of the limit.
  "--max-semi-space-size=1",
  "--expose-gc",
  // Otherwise V8 gives up sooner where collecting takes long, as it does here.
  "--no-detect-ineffective-gcs-near-heap-limit",
];
