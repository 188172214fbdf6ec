/**
 * ParseJson: JSON text that crosses a boundary, read within bounds and, where it is large, in pieces.
 *
 * - A megabyte that a program wrote for it takes an engine a tenth of a second to build, most of it for the names of
 *   fields: so a large text is built a piece at a time, and others have their turn in between.
 * - The value is the one that `JSON.parse` gives, and so are the texts that are refused.
 * - What is small is read at once: an ordinary call waits for nothing.
 */
import type { Json } from "../contract/value.ts";
import { endOfString, jsonProblem, type ParsedJson, parseJsonText } from "./json-text.ts";
import { inTurns, type Steps } from "../loop/turn.ts";

/** Characters that are built at once: the worst of them take some milliseconds. */
const PIECE = 65_536;
const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c];
const [LIST, LIST_END, RECORD, RECORD_END] = [0x5b, 0x5d, 0x7b, 0x7d];

export function parseJson(
  text: string,
  maxBytes: number,
  piece: number = PIECE,
): ParsedJson | Promise<ParsedJson> {
  return text.length <= piece ? parseJsonText(text, maxBytes) : parseLarge(text, maxBytes, piece);
}

/** Of a text that was printed by the host itself. */
export function buildJson(text: string, piece: number = PIECE): Json | Promise<Json> {
  return text.length <= piece ? (JSON.parse(text) as Json) : inTurns(buildSteps(text, piece));
}

/** Throws for what is no JSON. What is no larger than a piece is built at once, which is faster. */
function* buildSteps(text: string, piece: number = PIECE): Steps<Json> {
  if (text.length <= piece) return JSON.parse(text) as Json;
  return yield* new PieceReader(new TextSource(text), piece).read();
}

/** The same from UTF-8, of which no more than a piece is a text at a time. */
export function* buildBytesSteps(bytes: Buffer, piece: number = PIECE): Steps<Json> {
  if (bytes.length <= piece) return JSON.parse(bytes.toString("utf8")) as Json;
  return yield* new PieceReader(new BytesSource(bytes), piece).read();
}

async function parseLarge(text: string, maxBytes: number, piece: number): Promise<ParsedJson> {
  const problem = jsonProblem(text, maxBytes);
  if (problem !== undefined) return { ok: false, problem };
  try {
    return { ok: true, value: await inTurns(buildSteps(text, piece)) };
  } catch {
    return { ok: false, problem: "it is not JSON" };
  }
}

/** What JSON is read from. */
interface JsonSource {
  readonly length: number;
  /** The character there, as far as JSON gives it a meaning outside of texts. */
  codeAt(at: number): number;
  slice(from: number, to?: number): string;
  /** Where the string that begins there has its other quote; the end when it has none. */
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

/** What stands before the part of a list or record that is not built yet: its bracket, a comma, or a member. */
type Before = "bracket" | "comma" | "member";

/** A list or record that has begun and not ended. */
interface OpenText {
  readonly isList: boolean;
  /** Where its bracket is. */
  readonly at: number;
  /** Where the member begins that is being read. */
  member: number;
  /** Where what is not built yet begins. */
  from: number;
  before: Before;
  /** What is built of it; nothing as long as it may be built together with what it is in. */
  built: Json[] | JsonObject | undefined;
}

/** Goes through a text once. What it has gone through is built whenever it has become a piece. */
class PieceReader {
  readonly #source: JsonSource;
  readonly #piece: number;
  readonly #open: OpenText[] = [];
  /** Up to here all is built. */
  #builtTo = 0;
  #root: Json[] | JsonObject | undefined;

  constructor(source: JsonSource, piece: number) {
    this.#source = source;
    this.#piece = piece;
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
    // One text, or hardly more: it has no comma behind its first piece.
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

  /** True when that was all of it. */
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

  /** Builds all members that end before this comma, and what they are in. */
  #build(comma: number): void {
    let parent: OpenText | undefined;
    for (const one of this.#open) {
      if (one.built === undefined) {
        one.built = one.isList ? [] : {};
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

  /** Puts what has just begun to be built where it belongs. */
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
      setMember(parent.built as JsonObject, name, built as Json);
    }
    parent.before = "member";
  }

  /** Builds the members from where it stands up to a comma, or to the end of what they are in. */
  #add(one: OpenText, to: number, isEnd: boolean): void {
    const text = this.#source.slice(one.from, to);
    const isEmpty = isBlank(text);
    const { before } = one;
    one.from = to + 1;
    one.before = "comma";
    if (isEmpty) {
      // Nothing may stand between a bracket or a member and the end, and between a member and a comma.
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
      for (const name of Object.keys(piece)) setMember(one.built as JsonObject, name, piece[name] as Json);
    }
  }
}

function assertJson(holds: boolean): void {
  if (!holds) throw new SyntaxError("it is not JSON");
}

/** As JSON has it: other space is none. */
function isBlank(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return false;
  }
  return true;
}

/** A field may be called `__proto__`, and is one then. */
function setMember(record: JsonObject, name: string, value: Json): void {
  if (name !== "__proto__") record[name] = value;
  else Object.defineProperty(record, name, { value, enumerable: true, configurable: true, writable: true });
}
