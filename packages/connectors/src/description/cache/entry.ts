/**
 * Entry: what a description became, as the bytes that a cache keeps. Written on the thread that read the description,
 * read on the host.
 *
 * - What is damaged, cut, of another key or not as it has to be is no entry: a cache never makes a connector fail.
 * - It begins with its key and the SHA-256 of the rest. Then come an index, line by line, and the text of all schemas and
 *   plans, which nobody parses before somebody asks for a tool.
 */
import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { isRecord } from "../../web/text.ts";
import type { DescribedApi } from "../messages.ts";
import type { Bounds, EntryForm } from "./entry-form.ts";
import type { DocumentLink, OtherDocuments } from "./other-documents.ts";
import { sha256 } from "./sha256.ts";

const MAGIC = "codecell description 1";
const HASH_LENGTH = 64;
/** Magic, key and hash, each with the end of its line. */
const HEAD_LENGTH = MAGIC.length + 2 * HASH_LENGTH + 3;
/** Some milliseconds of parsing. */
const CHARACTERS_PER_TURN = 250_000;

export interface Entry<Described extends DescribedApi> {
  readonly described: Described;
  readonly others: OtherDocuments;
}

/** The first line of the index. */
interface Front {
  readonly others: OtherDocuments;
  readonly plain: Readonly<Record<string, unknown>>;
  /** How many lines each list has, in the order of the lists. */
  readonly lists: Readonly<Record<string, number>>;
}

export function writeEntry(
  key: string,
  { text, ...described }: DescribedApi,
  others: OtherDocuments,
): Uint8Array<ArrayBuffer> {
  const lines: string[] = [];
  const lists: Record<string, number> = {};
  const plain: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(described) as [string, unknown][]) {
    if (!Array.isArray(value)) {
      plain[name] = value;
      continue;
    }
    lists[name] = value.length;
    for (const item of value as unknown[]) lines.push(JSON.stringify(item));
  }
  const front: Front = { others, plain, lists };
  const index = Buffer.from([JSON.stringify(front), ...lines].join("\n"), "utf8");
  const size = Buffer.from(`${index.length}\n`);
  const hash = createHash("sha256").update(size).update(index).update(text).digest("hex");
  // In memory of its own, so that it can move to another thread.
  const entry = new Uint8Array(HEAD_LENGTH + size.length + index.length + text.length);
  let at = 0;
  for (const part of [Buffer.from(`${MAGIC}\n${key}\n${hash}\n`), size, index, text]) {
    entry.set(part, at);
    at += part.length;
  }
  return entry;
}

/** Undefined if it is no entry of this key and form. */
export async function readEntry<Described extends DescribedApi>(
  key: string,
  entry: Uint8Array<ArrayBuffer>,
  form: EntryForm<Described>,
): Promise<Entry<Described> | undefined> {
  const body = await bodyOf(key, entry);
  if (body === undefined) return undefined;
  const end = body.indexOf("\n".charCodeAt(0));
  const size = Number(Buffer.from(body.subarray(0, Math.max(end, 0))).toString("latin1"));
  if (!Number.isSafeInteger(size) || size < 1 || end + 1 + size > body.length) return undefined;
  const index = new TextDecoder().decode(body.subarray(end + 1, end + 1 + size));
  const text = body.subarray(end + 1 + size);
  try {
    return await parseIndex(index, text, form);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

async function bodyOf(
  key: string,
  entry: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const start = `${MAGIC}\n${key}\n`;
  const head = Buffer.from(entry.subarray(0, HEAD_LENGTH)).toString("latin1");
  if (!head.startsWith(start)) return undefined;
  const body = entry.subarray(HEAD_LENGTH);
  return head.slice(start.length) === `${await sha256(body)}\n` ? body : undefined;
}

async function parseIndex<Described extends DescribedApi>(
  index: string,
  text: Uint8Array<ArrayBuffer>,
  form: EntryForm<Described>,
): Promise<Entry<Described> | undefined> {
  const lines = linesOf(index);
  const front: unknown = JSON.parse(lines.next().value ?? "");
  if (!isFront(front) || !form.isPlain(front.plain)) return undefined;
  const { plain, lists, others } = front;
  const names = Object.keys(form.lists);
  if (Object.keys(lists).length !== names.length || !names.every((name) => Object.hasOwn(lists, name)))
    return undefined;
  const bounds: Bounds = { textBytes: text.length, parts: lists["parts"] ?? 0 };
  const found: [string, readonly unknown[]][] = [];
  let inTurn = 0;
  for (const [name, count] of Object.entries(lists)) {
    const items: unknown[] = [];
    for (let left = count; left > 0; left--) {
      const line = lines.next().value ?? "";
      inTurn += line.length;
      if (inTurn > CHARACTERS_PER_TURN) {
        await setImmediate();
        inTurn = 0;
      }
      const item: unknown = JSON.parse(line);
      if (form.lists[name]?.(item, bounds) !== true) return undefined;
      items.push(item);
    }
    found.push([name, items]);
  }
  if (lines.next().done !== true) return undefined;
  // Each part was looked at.
  const described = { ...plain, ...Object.fromEntries(found), text } as unknown as Described;
  return { described, others };
}

function* linesOf(text: string): Generator<string, undefined> {
  for (let from = 0; from <= text.length;) {
    const found = text.indexOf("\n", from);
    const end = found < 0 ? text.length : found;
    yield text.slice(from, end);
    from = end + 1;
  }
}

function isFront(value: unknown): value is Front {
  if (!isRecord(value)) return false;
  const { plain, lists, others } = value;
  return isRecord(plain) && isRecord(lists) && Object.values(lists).every(isCount) && isOthers(others);
}

function isOthers(value: unknown): value is OtherDocuments {
  if (!isRecord(value)) return false;
  const { links, hashes } = value;
  if (!Array.isArray(links) || !Array.isArray(hashes)) return false;
  return links.every(isLink) && hashes.every((hash) => typeof hash === "string");
}

function isLink(value: unknown): value is DocumentLink {
  return (
    isRecord(value) && isCount(value["from"]) && isCount(value["to"]) && typeof value["ref"] === "string"
  );
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
