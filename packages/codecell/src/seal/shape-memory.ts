/**
 * Runs on the host. Keeps a ShapeMemory in a store: what was learnt about tools outlives the process. Its notes are
 * sealed, like everything that leaves the process.
 */
import type { ShapeMemory } from "../contract/shape-memory.ts";
import type { Store } from "../contract/store.ts";
import { Vault, type VaultOptions } from "./vault.ts";

/** After this time a shape has to be learnt again, unless the tool was used meanwhile. */
const KEPT_MS = 30 * 24 * 60 * 60 * 1000;
/** Larger than any shape. */
const MAX_BYTES = 65_536;
const NOTHING = new Uint8Array();

export interface ShapeMemoryOptions extends VaultOptions {
  readonly store: Store;
}

export function createShapeMemory({ store, ...keys }: ShapeMemoryOptions): ShapeMemory {
  const vault = new Vault(keys);
  vault.warnIfLost(store);
  const { sealer } = vault;
  return {
    remember: (key, text) =>
      store.putNote(
        key,
        sealer.sealBytes({ header: NOTHING, content: Buffer.from(text) }, purposeOf(key)),
        Date.now() + KEPT_MS,
      ),
    recall: async (key) => {
      const note = await store.getNote(key);
      const opened = note && sealer.openBytes(note, purposeOf(key), MAX_BYTES);
      const content = opened?.ok === true ? opened.content() : undefined;
      return content === undefined ? undefined : Buffer.from(content).toString("utf8");
    },
  };
}

/** A purpose of its own for each tool: a note about one tool does not open as a note about another. */
function purposeOf(key: string): string {
  return `shape:${key}`;
}
