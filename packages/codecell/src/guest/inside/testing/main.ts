/**
 * A prelude for tests: the real web globals with a stub core, which only seeds, starts the clock, and fires timers on
 * command. Runs inside the guest.
 */
import { installAbort } from "../web/abort.ts";
import { createCallWatch } from "../calls/call-watch.ts";
import { startClock } from "../calls/clock.ts";
import type { HostFunction } from "../core.ts";
import { harden, isOutOfMemory } from "../harden.ts";
import { append, at, list, primordial } from "../primordials.ts";
import { seedRandom } from "../calls/random.ts";
import { connectParts } from "../parts.ts";
import { installWebGlobals } from "../web/web-globals.ts";
import { installWorld } from "../world.ts";

declare const host: HostFunction;
// oxlint-disable-next-line no-unused-vars -- the wrapper returns it
declare let functions: readonly unknown[];

const calls = createCallWatch();
const timers = list<() => void>();
connectParts(host);
installWorld((level, text) => {
  host(2, level, text);
});
installAbort((callback) => {
  append(timers, callback);
  return timers.length;
});
harden();
functions = [
  (seed: string): void => {
    seedRandom(seed);
    startClock();
  },
  (): void => {
    for (let i = 0; i < timers.length; i += 1) at(timers, i)();
    timers.length = 0;
  },
  isOutOfMemory,
  (promise: object): void => {
    calls.watch(0, promise, new primordial.Error());
  },
  (): boolean => calls.unobserved[0] === undefined,
  installWebGlobals,
];
