/**
 * Runs on the host. A fetch that connects to public addresses only.
 *
 * - The connection itself resolves a name, once: it connects to the very address that was checked.
 * - A name is refused if any of its addresses is not public. A host that is an address is not looked up, so the
 *   caller has to check it.
 * - Asks Node.js for its modules when they are needed and imports none, so a page can load this file.
 */
import type { LookupAddress, LookupAllOptions } from "node:dns";
import type { LookupFunction } from "node:net";
import { isPublicAddress } from "./addresses.ts";

type Fetch = typeof globalThis.fetch;

type Lookup = (
  name: string,
  options: LookupAllOptions,
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** The part of undici that is used here. */
interface Undici {
  readonly fetch: (url: string, init: object) => Promise<unknown>;
  readonly Agent: new (options: object) => object;
}

/** How a name is resolved, and which addresses are allowed. */
export interface AddressGuard {
  readonly lookup: Lookup;
  readonly isAllowed: (address: string) => boolean;
}

const PUBLIC: AddressGuard = {
  lookup: (name, options, done) => process.getBuiltinModule("node:dns").lookup(name, options, done),
  isAllowed: isPublicAddress,
};

/** Thrown while connecting. The error of the fetch has it as its cause. */
export class AddressRefused extends Error {
  override readonly name = "AddressRefused";
}

let shared: Fetch | undefined;

/** Throws a TypeError that says what to install. */
export function loadGuardedFetch(): Fetch {
  if (shared !== undefined) return shared;
  if (typeof process !== "object" || typeof process.getBuiltinModule !== "function") {
    throw new TypeError(
      "Cannot use the fetch policy: blockPrivateAddresses needs Node.js, leave it out here",
    );
  }
  const path = process.getBuiltinModule("node:path");
  const places = [import.meta.filename, path.join(process.cwd(), "noop.js")];
  shared = createGuardedFetch(loadUndici("undici", places));
  return shared;
}

export function createGuardedFetch(undici: Undici, guard: AddressGuard = PUBLIC): Fetch {
  // Idle connections of this agent do not keep the process alive.
  const dispatcher = new undici.Agent({ connect: { lookup: guardedLookup(guard) } });
  const guarded = (url: string, init: object): Promise<unknown> => undici.fetch(url, { ...init, dispatcher });
  return guarded as Fetch;
}

export function loadUndici(name: string, from: readonly string[]): Undici {
  const { createRequire } = process.getBuiltinModule("node:module");
  for (const file of from) {
    try {
      const found: unknown = createRequire(file)(name);
      if (isUndici(found)) return found;
    } catch {
      // the next place may have undici
    }
  }
  throw new TypeError(
    "Cannot use the fetch policy: blockPrivateAddresses needs the package undici, install it with: npm install undici",
  );
}

function isUndici(value: unknown): value is Undici {
  if (typeof value !== "object" || value === null) return false;
  const { fetch, Agent } = value as Partial<Undici>;
  return typeof fetch === "function" && typeof Agent === "function";
}

function guardedLookup({ lookup, isAllowed }: AddressGuard): LookupFunction {
  return (name, options, done) => {
    lookup(name, { ...options, all: true }, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error !== null) done(error, "");
      else if (first === undefined || !addresses.every(({ address }) => isAllowed(address))) {
        done(new AddressRefused(`"${name}" has an address that is not public`), "");
      } else if (options.all === true) done(null, addresses);
      else done(null, first.address, first.family);
    });
  };
}
