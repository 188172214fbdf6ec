/**
 * Puts values into the path of a URL so that it stays the path that was written down. Runs on the host.
 *
 * - A value is a part of one segment. It cannot climb, neither plainly nor encoded, however often a proxy decodes it.
 * - Only a parameter that may have several segments (`{+name}`) takes slashes, and never an empty or a dot segment.
 */
import { InputRefused } from "./input-refused.ts";
import { encodeText } from "./text.ts";

/** A text that is encoded more often than any server decodes is refused. */
const MOST_ROUNDS = 8;
// oxlint-disable-next-line no-control-regex -- these are what is looked for
const CONTROL = /[\0-\x1f\x7f]/u;
const SLASHES = /[/\\]/u;
/** What no path has as it is. A percent sign stays: templates are written encoded. */
const TO_ENCODE = /[^A-Za-z0-9\-._~!$&'()*+,;=:@/%]/gu;
const PARAMETER = /\{([^{}]*)\}/gu;

/** Encodes one value for a path, or refuses it. */
export function encodePathText(name: string, text: string, mayHaveSlashes: boolean): string {
  if (text === "") throw new InputRefused(`"${name}" is empty, and a path needs it`);
  if (!text.isWellFormed()) throw new InputRefused(`"${name}" has half of a surrogate pair`);
  let seen = text;
  for (let round = 0; round < MOST_ROUNDS; round++) {
    refuseClimbing(name, seen, mayHaveSlashes);
    refuseClimbing(name, seen.normalize("NFKC"), mayHaveSlashes);
    const decoded = decodeOnce(seen);
    if (decoded === seen) {
      return mayHaveSlashes ? text.split("/").map(encodeText).join("/") : encodeText(text);
    }
    seen = decoded;
  }
  throw new InputRefused(`"${name}" has percent signs that are encoded again and again`);
}

function refuseClimbing(name: string, text: string, mayHaveSlashes: boolean): void {
  if (CONTROL.test(text)) throw new InputRefused(`"${name}" has a control character`);
  if (!mayHaveSlashes && SLASHES.test(text)) {
    throw new InputRefused(`"${name}" has a slash, and it stands for one segment of a path`);
  }
  const segments = text.split(SLASHES);
  // Some servers drop what follows a semicolon, and blanks.
  const names = segments.map((segment) => segment.replace(/;.*$/su, "").trim());
  if (names.some((segment) => segment === "." || segment === "..")) {
    throw new InputRefused(`"${name}" has a dot segment, which would lead to another path`);
  }
  if (segments.length > 1 && segments.includes("")) {
    throw new InputRefused(`"${name}" has an empty segment, which would lead to another path`);
  }
}

/** Forms of UTF-8 that are longer than they need to be: some servers read `%c0%ae` as a dot. */
const OVERLONG = /%(?:c[01]|e0%[89][0-9a-f]|f0%8[0-9a-f]%[89ab][0-9a-f])%[89ab][0-9a-f]/giu;

/** Decodes what is percent-encoded, also in the forms %u002e and %c0%ae, and leaves what is not. */
function decodeOnce(text: string): string {
  return text
    .replaceAll(OVERLONG, (codes) => {
      const [lead = 0, ...rest] = Buffer.from(codes.replaceAll("%", ""), "hex");
      const start = rest.length === 1 ? lead & 0x1f : 0;
      return String.fromCodePoint(rest.reduce((code, byte) => (code << 6) | (byte & 0x3f), start));
    })
    .replaceAll(/%u([0-9a-f]{4})/giu, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    .replaceAll(/(?:%[0-9a-f]{2})+/giu, (codes) =>
      Buffer.from(codes.replaceAll("%", ""), "hex").toString("utf8"),
    );
}

export interface PathParameter {
  readonly name: string;
  readonly mayHaveSlashes: boolean;
}

/** The parameters of a template such as `/repos/{owner}/contents/{+path}`, in their order. */
export function pathParameters(template: string): readonly PathParameter[] {
  return [...template.matchAll(PARAMETER)].map(([, name = ""]) =>
    name.startsWith("+") ? { name: name.slice(1), mayHaveSlashes: true } : { name, mayHaveSlashes: false },
  );
}

/** Fills a template with texts that are encoded already. */
export function fillPath(template: string, textOf: (parameter: PathParameter) => string): string {
  const parameters = pathParameters(template);
  const literals = template.split(/\{[^{}]*\}/u).map((literal) => literal.replaceAll(TO_ENCODE, encodeText));
  const path = literals
    .map((literal, at) => {
      const parameter = parameters[at];
      return parameter === undefined ? literal : literal + textOf(parameter);
    })
    .join("");
  // Harmless values may make a dot segment together, also one that is encoded: `{a}{b}`.
  for (const segment of path.split("/")) refuseDots(segment);
  return path.startsWith("/") ? path : `/${path}`;
}

function refuseDots(segment: string): void {
  let seen = segment;
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const names = seen.split(SLASHES).map((name) => name.replace(/;.*$/su, "").trim());
    if (names.some((name) => name === "." || name === ".."))
      throw new InputRefused("the input makes a dot segment, which would lead to another path");
    const decoded = decodeOnce(seen);
    if (decoded === seen) return;
    seen = decoded;
  }
  throw new InputRefused("the input has percent signs that are encoded again and again");
}
