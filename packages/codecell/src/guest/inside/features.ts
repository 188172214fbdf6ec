/**
 * Features: installs those that one program has, when it starts. Runs inside the guest.
 *
 * - In the order of contract/feature-table.ts. A program without features does not come here.
 */
import { FEATURE_FLAGS, TEXT_FEATURES } from "../abi.ts";
import type { GuestCore } from "./guest-core.ts";
import { INSTALLERS } from "./installers.ts";

/** Made while the image is built: at the start of a run only numbers are compared. */
const STEPS = Object.entries(FEATURE_FLAGS).map(([name, flag]) => ({
  flag,
  hasText: TEXT_FEATURES.includes(name),
  install: INSTALLERS[name as keyof typeof INSTALLERS],
}));

/** Installs the features of one program; `texts` are of those that have one, in the order of the table. */
export function installFeatures(core: GuestCore, flags: number, texts: readonly string[]): void {
  let used = 0;
  for (let index = 0; index < STEPS.length; index++) {
    const { flag, hasText, install } = STEPS[index] as (typeof STEPS)[number];
    if ((flags & flag) !== 0) install(core, hasText ? (texts[used++] as string) : "");
  }
}
