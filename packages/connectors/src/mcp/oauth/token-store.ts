/**
 * Runs on the host. Where tokens are kept: in memory, in the vault of secrets, or wherever the host says.
 *
 * - What is kept belongs to one connector, one server and one client. Nobody else finds it.
 */
import { createHash } from "node:crypto";
import type { Vault } from "../../secrets/vault/vault.ts";
import { VaultError } from "../../secrets/vault/vault-error.ts";

export interface TokenKey {
  /** The id of the connector. */
  readonly connector: string;
  /** The URL of the MCP server, without its query. */
  readonly server: string;
  /** The configured client. Empty: the connector registers itself. */
  readonly client: string;
}

/** Keeps texts that are secret: whoever has one can act in the name of whoever logged in. */
export interface TokenStore {
  load(key: TokenKey): Promise<string | undefined> | string | undefined;
  save(key: TokenKey, value: string): Promise<void> | void;
  delete(key: TokenKey): Promise<void> | void;
}

/** Tokens that are gone when their connector is. */
export function memoryTokens(): TokenStore {
  const kept = new Map<string, string>();
  return {
    load: (key) => kept.get(textOf(key)),
    save: (key, value) => void kept.set(textOf(key), value),
    delete: (key) => void kept.delete(textOf(key)),
  };
}

/** Keeps tokens in a vault, each granted to its connector alone. */
export function vaultTokens(vault: Vault): TokenStore {
  return {
    load: (key) => {
      try {
        return vault.read(nameOf(key), key.connector);
      } catch (error) {
        // Not granted: whoever saved it came to its end before the grant. The next login grants it.
        if (error instanceof VaultError && NOTHING.has(error.code)) return undefined;
        throw error;
      }
    },
    save: async (key, value) => {
      await vault.set(nameOf(key), value);
      await vault.grant(nameOf(key), key.connector);
    },
    delete: async (key) => {
      await vault.delete(nameOf(key));
    },
  };
}

const NOTHING: ReadonlySet<string> = new Set(["NOT_FOUND", "NOT_GRANTED"]);

function textOf({ connector, server, client }: TokenKey): string {
  return JSON.stringify([connector, server, client]);
}

function nameOf(key: TokenKey): string {
  return `OAUTH_${createHash("sha256").update(textOf(key)).digest("hex").slice(0, 40).toUpperCase()}`;
}
