/**
 * HeapRoom does work in a process whose heap has a given room: work that needs more dies.
 *
 * - The heap of the process is limited, and filled with ballast up to the room. V8 collects all garbage before it
 *   gives up, so only live memory counts, within a turn and between turns, however busy the machine is.
 * - Buffers and texts outside the heap count like the heap. V8 does not limit them, so they are measured between
 *   turns, after a garbage collection. Then the work is done again with less room, by as much as they took.
 * - What existed before the work is not counted: it is prepared, and alive, before the ballast.
 */
import { everyTurn } from "./every-turn.ts";

const MB = 1_000_000;
/** For fewer bytes of buffers the work is not done again. */
const FEW_BYTES = 2 * MB;

export interface RoomCase {
  readonly name: string;
  /** Bytes that the work may take. */
  readonly room: number;
  /** Makes what the work needs. The result of the work counts, since it is alive until the end. */
  readonly prepare: () => (() => unknown) | Promise<() => unknown>;
}

/** The process dies if the work does not find room. Gives the most bytes that buffers took. */
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
  const end = everyTurn(look);
  const working = Promise.resolve(work());
  try {
    look();
    await working;
    look();
  } finally {
    end();
  }
  // What the work gave is alive up to here.
  await working;
  return most;
}

/** Twice: the second collection frees buffers that the first found dead. */
function collect(): void {
  if (gc === undefined) throw new Error("Cannot collect garbage: start Node.js with --expose-gc");
  gc();
  gc();
}

const chunk = Buffer.alloc(MB / 2, "b");
const ballast: string[] = [];
/**
 * Preparing may take far more room than the work. So at most this much ballast stays meanwhile, which is faster than
 * none.
 */
const LEAST_BALLAST = 240;

/** Fills the heap so that this much room is left. */
function leaveRoom(room: number): void {
  const used = process.memoryUsage().heapUsed - ballast.length * chunk.length;
  const wanted = Math.floor((heapLimit() - room - used) / chunk.length);
  if (wanted < 0)
    throw new RangeError(`Cannot leave a room of ${room} bytes: give the process a larger heap`);
  ballast.length = Math.min(ballast.length, wanted);
  while (ballast.length < wanted) ballast.push(chunk.toString("latin1"));
  // Moves live objects out of the young generation, which has room of its own.
  collect();
}

function heapLimit(): number {
  const flag = process.execArgv.find((one) => one.startsWith(HEAP_FLAG));
  if (flag === undefined)
    throw new Error(`Cannot tell the limit of the heap: start Node.js with ${HEAP_FLAG}`);
  return Number(flag.slice(HEAP_FLAG.length)) * 1024 * 1024;
}

const HEAP_FLAG = "--max-old-space-size=";

/** Flags of the process that works. */
export const ROOM_FLAGS: readonly string[] = [
  `${HEAP_FLAG}320`,
  // The young generation is added to the limit.
  "--max-semi-space-size=1",
  "--expose-gc",
  // Without this flag V8 gives up sooner when collecting takes long, as it does here.
  "--no-detect-ineffective-gcs-near-heap-limit",
];
