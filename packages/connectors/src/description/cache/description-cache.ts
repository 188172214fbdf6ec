/**
 * DescriptionCache: keeps what descriptions of APIs became, so that they need not be read again. Runs on the host.
 *
 * - What it gives is checked by whoever asked: it may lose, damage or refuse anything, and nothing fails because of it.
 */

/** Keeps what descriptions became beyond their process. `openDescriptionCache` makes one of a folder. */
export interface DescriptionCache {
  /** What was kept under this key; undefined if there is nothing. A key is 64 characters from 0 to 9 and a to f. */
  get(key: string): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** Keeps it as a whole, or not at all. */
  put(key: string, bytes: Uint8Array): Promise<void>;
}

/** Why a cache could not be used, in words that name no path. */
export class CacheFault extends Error {
  override readonly name = "CacheFault";
}
