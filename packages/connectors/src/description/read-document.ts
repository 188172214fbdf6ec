/**
 * Reads the documents of a description, within a bound and at one place. Runs on a thread of its own.
 *
 * - Others are read only below the directory of the first one, or from its origin, and all together are bounded.
 */
import { createHash } from "node:crypto";
import { readFile, realpath, stat } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { positionOf } from "../backend/parse-position.ts";
import { readUpTo } from "../web/read-response.ts";
import { isRecord } from "../web/text.ts";
import type { DocumentSource } from "./messages.ts";

export class LoadFailure extends Error {
  override readonly name = "LoadFailure";
  readonly code: "CONFIG_INVALID" | "SERVER_UNAVAILABLE";

  constructor(message: string, code: LoadFailure["code"] = "CONFIG_INVALID", cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

export interface LoadedDocument {
  readonly document: Readonly<Record<string, unknown>>;
  readonly problems: string[];
  readonly hash: string;
}

const MOST_REDIRECTS = 5;

export interface FirstDocument {
  readonly first: Readonly<Record<string, unknown>>;
  readonly reader: DocumentReader;
}

export async function readFirst(source: DocumentSource, documentBytes: number): Promise<FirstDocument> {
  const root = await rootOf(source);
  const reader = new DocumentReader(root, documentBytes);
  const first = source.kind === "object" ? reader.take(source.document) : await reader.read(root as URL);
  if (!isRecord(first)) throw new LoadFailure("its description is no object");
  return { first, reader };
}

async function rootOf(source: DocumentSource): Promise<URL | undefined> {
  switch (source.kind) {
    case "object":
      return undefined;
    case "url":
      return new URL(source.href);
    case "file":
      try {
        return pathToFileURL(await realpath(source.path));
      } catch (cause) {
        throw new LoadFailure("the file of its description cannot be found", "CONFIG_INVALID", cause);
      }
    default:
      return source satisfies never;
  }
}

export class DocumentReader {
  /** Where the first document is; undefined if it was given. */
  readonly root: URL | undefined;
  readonly #hash = createHash("sha256");
  #bytesLeft: number;

  constructor(root: URL | undefined, documentBytes: number) {
    this.root = root;
    this.#bytesLeft = documentBytes;
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

  async read(url: URL): Promise<unknown> {
    const { root } = this;
    if (url.protocol !== root?.protocol) throw new LoadFailure("it is at another place than the description");
    const bytes = await (url.protocol === "file:" ? readBelow : fetchFrom)(this.#bytesLeft, url, root);
    this.#bytesLeft -= bytes.length;
    this.#hash.update(bytes);
    return parseText(new TextDecoder().decode(bytes));
  }
}

async function readBelow(bytesLeft: number, url: URL, root: URL): Promise<Uint8Array> {
  const directory = path.dirname(fileURLToPath(root)) + path.sep;
  let file: string;
  try {
    file = await realpath(fileURLToPath(url));
  } catch (cause) {
    throw new LoadFailure("it cannot be found", "CONFIG_INVALID", cause);
  }
  if (!file.startsWith(directory)) throw new LoadFailure("it is outside of the description's directory");
  const { size } = await stat(file);
  if (size > bytesLeft) throw tooLarge();
  return readFile(file);
}

async function fetchFrom(bytesLeft: number, first: URL, root: URL): Promise<Uint8Array> {
  let url = first;
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
    if (url.origin !== root.origin) throw new LoadFailure("it is at another origin than the description");
    const response = await fetch(url, { redirect: "manual" }).catch((cause: unknown) => {
      throw new LoadFailure("its description could not be reached", "SERVER_UNAVAILABLE", cause);
    });
    const location =
      response.status >= 300 && response.status < 400 ? response.headers.get("location") : null;
    const next = location === null ? null : URL.parse(location, url.href);
    if (next === null) {
      if (!response.ok)
        throw new LoadFailure(`its description was answered with ${response.status}`, "SERVER_UNAVAILABLE");
      const { bytes, isWhole } = await readUpTo(response, bytesLeft);
      if (!isWhole) throw tooLarge();
      return bytes;
    }
    void response.body?.cancel().catch(() => {});
    url = next;
  }
  throw new LoadFailure(`its description redirects more than ${MOST_REDIRECTS} times`);
}

function tooLarge(): LoadFailure {
  return new LoadFailure("its description has too many bytes");
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
