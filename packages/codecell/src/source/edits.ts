/**
 * Edits: the changes that turn the source into the script's body.
 *
 * - Blanking writes spaces and keeps line breaks; putting replaces one character by another. Neither
 *   moves anything.
 * - Only insertions move text, within their line. They are recorded, so positions can be mapped back.
 * - Where a statement ended without `;` and its last characters are blanked, a `;` takes the place of the
 *   first of them: the next line can never be read as its continuation.
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
const SPACE = /\s/u;

export class Edits {
  readonly source: string;
  readonly #blanks: [start: number, end: number][] = [];
  readonly #puts: [at: number, character: string][] = [];
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

  /** Notes that what ends here is closed by what follows, whatever `noteEnd` is told. */
  closeEnd(node: SyntaxNode): void {
    this.#closedEnds.add(node.end);
  }

  /** The first offset from `at` on that is neither space nor comment. */
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
    const still = this.#renderInPlace();
    const insertions = this.#insertions.toSorted((a, b) => a.at - b.at);
    let body = "";
    let from = 0;
    for (const { at, text } of insertions) {
      body += still.slice(from, at) + text;
      from = at;
    }
    return { body: body + still.slice(from), insertions };
  }

  #renderInPlace(): string {
    if (this.#blanks.length === 0 && this.#puts.length === 0) return this.source;
    const { source } = this;
    const units = new Uint16Array(source.length);
    for (let index = 0; index < units.length; index++) units[index] = source.charCodeAt(index);
    const insertedAt = new Set(this.#insertions.map(({ at }) => at));
    for (const [start, end] of this.#blanks) {
      for (let index = start; index < end; index++) {
        if (!LINE_BREAK.test(source[index] ?? "")) units[index] = 0x20;
      }
      if (!this.#openEnds.has(end) || this.#closedEnds.has(end)) continue;
      if (insertedAt.has(end)) this.insert(end, ";");
      else units[start] = 0x3b;
    }
    for (const [at, character] of this.#puts) units[at] = character.charCodeAt(0);
    let text = "";
    const chunk = 8192;
    for (let start = 0; start < units.length; start += chunk) {
      text += String.fromCharCode(...units.subarray(start, start + chunk));
    }
    return text;
  }
}
