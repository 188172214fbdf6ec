/**
 * Hosts: what all invocations of a process share: hosts, the keys of continuations, how many may be active.
 *
 * - Invocations that were given no host have one for their store and the key of that moment, in the sandbox of the process,
 *   which is also that of `run()`. A worker of one's own has a sandbox of its own.
 * - A new key or worker is for later invocations. Hosts of the old settings end when their last invocation has.
 */
import { hkdfSync } from "node:crypto";
import type { Store } from "../../contract/store.ts";
import { defaultSandbox } from "../../run/host/default-host.ts";
import { createHost, type Host, type HostOptions } from "../../run/host/host.ts";
import { defaultWorkerUrl, toUrl } from "../../sandbox/node/worker-script.ts";
import type { Sealer } from "../../seal/seal.ts";
import { Vault } from "../../seal/vault.ts";
import { CodeModeConcurrencyError } from "./errors.ts";
import type { CodeModeOptions } from "./options.ts";

const HOUR_MS = 3_600_000;
const LEAST_KEY_BYTES = 16;
/** Stores whose hosts are kept: a process has one or two, unless it makes one for each request. */
const MOST_STORES = 4;

type Key = string | Uint8Array;

interface Settings {
  readonly sealKeys: readonly Uint8Array[] | undefined;
  readonly maxAgeMs: number | undefined;
  readonly workerUrl: URL | undefined;
}

/** A host that an invocation uses until it releases it. */
export interface UsedHost {
  readonly host: Host;
  release(): void;
}

/** A host of this module's own, and how many invocations use it. */
class SharedHost {
  readonly #host: Host;
  #uses = 0;
  #isOld = false;

  constructor(options: HostOptions) {
    this.#host = createHost(options);
  }

  use(): UsedHost {
    this.#uses++;
    const release = (): void => {
      this.#uses--;
      this.#endIfUnused();
    };
    return { host: this.#host, release };
  }

  retire(): void {
    this.#isOld = true;
    this.#endIfUnused();
  }

  #endIfUnused(): void {
    if (this.#isOld && this.#uses === 0) void this.#host[Symbol.asyncDispose]();
  }
}

let settings: Settings = { sealKeys: undefined, maxAgeMs: undefined, workerUrl: undefined };
let vault: Vault | undefined;
let plain: SharedHost | undefined;
let stored = new Map<Store, SharedHost>();
let maxWorkers: number | undefined;
let active = 0;

function change(next: Partial<Settings>): void {
  settings = { ...settings, ...next };
  for (const one of [plain, ...stored.values()]) one?.retire();
  plain = undefined;
  stored = new Map();
  vault = undefined;
}

/** The host that was given, else the one for this store, else the one without. */
export function useHost({ host, continuation }: Pick<CodeModeOptions, "host" | "continuation">): UsedHost {
  const store = continuation?.store;
  if (host !== undefined) {
    // What is told of a continuation is sealed apart from its token, with a key of its own.
    if (host.isDurable) continuationVault().warnIfLost({});
    return { host, release: () => {} };
  }
  if (store !== undefined) {
    const shared = stored.get(store) ?? new SharedHost({ ...toHostOptions(), store, encrypt: true });
    keep(store, shared);
    return shared.use();
  }
  plain ??= new SharedHost(toHostOptions());
  return plain.use();
}

/** Hosts share the threads of the process, unless they are to be of another script. */
function toHostOptions(): HostOptions {
  const { sealKeys, workerUrl } = settings;
  return {
    ...(sealKeys === undefined ? {} : { sealKeys }),
    ...(workerUrl === undefined ? { sandbox: defaultSandbox() } : { workerUrl }),
  };
}

/** The one that was used longest ago makes room, and ends with its last invocation. */
function keep(store: Store, shared: SharedHost): void {
  stored.delete(store);
  stored.set(store, shared);
  const [oldest] = stored;
  if (stored.size <= MOST_STORES || oldest === undefined) return;
  stored.delete(oldest[0]);
  oldest[1].retire();
}

/** Seals what is told of a continuation, with the keys of these settings. */
export function continuationSealer(): Sealer {
  return continuationVault().sealer;
}

function continuationVault(): Vault {
  const { sealKeys } = settings;
  return (vault ??= new Vault(sealKeys === undefined ? {} : { sealKeys }));
}

/** How long continuations can be continued; undefined where nobody said: then a host that was given says. */
export function continuationTimeMs(host: Host | undefined): number | undefined {
  return settings.maxAgeMs ?? (host === undefined ? HOUR_MS : undefined);
}

/**
 * The secret that continuations are sealed with, so that they outlive the process; several to replace one: the first
 * seals, all of them open. Without one, CODECELL_SEAL_KEY of the environment is used, or one made at random.
 */
export function setCodeModeContinuationSigningKey(
  key?: Key | readonly Key[],
  options: { maxAgeMs?: number } = {},
): void {
  const { maxAgeMs } = options;
  if (maxAgeMs !== undefined && (!Number.isInteger(maxAgeMs) || maxAgeMs <= 0)) {
    throw new TypeError(`Cannot set maxAgeMs to ${String(maxAgeMs)}: it must be a positive integer`);
  }
  change({ sealKeys: key === undefined ? undefined : toSealKeys(key), maxAgeMs });
}

function toSealKeys(given: Key | readonly Key[]): readonly Uint8Array[] {
  const keys = typeof given === "string" || given instanceof Uint8Array ? [given] : given;
  if (!Array.isArray(keys) || keys.length === 0) {
    throw new TypeError("Cannot set the signing key: expected a secret, or a list with at least one");
  }
  return keys.map((key) => {
    const bytes = typeof key === "string" ? new TextEncoder().encode(key) : key;
    if (!(bytes instanceof Uint8Array) || bytes.length < LEAST_KEY_BYTES) {
      throw new TypeError(
        `Cannot set the signing key: it must be a secret of at least ${LEAST_KEY_BYTES} bytes, make one with "openssl rand -base64 32"`,
      );
    }
    // Texts are of any length and spread their randomness thinly.
    return new Uint8Array(hkdfSync("sha256", bytes, new Uint8Array(), "codecell/ai continuations", 32));
  });
}

/** Where a script for worker threads lies; one with all it needs, as `loadWorkerText` of codecell/bundle gives it. */
export type CodeModeWorkerUrl = string | URL;

/** For later invocations; undefined for what is used otherwise. Whether the script is there is found when one starts. */
export function setCodeModeWorkerUrl(workerUrl: CodeModeWorkerUrl | undefined): void {
  const url = workerUrl === undefined ? undefined : toUrl(workerUrl);
  if (workerUrl !== undefined && url === undefined) {
    throw new TypeError(
      `Cannot use ${JSON.stringify(workerUrl)} as a worker: expected a URL or an absolute path`,
    );
  }
  change({ workerUrl: url });
}

export function getCodeModeWorkerUrl(): URL {
  return settings.workerUrl ?? getDefaultCodeModeWorkerUrl();
}

export function getDefaultCodeModeWorkerUrl(): URL {
  return defaultWorkerUrl();
}

/** Invocations that may be active at the same time, more fail at once; as many as there is memory for when undefined. */
export function setMaxWorkers(count: number | undefined): void {
  if (count !== undefined && (!Number.isInteger(count) || count <= 0)) {
    throw new TypeError(`Cannot set maxWorkers to ${String(count)}: it must be a positive integer`);
  }
  maxWorkers = count;
}

/** Takes one of the places that `setMaxWorkers` leaves; whoever took it gives it back by calling the result. */
export function takePlace(): () => void {
  if (maxWorkers !== undefined && active >= maxWorkers) throw new CodeModeConcurrencyError(maxWorkers);
  active++;
  let isTaken = true;
  return () => {
    if (isTaken) active--;
    isTaken = false;
  };
}
