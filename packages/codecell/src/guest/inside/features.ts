/**
 * Features: installs the features of one program when it starts. Runs inside the guest.
 *
 * - Installs in the order of contract/feature-table.ts. Not called for a program without features.
 */
import { FEATURE_FLAGS, TEXT_FEATURES } from "../abi.ts";
import type { GuestCore } from "./guest-core.ts";
import { INSTALLERS } from "./installers.ts";

/** Made when the image is built, so that the start of a run only compares numbers. */
const STEPS = Object.entries(FEATURE_FLAGS).map(([name, flag]) => ({
  flag,
  hasText: TEXT_FEATURES.includes(name),
  install: INSTALLERS[name as keyof typeof INSTALLERS],
}));

/**
 * Installs the features of one program; `texts` are the settings of features that have a text, in the order of the
 * table.
 */
export function installFeatures(core: GuestCore, flags: number, texts: readonly string[]): void {
  let used = 0;
  for (let index = 0; index < STEPS.length; index++) {
    const { flag, hasText, install } = STEPS[index] as (typeof STEPS)[number];
    if ((flags & flag) !== 0) install(core, hasText ? (texts[used++] as string) : "");
  }
}
