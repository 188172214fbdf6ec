/**
 * Runs on the host. Sources: where references to secrets lead: variables of the environment, files and a vault.
 *
 * - What is wrong is said with the reference, and never with what it brings.
 * - A file is read within a bound, and only if it is a regular one: no pipe or device holds the host.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { resolve } from "node:path";
import type { Reference } from "./references.ts";

/** What gives secrets to connectors that were granted them. */
export interface SecretVault {
  /** Throws an error whose message may be told if there is no such secret, or if the connector may not have it. */
  read(name: string, connector: string): string;
  /** What it has now, opened once, for whoever reads several secrets. Throws as `read` does. */
  opened?(): Pick<SecretVault, "read">;
}

export interface SecretSources {
  /** For `$vault:NAME`. */
  readonly vault?: SecretVault;
  /** For `$env:NAME`. The variables of this process if absent. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Where relative paths of `$file:PATH` begin. The working directory if absent. */
  readonly baseFolder?: string;
}

/** A reference that brings nothing. Its message follows the reference. */
export class SecretMissing extends Error {
  override readonly name = "SecretMissing";
}

export const MOST_SECRET_BYTES: number = 64 * 1024;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/u;

/** The same sources, whose vault is opened once, when it is first asked. */
export function openedOnce(sources: SecretSources): SecretSources {
  const { vault } = sources;
  if (vault?.opened === undefined) return sources;
  let opened: Pick<SecretVault, "read"> | undefined;
  const read = (name: string, connector: string): string => {
    opened ??= vault.opened?.() ?? vault;
    return opened.read(name, connector);
  };
  return { ...sources, vault: { read } };
}

/** Throws `SecretMissing`. */
export function readSecret(reference: Reference, connector: string, sources: SecretSources): string {
  const { kind, name } = reference;
  switch (kind) {
    case "env":
      return readVariable(name, sources.env ?? process.env);
    case "file":
      return readFile(resolve(sources.baseFolder ?? ".", name), name);
    case "vault":
      return readVault(name, connector, sources.vault);
    default:
      return kind satisfies never;
  }
}

function readVariable(name: string, env: Readonly<Record<string, string | undefined>>): string {
  if (!VARIABLE.test(name)) throw new SecretMissing(`names no variable, ${HOW_INSIDE}`);
  const value = Object.hasOwn(env, name) ? env[name] : undefined;
  if (value === undefined || value === "") throw new SecretMissing("is not set, set the variable");
  return value;
}

const HOW_INSIDE = "inside of a longer text write ${env:NAME}";

function readVault(name: string, connector: string, vault: SecretVault | undefined): string {
  if (vault === undefined)
    throw new SecretMissing("needs a vault, give one to the connector as secrets.vault");
  try {
    return vault.read(name, connector);
  } catch (error) {
    throw new SecretMissing(`cannot be read: ${error instanceof Error ? error.message : "the vault failed"}`);
  }
}

function readFile(path: string, name: string): string {
  if (name === "" || name.includes("\0")) throw new SecretMissing("names no file");
  let file: number;
  try {
    // Opening a pipe would wait for its writer.
    file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const isAbsent = code === "ENOENT" || code === "ENOTDIR";
    throw new SecretMissing(
      isAbsent ? "is not there, make the file" : "cannot be opened, correct its rights",
    );
  }
  try {
    return textOf(file);
  } finally {
    closeSync(file);
  }
}

function textOf(file: number): string {
  if (!fstatSync(file).isFile()) throw new SecretMissing("is no regular file");
  const bytes = new Uint8Array(MOST_SECRET_BYTES + 1);
  let length = 0;
  for (let read = -1; read !== 0 && length < bytes.length; length += read)
    read = readSync(file, bytes, length, bytes.length - length, null);
  if (length > MOST_SECRET_BYTES) throw new SecretMissing(`has more than ${MOST_SECRET_BYTES} bytes`);
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, length));
  } catch {
    throw new SecretMissing("is no text in UTF-8");
  }
  // Editors and shells end a file with a line break that nobody means.
  const secret = text.replace(/\r?\n$/u, "");
  if (secret === "") throw new SecretMissing("is empty, write the secret into it");
  return secret;
}
