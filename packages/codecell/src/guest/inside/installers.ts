/**
 * Installers: one for each feature of contract/feature-table.ts. They run inside the guest, when a program starts.
 *
 * - An installer takes its connection to the host from the core and exposes globals; it keeps nothing else.
 * - Installers run before the program. The program must not be able to change what an installer made, so that code uses
 *   captured primordials only.
 */
import type { FeatureName } from "../../contract/features.ts";
import { installCatalog } from "./calls/catalog.ts";
import { installConnectors } from "./calls/connectors.ts";
import { installYield } from "./calls/yield.ts";
import type { Installer } from "./guest-core.ts";
import { installFetch } from "./web/fetch.ts";
import { installWebGlobals } from "./web/web-globals.ts";

export const INSTALLERS: Readonly<Record<FeatureName, Installer>> = {
  catalog: installCatalog,
  detachedFails: (core) => core.watchCalls(),
  yield: installYield,
  connectors: installConnectors,
  fetch: installFetch,
  web: installWebGlobals,
};
