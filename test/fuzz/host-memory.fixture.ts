/** Works in the room that each case has, one after the other. Prints the name of each before it: the last is the one it dies of. */
import { workInRoom } from "./heap-room.ts";
import { CONTROLS } from "./room-controls.ts";

/** The name of a control; without one all cases are tried, or those whose names have the second word in them. */
const [which = "", only = ""] = process.argv.slice(2);
const control = CONTROLS[which];
// Controls need nothing of what is tried.
const cases = control === undefined ? (await import("./host-memory.ts")).CASES : [control];
for (const one of cases) {
  if (!one.name.includes(only)) continue;
  process.stdout.write(`${one.name}\n`);
  await workInRoom(one);
}
process.stdout.write("all of them\n");
process.exit();
