/**
 * Comment: texts of strangers as comments.
 *
 * - Whatever the text, it cannot end its comment, begin a line of its own, be taken for a directive of the compiler, or
 *   show its reader another order of characters than there is.
 */
import type { Doc } from "./node.ts";

/** How much documentation is shown: all, so many characters of each description, or none. */
export type Docs = "full" | "none" | number;

/** No description is read beyond this. */
const MOST_CHARACTERS = 20_000;

/**
 * A description as one line of plain text. Markup, the addresses of links and the final full stop go: a program cannot
 * follow a link, and a model reads the rest as well without.
 */
export function toDocText(text: unknown): string {
  return typeof text === "string"
    ? toSafeLine(withoutMarkup(text.slice(0, MOST_CHARACTERS))).replace(/[.;,\s]+$/u, "")
    : "";
}

/** A text on one line, without what could be taken for a directive or turns the order of characters. */
export function toSafeLine(text: string): string {
  return (
    text
      .toWellFormed()
      // oxlint-disable-next-line no-control-regex -- they are what is removed
      .replaceAll(/[\s\u0000-\u001F\u007F-\u009F\u2028\u2029\uFEFF]+/gu, " ")
      .replaceAll(/[\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu, "")
      .replaceAll("@ts-", "@ ts-")
      .trim()
  );
}

function withoutEnd(line: string): string {
  return line.replaceAll("*/", "* /");
}

// Bounded repetitions: these run over texts of strangers.
const LINK = /\[([^[\]]{1,200})\]\([^()\s]{1,400}\)/gu;
const TAG = /<\/?(?:p|br|a|ul|ol|li|b|i|em|strong|code|pre|div|span)(?:\s[^<>]{0,400})?\/?>/giu;
const BOLD = /\*\*([^*\n]{1,200})\*\*/gu;
/** A single word as code; ticks around more than one show where it ends, and stay. */
const CODE_WORD = /`([\w.:/$-]{1,60})`/gu;

function withoutMarkup(text: string): string {
  return text.replaceAll(LINK, "$1").replaceAll(TAG, " ").replaceAll(BOLD, "$1").replaceAll(CODE_WORD, "$1");
}

/** The comment for a use of a type, without its marks; empty where there is none. */
export function docLine(doc: Doc | undefined, docs: Docs): string {
  if (doc === undefined || docs === "none") return "";
  const { notes } = doc;
  const text = docs === "full" ? doc.text : cut(doc.text, docs - notes.length);
  if (text === "" || notes === "") return `${text}${notes}`;
  return /[\p{L}\p{N})\]"'`]$/u.test(text) ? `${text}. ${notes}` : `${text} ${notes}`;
}

/** A comment as it is printed before what it is about; empty for an empty line. */
export function toComment(line: string): string {
  // Only here: lines are put together from parts, and the end of a comment can come about between two of them.
  return line === "" ? "" : `/** ${withoutEnd(line)} */ `;
}

/** At most so many characters: whole sentences if they are not too few, else whole words, never half a character. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  if (most < 2) return "";
  const head = text.slice(0, most - 1);
  const ends = [head.lastIndexOf(". ") + 1, head.lastIndexOf(" ")];
  const end = ends.find((place) => place > most * 0.4) ?? head.length;
  return `${head
    .slice(0, end)
    .toWellFormed()
    .replace(/[\uFFFD\s,;:.]+$/u, "")}…`;
}
