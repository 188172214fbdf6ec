/**
 * Works in the room that each case has, case by case. It prints the name of each case first, so the last name is the
 * case it died of.
 */
import { workInRoom } from "./heap-room.ts";
import { CONTROLS } from "./room-controls.ts";

/** The name of a control. Without one all cases are tried, or those whose names contain the second word. */
const [which = "", only = ""] = process.argv.slice(2);
const control = CONTROLS[which];
// Controls do not need the modules of the cases.
const cases = control === undefined ? (await import("./host-memory.ts")).CASES : [control];
for (const one of cases) {
  if (!one.name.includes(only)) continue;
  process.stdout.write(`${one.name}\n`);
  await workInRoom(one);
}
process.stdout.write("all of them\n");
process.exit();
