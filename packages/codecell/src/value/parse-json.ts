/**
 * ParseJson: reads JSON text that crosses a boundary, within bounds. Reads large texts in pieces. Runs anywhere.
 *
 * - An engine needs a tenth of a second to build a megabyte that a program wrote to be slow, most of it for the names
 *   of fields. So a large text is built piece by piece, and other work runs in between.
 * - The value equals that of `JSON.parse`, and the same texts are refused.
 * - Small texts are read at once: an ordinary call does not wait.
 */
import type { Json } from "../contract/value.ts";
import { endOfString, jsonProblem, type ParsedJson, parseJsonText, type RecordNames } from "./json-text.ts";
import { inTurns, type Steps } from "../loop/turn.ts";

/** Characters that are built at once: the slowest known text of this length takes some milliseconds. */
const PIECE = 65_536;
const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c];
const [LIST, LIST_END, RECORD, RECORD_END] = [0x5b, 0x5d, 0x7b, 0x7d];

/** `names` gets the names of large records. */
export function parseJson(
  text: string,
  maxBytes: number,
  piece: number = PIECE,
  names?: RecordNames,
): ParsedJson | Promise<ParsedJson> {
  return text.length <= piece ? parseJsonText(text, maxBytes) : parseLarge(text, maxBytes, piece, names);
}

/** Whether a text of this length is built in several pieces. */
export function isLargeText({ length }: string): boolean {
  return length > PIECE;
}

/** For text that the host itself printed. */
export function buildJson(text: string, piece: number = PIECE): Json | Promise<Json> {
  return text.length <= piece ? (JSON.parse(text) as Json) : inTurns(buildSteps(text, piece));
}

/** Throws if the text is not JSON. Builds a text that is no longer than a piece at once, which is faster. */
export function* buildSteps(text: string, piece: number = PIECE, names?: RecordNames): Steps<Json> {
  if (text.length <= piece) return JSON.parse(text) as Json;
  return yield* new PieceReader(new TextSource(text), piece, names).read();
}

/** The same from UTF-8 bytes. At most one piece of them is a string at any time. */
export function* buildBytesSteps(bytes: Buffer, piece: number = PIECE): Steps<Json> {
  if (bytes.length <= piece) return JSON.parse(bytes.toString("utf8")) as Json;
  return yield* new PieceReader(new BytesSource(bytes), piece).read();
}

async function parseLarge(
  text: string,
  maxBytes: number,
  piece: number,
  names: RecordNames | undefined,
): Promise<ParsedJson> {
  const problem = jsonProblem(text, maxBytes);
  if (problem !== undefined) return { ok: false, problem };
  try {
    return { ok: true, value: await inTurns(buildSteps(text, piece, names)) };
  } catch {
    return { ok: false, problem: "it is not JSON" };
  }
}

/** The text or bytes that JSON is read from. */
interface JsonSource {
  readonly length: number;
  /** The character at `at`. Outside of strings it is exact for every character that means something in JSON. */
  codeAt(at: number): number;
  slice(from: number, to?: number): string;
  /** The offset of the closing quote of the string that begins at `start`; the end if there is no closing quote. */
  endOfString(start: number): number;
}

class TextSource implements JsonSource {
  readonly length: number;
  readonly #text: string;

  constructor(text: string) {
    this.length = text.length;
    this.#text = text;
  }

  codeAt(at: number): number {
    return this.#text.charCodeAt(at);
  }

  slice(from: number, to?: number): string {
    return this.#text.slice(from, to);
  }

  endOfString(start: number): number {
    return endOfString(this.#text, start);
  }
}

class BytesSource implements JsonSource {
  readonly length: number;
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.length = bytes.length;
    this.#bytes = bytes;
  }

  codeAt(at: number): number {
    return this.#bytes[at] ?? 0;
  }

  slice(from: number, to?: number): string {
    return this.#bytes.toString("utf8", from, to);
  }

  endOfString(start: number): number {
    for (let at = start + 1; at < this.length; at++) {
      const byte = this.#bytes[at];
      if (byte === QUOTE) return at;
      if (byte === BACKSLASH) at++;
    }
    return this.length;
  }
}

type JsonObject = Record<string, Json>;

/**
 * What stands directly before the part of a list or record that is not built yet: its bracket, a comma, or a member.
 */
type Before = "bracket" | "comma" | "member";

/** A list or record whose beginning is read and whose end is not. */
interface OpenText {
  readonly isList: boolean;
  /** The offset of its opening bracket. */
  readonly at: number;
  /** The offset of the member that is being read. */
  member: number;
  /** The offset of the first character that is not built yet. */
  from: number;
  before: Before;
  /** What is built so far; undefined as long as this value can be built together with the value that contains it. */
  built: Json[] | JsonObject | undefined;
}

/** Reads the text once. Builds what it has read whenever that has grown to a piece. */
class PieceReader {
  readonly #source: JsonSource;
  readonly #piece: number;
  readonly #names: RecordNames | undefined;
  readonly #open: OpenText[] = [];
  /** Everything before this offset is built. */
  #builtTo = 0;
  #root: Json[] | JsonObject | undefined;

  constructor(source: JsonSource, piece: number, names?: RecordNames) {
    this.#source = source;
    this.#piece = piece;
    this.#names = names;
  }

  *read(): Steps<Json> {
    const source = this.#source;
    for (let at = 0; at < source.length; at++) {
      switch (source.codeAt(at)) {
        case QUOTE:
          at = source.endOfString(at);
          break;
        case LIST:
        case RECORD:
          this.#begin(at);
          break;
        case LIST_END:
        case RECORD_END:
          if (this.#end(at)) return this.#finish(at + 1);
          break;
        case COMMA:
          if (at - this.#builtTo >= this.#piece) {
            this.#build(at);
            yield;
          }
          this.#next(at + 1);
          break;
        default:
      }
    }
    if (this.#root !== undefined) throw new SyntaxError("it does not end");
    // A single string, or little more: the text has no comma after its first piece.
    return JSON.parse(source.slice(0)) as Json;
  }

  #begin(at: number): void {
    const isList = this.#source.codeAt(at) === LIST;
    this.#open.push({ isList, at, member: at + 1, from: at + 1, before: "bracket", built: undefined });
  }

  #next(at: number): void {
    const last = this.#open.at(-1);
    if (last !== undefined) last.member = at;
  }

  /** True if this ended the outermost value. */
  #end(at: number): boolean {
    const last = this.#open.pop();
    if (last?.built === undefined) return false;
    assertJson(last.isList === (this.#source.codeAt(at) === LIST_END));
    this.#add(last, at, true);
    const parent = this.#open.at(-1);
    if (parent !== undefined) parent.from = at + 1;
    return parent === undefined;
  }

  #finish(end: number): Json {
    assertJson(this.#root !== undefined && isBlank(this.#source.slice(end)));
    return this.#root as Json;
  }

  /** Builds all members that end before this comma, and the lists and records that contain them. */
  #build(comma: number): void {
    let parent: OpenText | undefined;
    for (const one of this.#open) {
      if (one.built === undefined) {
        one.built = one.isList ? [] : {};
        if (!one.isList) this.#names?.set(one.built, []);
        if (parent === undefined) {
          assertJson(isBlank(this.#source.slice(0, one.at)));
          this.#root = one.built;
        } else this.#attach(one, parent);
      }
      parent = one;
    }
    assertJson(parent !== undefined);
    if (parent !== undefined) this.#add(parent, comma, false);
    this.#builtTo = comma;
  }

  /** Adds a value whose building has just begun to the value that contains it. */
  #attach({ at, built }: OpenText, parent: OpenText): void {
    if (parent.member > parent.from) this.#add(parent, parent.member - 1, false);
    assertJson(parent.before !== "member");
    const label = this.#source.slice(parent.member, at);
    if (Array.isArray(parent.built)) {
      assertJson(isBlank(label));
      parent.built.push(built as Json);
    } else {
      const [name = ""] = Object.keys(JSON.parse(`{${label}0}`) as object);
      assertJson(label.trimEnd().endsWith(":"));
      this.#set(parent.built as JsonObject, name, built as Json);
    }
    parent.before = "member";
  }

  /** Builds the members from `from` up to a comma, or up to the closing bracket. */
  #add(one: OpenText, to: number, isEnd: boolean): void {
    const text = this.#source.slice(one.from, to);
    const isEmpty = isBlank(text);
    const { before } = one;
    one.from = to + 1;
    one.before = "comma";
    if (isEmpty) {
      // Only space may stand between a bracket or a member and the end, and between a member and a comma.
      assertJson(isEnd ? before !== "comma" : before === "member");
      return;
    }
    const start = before === "member" ? text.indexOf(",") + 1 : 0;
    assertJson(before !== "member" || (start > 0 && isBlank(text.slice(0, start - 1))));
    const members = text.slice(start);
    assertJson(!isBlank(members));
    if (Array.isArray(one.built)) {
      for (const item of JSON.parse(`[${members}]`) as Json[]) one.built.push(item);
    } else {
      const piece = JSON.parse(`{${members}}`) as JsonObject;
      for (const name of Object.keys(piece)) this.#set(one.built as JsonObject, name, piece[name] as Json);
    }
  }

  #set(record: JsonObject, name: string, value: Json): void {
    // A text that no program printed may give a name twice.
    if (this.#names !== undefined && !Object.hasOwn(record, name)) this.#names.get(record)?.push(name);
    // A field named `__proto__` becomes an own property.
    if (name !== "__proto__") record[name] = value;
    else Object.defineProperty(record, name, { value, enumerable: true, configurable: true, writable: true });
  }
}

function assertJson(holds: boolean): void {
  if (!holds) throw new SyntaxError("it is not JSON");
}

/** Whether the text is only space as JSON defines it; other space characters do not count. */
function isBlank(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return false;
  }
  return true;
}
