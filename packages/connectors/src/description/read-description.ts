/**
 * Reads a description, from a cache if there is one that has it. Runs on the host.
 *
 * - What a cache has is used only if all documents are the same bytes as they were, and all settings are equal. So they
 *   are read each time, and not parsed.
 * - A cache that cannot be used is no failure. What was wrong with it is told.
 */
import { createHash } from "node:crypto";
import type { DescriptionCache } from "./cache/description-cache.ts";
import { CacheFault } from "./cache/description-cache.ts";
import { readEntry } from "./cache/entry.ts";
import type { EntryForm } from "./cache/entry-form.ts";
import type { OtherDocuments } from "./cache/other-documents.ts";
import { sha256 } from "./cache/sha256.ts";
import { DESCRIBING_VERSION } from "./cache/version.ts";
import type { DescribedApi, ReadingSetup } from "./messages.ts";
import { MOST_MS, readApart, unreadable } from "./read-apart.ts";
import { DocumentBytes, LoadFailure, type PlacedSource, rootOf } from "./document-bytes.ts";

export interface DescriptionReading<Described extends DescribedApi> {
  /** The id of the connector. */
  readonly connector: string;
  readonly kind: string;
  readonly script: URL;
  /** All of it decides what the description becomes, but for where the documents are. */
  readonly setup: ReadingSetup;
  readonly form: EntryForm<Described>;
  readonly cache: DescriptionCache | undefined;
}

export interface ReadDescription<Described> {
  readonly described: Described;
  /** What a cache was good for, in words for an operator. Undefined without one. */
  readonly cached: string | undefined;
}

export async function readDescription<Described extends DescribedApi>(
  reading: DescriptionReading<Described>,
  signal: AbortSignal,
): Promise<ReadDescription<Described>> {
  const { connector, script, setup, cache } = reading;
  const { source } = setup;
  if (cache === undefined || source.kind === "object") {
    const { described } = await readApart<Described>(connector, { script, setup }, signal);
    // To learn whether an object is the same takes as long as to send it to a thread.
    return { described, cached: cache === undefined ? undefined : "not for a document that is given" };
  }
  return untilLeft(connector, signal, () => readThrough(reading, source, cache, signal));
}

async function readThrough<Described extends DescribedApi>(
  { connector, kind, script, setup, form }: DescriptionReading<Described>,
  source: PlacedSource,
  cache: DescriptionCache,
  signal: AbortSignal,
): Promise<ReadDescription<Described>> {
  const root = await rootOf(source);
  const within = AbortSignal.any([signal, AbortSignal.timeout(MOST_MS)]);
  const documents = new DocumentBytes(root, setup.documentBytes, within);
  const first = await documents.read(root);
  const key = keyOf(kind, setup, await sha256(first));
  signal.throwIfAborted();
  const kept = await readKept(cache, key, form);
  if (kept.entry !== undefined && (await isSame(documents, kept.entry.others)))
    return { described: kept.entry.described, cached: "read" };
  signal.throwIfAborted();
  const apart = { script, setup: { ...setup, first: ownedBytes(first), cacheKey: key } };
  const { described, entry } = await readApart<Described>(connector, apart, signal);
  if (entry === undefined) return { described, cached: kept.problem ?? "not for a part that cannot be read" };
  return { described, cached: (await keep(cache, key, entry)) ?? kept.problem ?? "written" };
}

/** Nobody waits for a disk that hangs. What fails has the words of the thread, which reads without a cache. */
async function untilLeft<T>(connector: string, signal: AbortSignal, read: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const left = Promise.withResolvers<never>();
  const onAbort = (): void => left.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([read(), left.promise]);
  } catch (error) {
    if (error instanceof LoadFailure) throw unreadable(connector, error.code, error.message, error.cause);
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

function keyOf(kind: string, setup: ReadingSetup, hash: string): string {
  // What is hidden is a secret, and no setting: it is taken out of what leaves the connector too.
  const { source: _, hidden: __, ...settings } = setup;
  const all = JSON.stringify([DESCRIBING_VERSION, kind, settings, hash]);
  return createHash("sha256").update(all).digest("hex");
}

async function readKept<Described extends DescribedApi>(
  cache: DescriptionCache,
  key: string,
  form: EntryForm<Described>,
): Promise<{
  readonly entry?: Awaited<ReturnType<typeof readEntry<Described>>>;
  readonly problem?: string;
}> {
  try {
    const bytes = await cache.get(key);
    return bytes === undefined ? {} : { entry: await readEntry(key, bytes, form) };
  } catch (error) {
    return { problem: problemOf(error) };
  }
}

async function keep(cache: DescriptionCache, key: string, entry: Uint8Array): Promise<string | undefined> {
  try {
    await cache.put(key, entry);
    return undefined;
  } catch (error) {
    return problemOf(error);
  }
}

/** The words of others may name paths. */
function problemOf(error: unknown): string {
  return `unusable: ${error instanceof CacheFault ? error.message : "it failed"}`;
}

/** Whether the same words lead to the same documents as before, and these are the same bytes. */
async function isSame(documents: DocumentBytes, { links, hashes }: OtherDocuments): Promise<boolean> {
  const urls = [documents.root];
  for (const { from, ref, to } of links) {
    const url = URL.parse(ref, urls[from]?.href);
    if (url === null) return false;
    if (to < urls.length) {
      if (urls[to]?.href !== url.href) return false;
      continue;
    }
    if (to !== urls.length || urls.some((known) => known?.href === url.href)) return false;
    const bytes = await documents.read(url).catch(() => undefined);
    if (bytes === undefined || (await sha256(bytes)) !== hashes[to - 1]) return false;
    urls.push(url);
  }
  return urls.length === hashes.length + 1;
}

/** Bytes that can move to another thread: small ones share their memory with others. */
function ownedBytes(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const isAlone = bytes.byteLength === bytes.buffer.byteLength;
  return isAlone ? new Uint8Array(bytes.buffer) : new Uint8Array(bytes);
}
