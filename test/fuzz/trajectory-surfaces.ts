/**
 * Surfaces of full trajectories: as many calls as a trajectory keeps, with values that a program chose. The values
 * differ, because an engine is fast with names that it has seen.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { LIMIT_BOUNDS } from "../../packages/codecell/src/contract/limits.ts";
import type { Json } from "../../packages/codecell/src/contract/value.ts";
import { Trajectory, type TrajectoryOptions } from "../../packages/codecell/src/surface/record/trajectory.ts";
import { parsed, type Surface } from "./surface-parts.ts";

/** Bytes of all values and of one value that a trajectory keeps by default. */
const [ALL, ONE] = [8 * 1024 * 1024, 13_000];
const SOURCE = LIMIT_BOUNDS.sourceBytes.default;

/** Values of about `ONE` bytes that the whole value consists of. */
function piecesOf(whole: Json): Json[] {
  if (typeof whole === "string") {
    const count = Math.ceil(whole.length / ONE);
    return Array.from({ length: count }, (_, at) => whole.slice(at * ONE, (at + 1) * ONE));
  }
  if (typeof whole !== "object" || whole === null) return [whole];
  // A deep value: what is wide inside it is split, and each piece is as deep.
  if (Array.isArray(whole) && whole.length === 1) return piecesOf(whole[0] as Json).map((piece) => [piece]);
  const pieces: Json[] = [];
  const names = Array.isArray(whole) ? undefined : Object.keys(whole);
  const members = names === undefined ? (whole as readonly Json[]) : Object.values(whole);
  let [from, left] = [0, ONE];
  for (const [at, member] of members.entries()) {
    left -= JSON.stringify(member).length + (names === undefined ? 1 : (names[at]?.length ?? 0) + 4);
    if (left > 0 && at < members.length - 1) continue;
    const some = members.slice(from, at + 1);
    const piece = names?.slice(from, at + 1).map((name, index) => [name, some[index]]);
    pieces.push(piece === undefined ? some : (Object.fromEntries(piece) as Json));
    [from, left] = [at + 1, ONE];
  }
  return pieces;
}

/** A trajectory that has just no room for another value. Half of the calls were given a value, and gave another. */
async function fullOf(json: string, options?: TrajectoryOptions): Promise<Trajectory> {
  const trajectory = new Trajectory(options);
  const pieces = piecesOf(parsed(json));
  const pieceAt = (at: number): Json => pieces[at % pieces.length] ?? null;
  trajectory.end(trajectory.begin("exec", "p", "{}"), "completed", "{}");
  for (let at = 0, left = ALL; left > 0; at += 2) {
    trajectory.startCall({ parentToolCallId: "p", callId: `c${at}`, tool: "t", input: pieceAt(at) });
    trajectory.endCall(`c${at}`, { status: "completed", result: pieceAt(at + 1) });
    left -= 2 * ONE;
    if (at % 32 === 0) await nextTurn();
  }
  return trajectory;
}

export const TRAJECTORY_SURFACES: readonly Surface[] = [
  {
    name: "trajectory: export a full one",
    given: "json",
    most: ALL,
    prepare: async (json) => {
      const trajectory = await fullOf(json);
      return () => trajectory.export();
    },
  },
  {
    name: "trajectory: export a full one through a hook",
    given: "json",
    most: ALL,
    prepare: async (json) => {
      const trajectory = await fullOf(json, { redact: (record) => record });
      return () => trajectory.export();
    },
  },
  {
    name: "trajectory: make room for an exec",
    given: "json",
    most: ALL,
    prepare: async (json) => {
      const trajectory = await fullOf(json);
      const text = "a".repeat(SOURCE);
      return () => {
        trajectory.end(trajectory.begin("exec", "q", text), "completed", text);
        return trajectory.export();
      };
    },
  },
];
