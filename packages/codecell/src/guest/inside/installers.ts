/**
 * Installers: one per feature of contract/feature-table.ts. They run inside the guest, when a program starts.
 *
 * - An installer gets what joins it to the host from the core, and puts globals in place; it keeps nothing else.
 * - Nothing of the program has run yet. What the program does later must not reach what an installer made, so what it makes
 *   uses captured primordials only.
 */
import type { FeatureName } from "../../contract/features.ts";
import { installCatalog } from "./calls/catalog.ts";
import { installYield } from "./calls/yield.ts";
import type { Installer } from "./guest-core.ts";
import { installFetch } from "./web/fetch.ts";

export const INSTALLERS: Readonly<Record<FeatureName, Installer>> = {
  catalog: installCatalog,
  detachedFails: (core) => core.watchCalls(),
  yield: installYield,
  fetch: installFetch,
};
