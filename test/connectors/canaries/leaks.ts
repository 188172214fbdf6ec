/**
 * How a backend repeats what it was given, in every way that the tests know. For tests; programs that leak use it too.
 */
const html = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&#34;");

/** The texts in one text, in many encodings. */
export function allForms(texts: readonly string[]): string {
  const forms = texts.flatMap((text) => [
    text,
    JSON.stringify(text).replaceAll("/", "\\/"),
    JSON.stringify(JSON.stringify({ [text]: text })),
    encodeURIComponent(text),
    encodeURIComponent(encodeURIComponent(text)).toLowerCase(),
    new URLSearchParams({ a: text }).toString(),
    html(text),
    html(JSON.stringify(text)),
    Array.from(text, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`).join(""),
    Array.from(text, (one) => `&#x${one.charCodeAt(0).toString(16)};`).join(""),
    ...["", "x", "xy"].map((before) => Buffer.from(`${before}${text}\n`).toString("base64")),
    Buffer.from(JSON.stringify({ text })).toString("base64url"),
    Buffer.from(text).toString("hex"),
  ]);
  return forms.join(" | ");
}

/** So many characters of a canary are a trace of it. */
const PART = 8;

/** A canary has this in its middle. */
const CORE = /core[0-9a-f]{16}core/gu;

/** A plain one can stand in a path as it is. */
export function newCanary(isPlain = false): string {
  if (isPlain) return `canary-core${crypto.randomUUID().replaceAll("-", "").slice(0, 16)}core`;
  return `c/${crypto.randomUUID().slice(0, 4)}+core${crypto.randomUUID().replaceAll("-", "").slice(0, 16)}core="&<=`;
}

/** What nothing may have, whoever reads it and however. */
export function tracesOf(canaries: readonly string[]): readonly string[] {
  return canaries.flatMap((canary) => {
    const [core = ""] = canary.match(CORE) ?? [];
    const aligned = [0, 1, 2].map((offset) => {
      const encoded = Buffer.from("\0".repeat(offset) + core).toString("base64");
      return encoded.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + core.length) * 8) / 6));
    });
    const units = Array.from(core, (one) => one.charCodeAt(0).toString(16));
    const inner = core.slice(4, -4);
    return [
      inner,
      // What was cut has a part of it.
      ...Array.from({ length: inner.length - PART + 1 }, (_, at) => inner.slice(at, at + PART)),
      Buffer.from(core).toString("hex"),
      units.map((unit) => `\\u00${unit}`).join(""),
      units.map((unit) => `&#x${unit};`).join(""),
      ...aligned,
    ];
  });
}
