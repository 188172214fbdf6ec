/**
 * What the thread that reads a description tells the host of it: an index, and the rest as text. Both sides.
 *
 * - The host parses the text of a tool when somebody asks for it, so that a description of any size costs its thread
 *   nothing.
 */
import type { HiddenText } from "../backend/hidden-texts.ts";

/** From which byte to which byte of the text. */
export type Range = readonly [from: number, to: number];

/** Where the document of a description is, or the document. */
export type DocumentSource =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "url"; readonly href: string }
  | { readonly kind: "object"; readonly document: object };

/** What every thread that reads a description is told. */
export interface ReadingSetup {
  readonly source: DocumentSource;
  /** All documents together. */
  readonly documentBytes: number;
  /** Texts that are not told, whatever the description says. */
  readonly hidden: readonly HiddenText[];
  /** The first document, if it was read already. */
  readonly first?: Uint8Array<ArrayBuffer>;
  /** Under which a cache would keep what the description becomes. Absent: nobody keeps it. */
  readonly cacheKey?: string;
}

/** A schema that has others: their numbers are those of `DescribedApi.parts`. */
export interface SchemaText {
  readonly range: Range;
  readonly parts: readonly number[];
}

/** A tool that sends one request. */
export interface ToolText {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly isDeprecated: boolean;
  readonly method: string;
  /** All that is needed to make the request. */
  readonly plan: Range;
  readonly input: SchemaText;
  readonly output?: SchemaText;
}

/** A schema that others refer to, as `#/$defs/<name>`. */
export interface PartText extends SchemaText {
  readonly name: string;
}

/** What the thread says of every description, whatever its format is. */
export interface DescribedApi {
  readonly title: string;
  readonly version: string;
  readonly parts: readonly PartText[];
  readonly text: Uint8Array<ArrayBuffer>;
  /** What of the description could not be used, and why. */
  readonly problems: readonly string[];
  /** Of the document: equal if nothing has changed. */
  readonly hash: string;
}

export interface Answered<Described> {
  readonly kind: "described";
  readonly described: Described;
  /** For a cache, if it may be kept. */
  readonly entry: Uint8Array<ArrayBuffer> | undefined;
}

export type ThreadAnswer<Described> =
  | Answered<Described>
  | {
      readonly kind: "failed";
      readonly code: "CONFIG_INVALID" | "SERVER_UNAVAILABLE";
      readonly message: string;
    };
