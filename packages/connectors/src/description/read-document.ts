/**
 * Reads and parses the documents of a description. Runs on a thread of its own.
 *
 * - The hash is of all that was read, in its order.
 */
import { createHash } from "node:crypto";
import { positionOf } from "../backend/parse-position.ts";
import { isRecord } from "../web/text.ts";
import type { OtherDocuments } from "./cache/other-documents.ts";
import { DocumentBytes, LoadFailure, rootOf } from "./document-bytes.ts";
import type { ReadingSetup } from "./messages.ts";

export interface LoadedDocument {
  readonly document: Readonly<Record<string, unknown>>;
  readonly problems: string[];
  readonly hash: string;
  /** The documents beside the first one; undefined if one of them could not be read. */
  readonly others: OtherDocuments | undefined;
}

export interface FirstDocument {
  readonly first: Readonly<Record<string, unknown>>;
  readonly reader: DocumentReader;
}

export async function readFirst({
  source,
  documentBytes,
  first: bytes,
}: ReadingSetup): Promise<FirstDocument> {
  if (source.kind === "object") {
    const reader = new DocumentReader(undefined, documentBytes);
    return { first: asRecord(reader.take(source.document)), reader };
  }
  const root = await rootOf(source);
  const reader = new DocumentReader(root, documentBytes);
  const first = bytes === undefined ? (await reader.read(root)).document : await reader.takeBytes(bytes);
  return { first: asRecord(first), reader };
}

function asRecord(first: unknown): Readonly<Record<string, unknown>> {
  if (!isRecord(first)) throw new LoadFailure("its description is no object");
  return first;
}

export class DocumentReader {
  readonly #bytes: DocumentBytes;
  readonly #hash = createHash("sha256");

  constructor(root: URL | undefined, documentBytes: number) {
    this.#bytes = new DocumentBytes(root, documentBytes);
  }

  /** Where the first document is; undefined if it was given. */
  get root(): URL | undefined {
    return this.#bytes.root;
  }

  /** Of all documents that were read. */
  hash(): string {
    return this.#hash.copy().digest("hex");
  }

  /** A document that was given is what it is. */
  take(document: object): unknown {
    this.#hash.update(JSON.stringify(document));
    return document;
  }

  /** What was read already, and is parsed here. */
  takeBytes(bytes: Uint8Array): Promise<unknown> {
    this.#bytes.count(bytes);
    return this.#parse(bytes);
  }

  async read(url: URL): Promise<{ readonly document: unknown; readonly hash: string }> {
    const bytes = await this.#bytes.read(url);
    const document = await this.#parse(bytes);
    return { document, hash: createHash("sha256").update(bytes).digest("hex") };
  }

  #parse(bytes: Uint8Array): Promise<unknown> {
    this.#hash.update(bytes);
    return parseText(new TextDecoder().decode(bytes));
  }
}

async function parseText(text: string): Promise<unknown> {
  try {
    if (/^\uFEFF?\s*[{[]/u.test(text.slice(0, 1000))) return JSON.parse(text.replace(/^\uFEFF/u, ""));
    // Most descriptions are JSON, and loading the parser takes as long as reading them.
    const { parse } = await import("yaml");
    return parse(text, { maxAliasCount: 1000, logLevel: "error" });
  } catch (cause) {
    // No words of a parser: they quote the text, and the cause is not told either.
    throw new LoadFailure(`its description does not parse${placeOf(cause)}`);
  }
}

/** The parser of YAML tells it in another way. */
function placeOf(error: unknown): string {
  const places: unknown = error instanceof Error && "linePos" in error ? error.linePos : undefined;
  const [at] = (Array.isArray(places) ? places : []) as readonly { line?: unknown; col?: unknown }[];
  const { line, col } = at ?? {};
  return typeof line === "number" && typeof col === "number"
    ? ` at line ${line}, column ${col}`
    : positionOf(error);
}
