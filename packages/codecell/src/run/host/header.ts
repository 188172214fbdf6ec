/** Runs on the host. Header: what a run's ledger begins with. */
import { NO_FEATURES } from "../../contract/features.ts";
import { type Limits, resolveLimits } from "../../contract/limits.ts";
import type { LedgerHeader } from "../../ledger/ledger-recorder.ts";
import { platform } from "../../platform/host-platform.ts";
import { toSettings } from "./features.ts";
import { globalsFor } from "./guest-catalog.ts";
import type { StartOptions } from "./host-options.ts";

export function toHeader(options: StartOptions, limits: Limits): LedgerHeader {
  const { source, language = "typescript", tools = {}, catalog } = options;
  const shown = catalog === undefined ? undefined : globalsFor(source, catalog);
  return {
    runId: platform.randomUUID(),
    source,
    language,
    seed: newSeed(),
    clock: Date.now(),
    limits,
    toolNames: shown?.toolNames ?? Object.keys(tools),
    features: toSettings(options, shown),
  };
}

/** The header of a run that was refused before it existed. */
export function emptyHeader(): Omit<LedgerHeader, "runId"> {
  return {
    source: "",
    language: "javascript",
    seed: "",
    clock: Date.now(),
    limits: resolveLimits(),
    toolNames: [],
    features: NO_FEATURES,
  };
}

/** 64 hexadecimal digits. Random ids are drawn in batches, so this is much cheaper than asking for random bytes. */
function newSeed(): string {
  return `${platform.randomUUID()}${platform.randomUUID()}`.replaceAll("-", "");
}
