/** Yield: the global with which a program gives control back until its run is resumed. Runs inside the guest. */
import { BEHIND } from "../../abi.ts";
import type { Ask } from "./call-watch.ts";
import { exposeGlobal } from "../expose.ts";
import type { GuestCore } from "../guest-core.ts";
import { primordial } from "../primordials.ts";

export function installYield(core: GuestCore): void {
  const call: Ask = (reason, error) => core.ask(BEHIND.yield_control, reason, error);
  const standIn = core.standIn();
  if (standIn === undefined) {
    exposeGlobal("yield_control", createYield(call));
    return;
  }
  const watched = {
    yield_control(reason?: unknown): Promise<unknown> {
      return standIn(call, (watchedCall) => createYield(watchedCall)(reason));
    },
  };
  exposeGlobal("yield_control", watched.yield_control);
}

function createYield(call: Ask): (reason?: unknown) => Promise<void> {
  // A method, so that it has a name and is not a constructor, like a built-in.
  const { yield_control } = {
    async yield_control(reason?: unknown): Promise<void> {
      if (reason !== undefined && typeof reason !== "string") {
        const given = reason === null ? "null" : typeof reason;
        throw new primordial.TypeError(
          `Cannot yield: the reason is of type ${given}, expected a string or nothing`,
        );
      }
      await call(reason, new primordial.Error());
    },
  };
  return yield_control;
}
