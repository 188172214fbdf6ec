/**
 * Edits: collects the changes that turn the source into the script's body. Runs anywhere.
 *
 * - `blank` writes spaces and keeps line breaks; `put` replaces one character with another. Neither moves text.
 * - Only insertions move text, and only within their line. They are recorded, so positions can be mapped back.
 * - If a statement ended without `;` and its last characters are blanked, a `;` replaces the first of these characters.
 *   So the engine never reads the next line as a continuation of the statement.
 */

import type { SyntaxNode } from "./tree.ts";

export interface Insertion {
  /** Offset in the source. */
  readonly at: number;
  readonly text: string;
}

export interface Comment {
  readonly start: number;
  readonly end: number;
}

const LINE_BREAK = /[\n\r\u2028\u2029]/u;
// Works on UTF-16 units, so that the length stays the same.
// oxlint-disable-next-line require-unicode-regexp
const NO_LINE_BREAK = /[^\n\r\u2028\u2029]/g;
const SPACE = /\s/u;

export class Edits {
  readonly source: string;
  readonly #blanks: [start: number, end: number][] = [];
  readonly #puts: Put[] = [];
  readonly #insertions: Insertion[] = [];
  readonly #openEnds = new Set<number>();
  readonly #closedEnds = new Set<number>();
  readonly #comments: readonly Comment[];
  #commentStarts: Map<number, number> | undefined;
  #commentEnds: Map<number, number> | undefined;

  constructor(source: string, comments: readonly Comment[]) {
    this.source = source;
    this.#comments = comments;
  }

  blank(start: number, end: number): void {
    this.#blanks.push([start, end]);
  }

  put(at: number, character: string): void {
    this.#puts.push([at, character]);
  }

  insert(at: number, text: string): void {
    this.#insertions.push({ at, text });
  }

  /** Blanks a whole declaration or class member; the `;` keeps its neighbours apart. */
  erase(node: SyntaxNode): void {
    this.blank(node.start, node.end);
    this.put(node.start, ";");
  }

  /** Notes a statement or field that may have ended without `;`. */
  noteEnd(node: SyntaxNode): void {
    if (this.source[node.end - 1] !== ";") this.#openEnds.add(node.end);
  }

  /** Notes that the text after this node ends it, so the node needs no `;` whatever `noteEnd` is told. */
  closeEnd(node: SyntaxNode): void {
    this.#closedEnds.add(node.end);
  }

  /** The first offset at or after `at` that is neither in space nor in a comment. */
  skipForward(at: number): number {
    this.#commentStarts ??= new Map(this.#comments.map(({ start, end }) => [start, end]));
    let offset = at;
    for (;;) {
      const end = this.#commentStarts.get(offset);
      if (end !== undefined) offset = end;
      else if (SPACE.test(this.source[offset] ?? "x")) offset++;
      else return offset;
    }
  }

  /** The end of the last token before `at`. */
  skipBack(at: number): number {
    this.#commentEnds ??= new Map(this.#comments.map(({ start, end }) => [end, start]));
    let offset = at;
    for (;;) {
      const start = this.#commentEnds.get(offset);
      if (start !== undefined) offset = start;
      else if (SPACE.test(this.source[offset - 1] ?? "x")) offset--;
      else return offset;
    }
  }

  hasLineBreak(start: number, end: number): boolean {
    return LINE_BREAK.test(this.source.slice(start, end));
  }

  render(): { readonly body: string; readonly insertions: readonly Insertion[] } {
    const ends = this.#closeEnds();
    const still = putAll(this.#blanked(), [...ends, ...this.#puts]);
    const insertions = this.#insertions.toSorted((a, b) => a.at - b.at);
    let body = "";
    let from = 0;
    for (const { at, text } of insertions) {
      body += still.slice(from, at) + text;
      from = at;
    }
    return { body: body + still.slice(from), insertions };
  }

  /**
   * Puts a `;` in place of each statement's blanked end. If text is inserted there, the `;` is inserted after that
   * text.
   */
  #closeEnds(): Put[] {
    const insertedAt = new Set(this.#insertions.map(({ at }) => at));
    const puts: Put[] = [];
    for (const [start, end] of this.#blanks) {
      if (!this.#openEnds.has(end) || this.#closedEnds.has(end)) continue;
      if (insertedAt.has(end)) this.insert(end, ";");
      else puts.push([start, ";"]);
    }
    return puts;
  }

  #blanked(): string {
    let text = "";
    let from = 0;
    for (const [start, end] of this.#blanks.toSorted((a, b) => a[0] - b[0])) {
      if (end <= from) continue;
      text += this.source.slice(from, start) + blankText(this.source.slice(Math.max(start, from), end));
      from = end;
    }
    return text + this.source.slice(from);
  }
}

type Put = [at: number, character: string];

export function blankText(text: string): string {
  return LINE_BREAK.test(text) ? text.replace(NO_LINE_BREAK, " ") : " ".repeat(text.length);
}

/** If several puts have the same place, the last of them wins. */
function putAll(text: string, puts: readonly Put[]): string {
  let result = "";
  let from = 0;
  for (const [at, character] of new Map(puts.toSorted((a, b) => a[0] - b[0]))) {
    result += text.slice(from, at) + character;
    from = at + 1;
  }
  return result + text.slice(from);
}
