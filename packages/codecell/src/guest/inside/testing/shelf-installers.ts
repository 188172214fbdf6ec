/**
 * The installers, plus the installer of a feature that exists only in a test (test/features/shelf.ts). It has a
 * namespace of its own, and a function in `tools`. Runs inside the guest.
 */
import { BEHIND as BEHIND_CALLS } from "../../abi.ts";
import { exposeFixed } from "../expose.ts";
import type { GuestCore } from "../guest-core.ts";
import { INSTALLERS as INSTALLED } from "../installers.ts";
import { freeze, primordial, record } from "../primordials.ts";

// The library's own table has no shelf, so the type of its calls does not know this one.
const BEHIND = BEHIND_CALLS as typeof BEHIND_CALLS & { readonly "shelf.put": number };

function installShelf({ ask, addToTools }: GuestCore, label: string): void {
  const put = freeze((value: unknown) => ask(BEHIND["shelf.put"], value, new primordial.Error()));
  const shelf = record<unknown>();
  shelf["label"] = label;
  shelf["put"] = put;
  const functions = record<typeof put>();
  functions["shelve"] = put;
  addToTools(functions);
  exposeFixed("shelf", freeze(shelf));
}

export const INSTALLERS = { ...INSTALLED, shelf: installShelf };
