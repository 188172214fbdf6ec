/**
 * Main: builds the guest's globals, once, in the image. Runs inside the guest.
 *
 * - The wrapper that scripts/build-guest.ts puts around the bundle binds `host` and `functions`: the prelude is one
 *   function expression that takes the host function and returns the worker's functions.
 */
import { HOST } from "../abi.ts";
import { installAbort } from "./web/abort.ts";
import { createCore, type HostFunction } from "./core.ts";
import { harden } from "./harden.ts";
import { connectParts } from "./parts.ts";
import { installWorld } from "./world.ts";

declare const host: HostFunction;
// oxlint-disable-next-line no-unused-vars -- the wrapper returns it
declare let functions: readonly unknown[];

connectParts(host);
installWorld((level, text) => {
  host(HOST.log, level, text);
});
const core = createCore(host);
installAbort(core.setTimer);
harden();
functions = core.functions;
