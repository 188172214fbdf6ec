/**
 * Works in the room that each case has, case by case. It prints the name of each case first, so the last name is the
 * case it died of.
 */
import { type RoomCase, workInRoom } from "./heap-room.ts";
import { CONTROLS } from "./room-controls.ts";

/** Each in a module of its own: none needs the modules of the others. */
const GROUPS: Readonly<Record<string, () => Promise<{ readonly CASES: readonly RoomCase[] }>>> = {
  surfaces: () => import("./surface-memory.ts"),
  runs: () => import("./run-memory.ts"),
  "code mode": () => import("./code-mode-memory.ts"),
};

/** The name of a group or of a control. Of a group all cases are tried, or those whose names contain the second word. */
const [which = "", only = ""] = process.argv.slice(2);
const control = CONTROLS[which];
const cases = control === undefined ? ((await GROUPS[which]?.())?.CASES ?? []) : [control];
for (const one of cases) {
  if (!one.name.includes(only)) continue;
  process.stdout.write(`${one.name}\n`);
  await workInRoom(one);
}
process.stdout.write(cases.length > 0 ? "all of them\n" : `There is no group "${which}"\n`);
process.exit();
