/**
 * Runs on the host. Needles: all that is looked for so that a hidden text is found, however it is written.
 *
 * - A text of several lines is found line by line too, with either line break.
 */
import { unescaped } from "./unescaped.ts";

export interface HiddenText {
  readonly text: string;
  /** Shown in its place, in brackets. */
  readonly name?: string;
  /** Hidden however short it is. */
  readonly isAnyLength?: boolean;
}

/** Shorter texts are words that occur anyway. A program could find them by trying which ones are hidden. */
export const SHORTEST = 6;
/** How many layers of escapes are undone. */
export const LAYERS = 3;

export interface Needle {
  readonly text: string;
  readonly name: string;
  /** After so many characters the text begins again: how far one occurrence may reach into another. */
  readonly period: number;
}

export interface NeedleList {
  readonly needles: readonly Needle[];
  /** The length of the longest one. */
  readonly longest: number;
}

export interface Needles {
  readonly inText: NeedleList;
  readonly inBytes: NeedleList;
  /** What a number is called that is a hidden text, by its digits. */
  readonly numbers: ReadonlyMap<string, string>;
}

export function needlesOf(hidden: readonly HiddenText[]): Needles {
  return {
    inText: listOf(hidden, ({ text }) => needleTexts(text)),
    inBytes: listOf(hidden, ({ text }) => byteFormsOf(text)),
    numbers: new Map(
      hidden.flatMap(({ text, name = "hidden" }) => numbersOf(text).map((one) => [one, name])),
    ),
  };
}

export function allOf(parts: readonly Needles[]): Needles {
  return {
    inText: joined(parts.map(({ inText }) => inText)),
    inBytes: joined(parts.map(({ inBytes }) => inBytes)),
    numbers: new Map(parts.flatMap(({ numbers }) => [...numbers])),
  };
}

function joined(lists: readonly NeedleList[]): NeedleList {
  return {
    needles: lists.flatMap(({ needles }) => needles),
    longest: Math.max(0, ...lists.map(({ longest }) => longest)),
  };
}

/** As it is, and as it is once somebody has parsed it: a number has no more than 17 digits. */
function numbersOf(text: string): string[] {
  const number = text.trim() === "" ? Number.NaN : Number(text);
  return Number.isFinite(number) ? [text, String(number)] : [];
}

function listOf(hidden: readonly HiddenText[], forms: (one: HiddenText) => Iterable<string>): NeedleList {
  const found = new Map<string, Needle>();
  let longest = 0;
  for (const one of hidden) {
    for (const text of forms(one)) {
      if (text === "" || found.has(text)) continue;
      found.set(text, { text, name: one.name ?? "hidden", period: periodOf(text) });
      longest = Math.max(longest, text.length);
    }
  }
  return { needles: [...found.values()], longest };
}

/**
 * All that is looked for. A text that has escapes itself is looked for without them too: whoever it was for has undone them,
 * and each layer of what is read loses its own.
 */
function needleTexts(text: string): Set<string> {
  const all = new Set<string>();
  for (const written of withEitherBreak(text)) {
    for (const layer of layersOf(written)) for (const form of formsOf(layer)) all.add(form);
  }
  const lines = text.split(/\r\n|\r|\n/u);
  if (lines.length === 1) return all;
  for (const line of lines) {
    for (const one of [line, line.trim()]) if (one.length >= SHORTEST) all.add(one);
  }
  return all;
}

/** What prints a text may write its line breaks in its own way. */
function withEitherBreak(text: string): Set<string> {
  if (!/[\r\n]/u.test(text)) return new Set([text]);
  const plain = text.replaceAll(/\r\n?/gu, "\n");
  return new Set([text, plain, plain.replaceAll("\n", "\r\n")]);
}

function layersOf(text: string): string[] {
  const layers = [text];
  for (let layer = text; layers.length <= LAYERS; layers.push(layer)) {
    const next = unescaped(layer);
    if (next === undefined || next.length < SHORTEST) break;
    layer = next;
  }
  return layers;
}

/** What follows from no escapes alone: the text, and what it looks like in hexadecimal and base64, escaped before or not. */
function formsOf(text: string): string[] {
  if (text.length < SHORTEST) return [text];
  const forms = [text];
  // As forms write blanks.
  if (text.includes(" ")) forms.push(text.replaceAll(" ", "+"));
  for (const written of writtenForms(text)) {
    const bytes = Buffer.from(written, "utf8");
    const hex = bytes.toString("hex");
    forms.push(hex, hex.toUpperCase());
    for (const offset of [0, 1, 2]) {
      const encoded = base64Within(bytes, offset);
      forms.push(encoded, encoded.replaceAll("+", "-").replaceAll("/", "_"));
    }
  }
  return forms;
}

/** How a text is written in JSON, in URLs and in HTML, before all of that is encoded. */
function writtenForms(text: string): Set<string> {
  const inJson = JSON.stringify(text).slice(1, -1);
  const inUrl = encodeURIComponent(text.toWellFormed());
  const strict = inUrl.replaceAll(/[!'()*]/gu, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
  const inForm = new URLSearchParams([["", text]]).toString().slice(1);
  const inHtml = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  return new Set([
    text,
    inJson,
    inJson.replaceAll("/", "\\/"),
    inUrl,
    strict,
    inForm,
    inHtml,
    inHtml.replaceAll('"', "&quot;"),
  ]);
}

/** The characters of base64 that follow from the bytes alone, where so many bytes precede them in their group of three. */
function base64Within(bytes: Uint8Array, offset: number): string {
  const encoded = Buffer.concat([new Uint8Array(offset), bytes]).toString("base64");
  return encoded.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6));
}

/** As bytes in UTF-8, one character for each; in UTF-16; in Latin-1, and as an escape of a character is one character. */
function byteFormsOf(text: string): string[] {
  const texts = [...needleTexts(text)];
  const wide = text.length < SHORTEST ? [] : [Buffer.from(text, "utf16le").toString("latin1")];
  return texts.concat(
    texts.map((form) => Buffer.from(form, "utf8").toString("latin1")),
    wide,
    wide.map((form) => `\0${form.slice(0, -1)}`),
  );
}

function periodOf(text: string): number {
  const borders = new Uint32Array(text.length);
  for (let at = 1, border = 0; at < text.length; at++) {
    while (border > 0 && text[at] !== text[border]) border = borders[border - 1] as number;
    if (text[at] === text[border]) border++;
    borders[at] = border;
  }
  return text.length - (borders.at(-1) ?? 0);
}
