/** Header: what a run's ledger begins with. */
import { type Limits, resolveLimits } from "../../contract/limits.ts";
import type { LedgerHeader } from "../../ledger/ledger-recorder.ts";
import { platform } from "../../platform/host-platform.ts";
import { globalsFor } from "./guest-catalog.ts";
import type { StartOptions } from "./host-options.ts";

export function toHeader(options: StartOptions, limits: Limits): LedgerHeader {
  const { source, language = "typescript", tools = {}, mayYield = false } = options;
  const { detachedCalls, fetchPolicy, catalog } = options;
  return {
    runId: platform.randomUUID(),
    source,
    language,
    seed: newSeed(),
    clock: Date.now(),
    limits,
    ...(catalog === undefined ? { toolNames: Object.keys(tools) } : globalsFor(source, catalog)),
    ...(mayYield ? { mayYield } : {}),
    ...(detachedCalls === "fail" ? { detachedCalls } : {}),
    ...(fetchPolicy === undefined ? {} : { fetch: true }),
  };
}

/** Of a run that never was one. */
export function emptyHeader(): Omit<LedgerHeader, "runId"> {
  return {
    source: "",
    language: "javascript",
    seed: "",
    clock: Date.now(),
    limits: resolveLimits(),
    toolNames: [],
  };
}

/** 64 hexadecimal digits; random ids are drawn in batches, so this is much cheaper than asking for bytes. */
function newSeed(): string {
  return `${platform.randomUUID()}${platform.randomUUID()}`.replaceAll("-", "");
}
