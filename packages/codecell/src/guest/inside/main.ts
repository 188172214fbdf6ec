/**
 * Main: builds the guest's world, once, inside the base image.
 *
 * - `host` and `functions` are bound by the wrapper that scripts/build-guest.ts puts around the bundle:
 *   the prelude is one function expression that takes the host function and returns the worker's functions.
 */
import { HOST } from "../abi.ts";
import { installAbort } from "./abort.ts";
import { installClock } from "./clock.ts";
import { createConsole } from "./console.ts";
import { createCore, type HostFunction } from "./core.ts";
import { installRandom } from "./crypto.ts";
import { installEncoding } from "./encoding.ts";
import { exposeGlobal } from "./expose.ts";
import { harden } from "./harden.ts";
import { installHeaders } from "./headers.ts";
import { installStructuredClone } from "./structured-clone.ts";

declare const host: HostFunction;
// oxlint-disable-next-line no-unused-vars -- the wrapper returns it
declare let functions: readonly unknown[];

exposeGlobal(
  "console",
  createConsole((level, text) => {
    host(HOST.log, level, text);
  }),
);
installClock();
installRandom();
installStructuredClone();
installEncoding();
installHeaders();
const core = createCore(host);
installAbort(core.setTimer);
harden();
functions = core.functions;
