/** World: installs the guest's web globals, except those that need the core. Runs inside the guest. */
import { installClock } from "./calls/clock.ts";
import { createConsole } from "./console/console.ts";
import { installRandom } from "./web/crypto.ts";
import { installEncoding } from "./web/encoding.ts";
import { exposeGlobal } from "./expose.ts";
import { installHeaders } from "./web/headers.ts";
import { installStructuredClone } from "./web/structured-clone.ts";
import { installUrl } from "./url/url.ts";

export function installWorld(emit: (level: string, text: string) => void): void {
  exposeGlobal("console", createConsole(emit));
  installClock();
  installRandom();
  installStructuredClone();
  installEncoding();
  installHeaders();
  installUrl();
}
