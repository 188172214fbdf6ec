/**
 * Writes values in the styles that OpenAPI knows for paths, queries, headers, cookies and forms. Runs on the host.
 *
 * - Text is encoded piece by piece: no value ends where the description did not end it.
 * - What is inside of a list or an object that a style cannot show is written as JSON.
 */
import { InputRefused } from "../web/input-refused.ts";
import { encodeReserved, encodeText, isBytes, isRecord, toJsonText, toText } from "../web/text.ts";
import type { Writing } from "./description/messages.ts";

type Encode = (text: string) => string;

/** Joins the pieces of a value as the styles simple, label and matrix do. */
export function writePath(name: string, value: unknown, writing: Writing, encode: Encode): string {
  const { style, explode, isJson } = writing;
  const key = encodeText(name);
  if (isJson) return encode(toJsonText(name, value));
  if (style === "label") return `.${pieces(name, value, explode, encode).join(explode ? "." : ",")}`;
  if (style !== "matrix") return pieces(name, value, explode, encode).join(",");
  if (Array.isArray(value) && explode) {
    return pieces(name, value, explode, encode)
      .map((piece) => `;${key}=${piece}`)
      .join("");
  }
  if (isRecord(value) && explode) return `;${pieces(name, value, explode, encode).join(";")}`;
  return `;${key}=${pieces(name, value, explode, encode).join(",")}`;
}

/** Not encoded: a header has no encoding. */
export function writeHeader(name: string, value: unknown, { explode, isJson }: Writing): string {
  return isJson ? toJsonText(name, value) : pieces(name, value, explode, (text) => text).join(",");
}

const SEPARATORS: Readonly<Record<string, string>> = { spaceDelimited: "%20", pipeDelimited: "%7C" };

/** The pairs of a query, a cookie or a form; none for what is absent. */
export function writePairs(name: string, value: unknown, writing: Writing): readonly string[] {
  const { style, explode, allowsReserved, isJson } = writing;
  const key = encodeText(name);
  const encode = allowsReserved ? encodeReserved : encodeText;
  if (isJson) return [`${key}=${encode(toJsonText(name, value))}`];
  if (value === null || value === undefined) return [];
  if (style === "deepObject" && (isRecord(value) || Array.isArray(value)))
    return deepPairs(name, value, encode, 0);
  if (!isRecord(value) && !Array.isArray(value)) return [`${key}=${encode(textOf(name, value))}`];
  const all = pieces(name, value, explode, encode);
  if (all.length === 0) return [];
  if (!explode) return [`${key}=${all.join(SEPARATORS[style] ?? ",")}`];
  return isRecord(value) ? all : all.map((piece) => `${key}=${piece}`);
}

const DEEPEST = 16;

function deepPairs(name: string, value: unknown, encode: Encode, depth: number): readonly string[] {
  if (depth > DEEPEST) throw new InputRefused(`"${name}" is nested too deeply`);
  if (value === undefined || value === null) return [];
  if (!isRecord(value) && !Array.isArray(value))
    return [`${encodeText(name)}=${encode(textOf(name, value))}`];
  return Object.entries(value).flatMap(([key, part]: [string, unknown]) =>
    deepPairs(`${name}[${key}]`, part, encode, depth + 1),
  );
}

/** The encoded pieces of a value: the items of a list, the keys and values of an object. */
function pieces(name: string, value: unknown, explode: boolean, encode: Encode): readonly string[] {
  if (Array.isArray(value)) return value.map((item: unknown) => encode(textOf(name, item)));
  if (!isRecord(value)) return [encode(textOf(name, value))];
  return Object.entries(value)
    .filter(([, part]) => part !== null && part !== undefined)
    .flatMap(([key, part]) => {
      const pair = [encode(key), encode(textOf(`${name}.${key}`, part))];
      return explode ? [pair.join("=")] : pair;
    });
}

function textOf(name: string, value: unknown): string {
  if (isBytes(value)) throw new InputRefused(`"${name}" has bytes, and only a body can carry them`);
  return toText(name, value);
}
