/**
 * Runs on the host. Hosts: what all invocations of a process share: hosts, the keys of continuations, the number of
 * active invocations.
 *
 * - An invocation without a host runs on the process's own host, as `run()` does. This module makes a host only where
 *   the contract asks for another one: for a store, a key or a worker. Such a host is shared by all invocations that ask
 *   for the same. It uses the sandbox of the process; with `setCodeModeWorkerUrl` it has its own sandbox.
 * - A new key or worker applies to later invocations. Hosts that were made for the old settings end with their last
 *   invocation. The process's own host, and a host that was given, are never ended here.
 */
import { hkdfSync } from "node:crypto";
import type { Store } from "../../contract/store.ts";
import { defaultHost, defaultSandbox } from "../../run/host/default-host.ts";
import { createHost, type Host, type HostOptions } from "../../run/host/host.ts";
import { defaultWorkerUrl, toUrl } from "../../sandbox/node/worker-script.ts";
import type { Sealer } from "../../seal/seal.ts";
import { Vault } from "../../seal/vault.ts";
import { CodeModeConcurrencyError } from "./errors.ts";
import type { CodeModeOptions } from "./options.ts";

const LEAST_KEY_BYTES = 16;
/** How many stores keep their host: a process has one or two stores, unless it makes a store for each request. */
const MOST_STORES = 4;

type Key = string | Uint8Array;

interface Settings {
  readonly sealKeys: readonly Uint8Array[] | undefined;
  readonly maxAgeMs: number | undefined;
  readonly workerUrl: URL | undefined;
}

/** A host that an invocation uses until it calls `release`. */
export interface UsedHost {
  readonly host: Host;
  release(): void;
}

/** A host that this module made, and how many invocations use it. */
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
/** The host for a key or a worker, without a store. */
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

/** The host that was given; otherwise the host for this store, key or worker; otherwise the process's own host. */
export function useHost({ host, continuation }: Pick<CodeModeOptions, "host" | "continuation">): UsedHost {
  const store = continuation?.store;
  if (host !== undefined) {
    // The description of a continuation is sealed separately from its token, with another key.
    if (host.isDurable) continuationVault().warnIfLost({});
    return lent(host);
  }
  if (store !== undefined) {
    const shared = stored.get(store) ?? new SharedHost({ ...toHostOptions(), store, encrypt: true });
    keep(store, shared);
    return shared.use();
  }
  const { sealKeys, workerUrl } = settings;
  if (sealKeys === undefined && workerUrl === undefined) return lent(defaultHost());
  plain ??= new SharedHost(toHostOptions());
  return plain.use();
}

/** A host that is not ended here. */
function lent(host: Host): UsedHost {
  return { host, release: () => {} };
}

/** Hosts share the threads of the process, unless the threads are to run another script. */
function toHostOptions(): HostOptions {
  const { sealKeys, workerUrl } = settings;
  return {
    ...(sealKeys === undefined ? {} : { sealKeys }),
    ...(workerUrl === undefined ? { sandbox: defaultSandbox() } : { workerUrl }),
  };
}

/** The host that was used longest ago makes room, and ends with its last invocation. */
function keep(store: Store, shared: SharedHost): void {
  stored.delete(store);
  stored.set(store, shared);
  const [oldest] = stored;
  if (stored.size <= MOST_STORES || oldest === undefined) return;
  stored.delete(oldest[0]);
  oldest[1].retire();
}

/** Seals the description of a continuation, with the keys of the current settings. */
export function continuationSealer(): Sealer {
  return continuationVault().sealer;
}

function continuationVault(): Vault {
  const { sealKeys } = settings;
  return (vault ??= new Vault(sealKeys === undefined ? {} : { sealKeys }));
}

/** How long continuations can be continued. Undefined if nobody set a time: then the host decides. */
export function continuationTimeMs(): number | undefined {
  return settings.maxAgeMs;
}

/**
 * Sets the secret that seals continuations, so that they outlive the process. Give several keys to replace one: the
 * first seals, all of them open. Without a key, CODECELL_SEAL_KEY of the environment is used, or a random key.
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
    // Texts have any length, and their randomness is spread thinly.
    return new Uint8Array(hkdfSync("sha256", bytes, new Uint8Array(), "codecell/ai continuations", 32));
  });
}

/**
 * The location of a script for worker threads. The script contains all it needs, as `loadWorkerText` of codecell/bundle
 * gives it.
 */
export type CodeModeWorkerUrl = string | URL;

/** Applies to later invocations; undefined restores the default. A missing script is noticed when a worker starts. */
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

/**
 * How many invocations may be active at the same time; further ones fail at once. Undefined: as many as there is memory
 * for.
 */
export function setMaxWorkers(count: number | undefined): void {
  if (count !== undefined && (!Number.isInteger(count) || count <= 0)) {
    throw new TypeError(`Cannot set maxWorkers to ${String(count)}: it must be a positive integer`);
  }
  maxWorkers = count;
}

/** Takes one of the places that `setMaxWorkers` allows. Call the result to give the place back. */
export function takePlace(): () => void {
  if (maxWorkers !== undefined && active >= maxWorkers) throw new CodeModeConcurrencyError(maxWorkers);
  active++;
  let isTaken = true;
  return () => {
    if (isTaken) active--;
    isTaken = false;
  };
}
