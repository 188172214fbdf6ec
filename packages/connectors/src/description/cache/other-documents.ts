/**
 * OtherDocuments: which documents a description consists of beside its first one, and what they were. Runs anywhere.
 *
 * - A document is told by the text that refers to it, never by its address: addresses may have secrets in them.
 */

/** Documents have numbers in the order in which they were found. The first one has 0. */
export interface DocumentLink {
  readonly from: number;
  /** As the document says it, without what comes after `#`. */
  readonly ref: string;
  readonly to: number;
}

export interface OtherDocuments {
  /** In the order in which they were followed: what is first led to is new. */
  readonly links: readonly DocumentLink[];
  /** The SHA-256 of each, from number 1 on. */
  readonly hashes: readonly string[];
}

export const NO_OTHERS: OtherDocuments = { links: [], hashes: [] };
