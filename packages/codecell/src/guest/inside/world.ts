/**
 * World: the web globals of the guest, all but those that need the core.
 */
import { installClock } from "./clock.ts";
import { createConsole } from "./console.ts";
import { installRandom } from "./crypto.ts";
import { installEncoding } from "./encoding.ts";
import { exposeGlobal } from "./expose.ts";
import { installHeaders } from "./headers.ts";
import { installStructuredClone } from "./structured-clone.ts";
import { installUrl } from "./url.ts";

export function installWorld(emit: (level: string, text: string) => void): void {
  exposeGlobal("console", createConsole(emit));
  installClock();
  installRandom();
  installStructuredClone();
  installEncoding();
  installHeaders();
  installUrl();
}
