/** RoomControls: work that has to fit into its room, and work that must not. */
import type { RoomCase } from "./heap-room.ts";

const MB = 1_000_000;
const ROOM = 64 * MB;

export const CONTROLS: Readonly<Record<string, RoomCase>> = {
  garbage: { name: "garbage", room: ROOM, prepare: () => () => fill(400, 10) },
  fits: { name: "fits", room: ROOM, prepare: () => () => fill(50, 50) },
  heap: { name: "heap", room: ROOM, prepare: () => () => fill(70, 70) },
  buffers: { name: "buffers", room: ROOM, prepare: () => () => Buffer.alloc(70 * MB) },
  both: { name: "both", room: ROOM, prepare: () => () => [Buffer.alloc(35 * MB), fill(35, 35)] },
};

/** Allocates so many megabytes, and keeps the last `kept` of them. */
function fill(megabytes: number, kept: number): readonly unknown[] {
  const all: unknown[] = [];
  for (let at = 0; at < megabytes; at++) all[at % kept] = Array.from({ length: MB / 8 }, () => at);
  return all;
}
