/** Yield: the global with which a program gives control back until its run is resumed. */
import { exposeGlobal } from "./expose.ts";
import { primordial } from "./primordials.ts";

export function installYield(
  call: (reason: string | undefined, error: Error) => Promise<unknown>,
  standIn?: (make: () => Promise<unknown>) => Promise<unknown>,
): void {
  // A method, so that it has its name and is no constructor, like a built-in.
  const { yield_control } = {
    async yield_control(reason?: unknown): Promise<void> {
      if (reason !== undefined && typeof reason !== "string") {
        const given = reason === null ? "null" : typeof reason;
        throw new primordial.TypeError(
          `Cannot yield: the reason is of type ${given}, expected a string or none`,
        );
      }
      await call(reason, new primordial.Error());
    },
  };
  if (standIn === undefined) {
    exposeGlobal("yield_control", yield_control);
    return;
  }
  // The program never has the call's own promise.
  const watched = {
    yield_control(reason?: unknown): Promise<unknown> {
      return standIn(() => yield_control(reason));
    },
  };
  exposeGlobal("yield_control", watched.yield_control);
}
