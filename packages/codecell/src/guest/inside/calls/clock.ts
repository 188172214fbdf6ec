/**
 * Clock: `performance`, derived from Date, so that both clocks stand still between deliveries. Runs inside the guest.
 *
 * - `startClock` marks the beginning of the run; until then the origin is the epoch.
 */
import { dressClass, exposeGlobal } from "../expose.ts";
import { create, dateNow, primordial } from "../primordials.ts";

const { TypeError } = primordial;
let originMs = 0;

class Performance {
  constructor() {
    throw new TypeError("Illegal constructor");
  }

  get timeOrigin(): number {
    return originMs;
  }

  now(): number {
    return dateNow() - originMs;
  }

  toJSON(): object {
    return { timeOrigin: originMs };
  }
}

export function startClock(): void {
  originMs = dateNow();
}

export function installClock(): void {
  dressClass("Performance", Performance);
  exposeGlobal("performance", create(Performance.prototype));
}
