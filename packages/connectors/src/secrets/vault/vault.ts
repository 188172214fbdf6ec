/**
 * Runs on the host. Vault: a small file of secrets, encrypted, each for the connectors that were granted it.
 *
 * - Writers in any number of processes lose nothing of each other. Whoever reads sees one whole state.
 * - No list, error or description has a value. Only a connector that was granted a secret gets it.
 */
import { resolve } from "node:path";
import { MOST_SECRET_BYTES, type SecretVault } from "../sources.ts";
import { readOwnFile, replaceOwnFile } from "./own-file.ts";
import { VaultError } from "./vault-error.ts";
import {
  generationOf,
  MOST_VAULT_BYTES,
  openVaultFile,
  sealVault,
  type VaultSecret,
} from "./vault-format.ts";
import { type KeyPlace, makeVaultKey, readVaultKey } from "./vault-key.ts";
import { withVaultLock } from "./vault-lock.ts";

export interface VaultOptions {
  /** The file of the vault. It is made when a secret is first set; its folder has to be there. */
  readonly file: string;
  /** Has the key unless the variable CODECELL_VAULT_KEY has it. Beside the vault, with `.key` behind its name, if absent. */
  readonly keyFile?: string;
  /** Where CODECELL_VAULT_KEY is looked up. The variables of this process if absent. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** A secret of a vault, without its value. */
export interface VaultEntry {
  readonly name: string;
  /** The ids of the connectors that may have it. */
  readonly grants: readonly string[];
}

const NAME = /^[A-Z_][A-Z0-9_]{0,127}$/u;
const WHAT = "the vault";
const MOST_SECRETS = 10_000;
const MOST_GRANTS = 1000;
const LONGEST_ID = 256;

/** Neither the file nor its key has to be there. */
export function openVault(options: VaultOptions): Vault {
  return new Vault(options);
}

export class Vault implements SecretVault {
  readonly #file: string;
  readonly #place: KeyPlace;

  constructor({ file, keyFile = `${file}.key`, env = process.env }: VaultOptions) {
    this.#file = resolve(file);
    this.#place = { keyFile: resolve(keyFile), env };
  }

  /** The value, for a connector that was granted it. */
  read(name: string, connector: string): string {
    return this.opened().read(name, connector);
  }

  /** The secrets that are there now: the file is read and opened once, however many are read. */
  opened(): Pick<SecretVault, "read"> {
    const secrets = this.#load();
    return { read: (name, connector) => grantedValue(secrets, name, connector) };
  }

  /** Sorted by name. */
  list(): readonly VaultEntry[] {
    return [...this.#load()]
      .map(([name, { grants }]) => ({ name, grants: [...grants] }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Adds a secret, or gives it another value. Its grants stay. */
  async set(name: string, value: string): Promise<void> {
    checkedName(name);
    if (typeof value !== "string" || value === "" || !value.isWellFormed() || value.includes("\0"))
      throw new VaultError(
        "INVALID",
        `Cannot set "${name}": a secret is a text that is not empty, without NUL`,
      );
    const bytes = Buffer.byteLength(value);
    if (bytes > MOST_SECRET_BYTES)
      throw new VaultError(
        "INVALID",
        `Cannot set "${name}": it has ${bytes} bytes, ${MOST_SECRET_BYTES} are allowed`,
      );
    await this.#update((secrets) => {
      secrets.set(name, { value, grants: secrets.get(name)?.grants ?? [] });
      if (secrets.size > MOST_SECRETS)
        throw new VaultError("INVALID", `Cannot set "${name}": a vault has at most ${MOST_SECRETS} secrets`);
    });
  }

  /** Whether there was one. */
  async delete(name: string): Promise<boolean> {
    checkedName(name);
    return this.#update((secrets) => secrets.delete(name));
  }

  /** Lets a connector have a secret that is there. */
  async grant(name: string, connector: string): Promise<void> {
    await this.#changeGrants(name, connector, (grants) => {
      grants.add(connector);
      if (grants.size > MOST_GRANTS)
        throw new VaultError(
          "INVALID",
          `Cannot grant "${name}": at most ${MOST_GRANTS} connectors can have it`,
        );
      return true;
    });
  }

  /** Takes it back. A connector that was made before keeps what it has. Whether there was such a grant. */
  async revoke(name: string, connector: string): Promise<boolean> {
    return this.#changeGrants(name, connector, (grants) => grants.delete(connector));
  }

  async #changeGrants(
    name: string,
    connector: string,
    change: (grants: Set<string>) => boolean,
  ): Promise<boolean> {
    checkedName(name);
    if (typeof connector !== "string" || connector === "" || connector.length > LONGEST_ID)
      throw new VaultError("INVALID", `Cannot grant "${name}": a grant is for the id of a connector`);
    return this.#update((secrets) => {
      const secret = secrets.get(name);
      if (secret === undefined) throw notFound(name);
      const grants = new Set(secret.grants);
      const outcome = change(grants);
      secrets.set(name, { value: secret.value, grants: [...grants].sort() });
      return outcome;
    });
  }

  #load(): Map<string, VaultSecret> {
    const file = this.#read();
    if (file === undefined) return new Map();
    const key = readVaultKey(this.#place);
    if (key === undefined) throw keyIsGone();
    return openVaultFile(file, key);
  }

  async #update<T>(change: (secrets: Map<string, VaultSecret>) => T): Promise<T> {
    const isThere = this.#read() !== undefined;
    const known = readVaultKey(this.#place);
    if (known === undefined && isThere) throw keyIsGone();
    const key = known ?? makeVaultKey(this.#place);
    const generation = (): number => {
      const file = this.#read();
      return file === undefined ? 0 : generationOf(file);
    };
    return withVaultLock(this.#file, generation, (before) => {
      const file = this.#read();
      const secrets = file === undefined ? new Map<string, VaultSecret>() : openVaultFile(file, key);
      const outcome = change(secrets);
      replaceOwnFile(this.#file, WHAT, sealVault(secrets, key, before + 1));
      return outcome;
    });
  }

  #read(): Buffer | undefined {
    return readOwnFile(this.#file, WHAT, MOST_VAULT_BYTES)?.bytes;
  }
}

function checkedName(name: string): string {
  if (typeof name === "string" && NAME.test(name)) return name;
  throw new VaultError(
    "INVALID",
    "a name in a vault has capital letters, digits and underscores, 128 at most",
  );
}

function grantedValue(secrets: ReadonlyMap<string, VaultSecret>, name: string, connector: string): string {
  const secret = secrets.get(checkedName(name));
  if (secret === undefined) throw notFound(name);
  if (secret.grants.includes(connector)) return secret.value;
  const message = `the vault's secret "${name}" is not granted to "${connector}", grant it`;
  throw new VaultError("NOT_GRANTED", message);
}

function notFound(name: string): VaultError {
  return new VaultError("NOT_FOUND", `the vault has no secret "${name}", set it`);
}

function keyIsGone(): VaultError {
  return new VaultError(
    "KEY",
    "Cannot open the vault: its key is not there, give the key that it was made with",
  );
}
