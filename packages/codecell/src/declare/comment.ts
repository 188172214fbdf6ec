/**
 * Comment: turns untrusted text into comments. Runs anywhere.
 *
 * - No text can end its comment, begin a line of its own, act as a compiler directive, or change the order in which
 *   characters are shown.
 */
import type { Doc } from "./node.ts";

/** How much documentation to show: all of it, at most this many characters of each comment, or none. */
export type Docs = "full" | "none" | number;

/** The most characters of a description that are read. */
const MOST_CHARACTERS = 20_000;

/**
 * A description as one line of plain text. Markup, the addresses of links and the final full stop are removed: a
 * program cannot follow a link, and a model reads the text as well without them.
 */
export function toDocText(text: unknown): string {
  return typeof text === "string"
    ? withoutTail(toSafeLine(withoutMarkup(text.slice(0, MOST_CHARACTERS))), /[.;,\s]/u)
    : "";
}

/**
 * The text without such characters at its end. An expression that looks for all of them before the end takes the square
 * of their number where something else follows.
 */
function withoutTail(text: string, character: RegExp): string {
  let end = text.length;
  while (end > 0 && character.test(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

/** The text on one line, without anything that could act as a directive or change the order of characters. */
export function toSafeLine(text: string): string {
  return (
    text
      .toWellFormed()
      // oxlint-disable-next-line no-control-regex -- control characters are removed here
      .replaceAll(/[\s\u0000-\u001F\u007F-\u009F\u2028\u2029\uFEFF]+/gu, " ")
      .replaceAll(/[\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu, "")
      .replaceAll("@ts-", "@ ts-")
      .trim()
  );
}

function withoutEnd(line: string): string {
  return line.replaceAll("*/", "* /");
}

// Bounded repetitions, because these expressions run over untrusted text.
const LINK = /\[([^[\]]{1,200})\]\([^()\s]{1,400}\)/gu;
const TAG = /<\/?(?:p|br|a|ul|ol|li|b|i|em|strong|code|pre|div|span)(?:\s[^<>]{0,400})?\/?>/giu;
const BOLD = /\*\*([^*\n]{1,200})\*\*/gu;
/** A single word in backticks. Backticks around several words stay, because they show where the code ends. */
const CODE_WORD = /`([\w.:/$-]{1,60})`/gu;

function withoutMarkup(text: string): string {
  return text.replaceAll(LINK, "$1").replaceAll(TAG, " ").replaceAll(BOLD, "$1").replaceAll(CODE_WORD, "$1");
}

/** The text of the comment at a use of a type, without comment marks; empty if there is no comment. */
export function docLine(doc: Doc | undefined, docs: Docs): string {
  if (doc === undefined || docs === "none") return "";
  const { notes } = doc;
  const text = docs === "full" ? doc.text : cut(doc.text, docs - notes.length);
  if (text === "" || notes === "") return `${text}${notes}`;
  return /[\p{L}\p{N})\]"'`]$/u.test(text) ? `${text}. ${notes}` : `${text} ${notes}`;
}

/** The comment as it is printed, with comment marks; empty for an empty line. */
export function toComment(line: string): string {
  // Escaped only here: lines are joined from parts, and joining can create the end of a comment.
  return line === "" ? "" : `/** ${withoutEnd(line)} */ `;
}

/**
 * Cuts to at most `most` characters: at the end of a sentence if enough remains, else at the end of a word, and never
 * inside a character.
 */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  if (most < 2) return "";
  const head = text.slice(0, most - 1);
  const ends = [head.lastIndexOf(". ") + 1, head.lastIndexOf(" ")];
  const end = ends.find((place) => place > most * 0.4) ?? head.length;
  return `${withoutTail(head.slice(0, end).toWellFormed(), /[\uFFFD\s,;:.]/u)}…`;
}
