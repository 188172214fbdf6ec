/**
 * Runs on the host. References to secrets in the texts of a configuration: `$env:NAME`, `$file:PATH` and `$vault:NAME` as a
 * whole text, `${env:NAME}` and the like inside of a longer one.
 *
 * - What a reference brings is taken as it is: it is not searched for references.
 * - A text that looks like a reference and is none is refused. With one more dollar sign in front it is that text.
 */
export type ReferenceKind = "env" | "file" | "vault";

export interface Reference {
  readonly kind: ReferenceKind;
  /** Of a variable or a secret, or a path. */
  readonly name: string;
  /** As it is written. */
  readonly text: string;
}

const WHOLE = /^\$(env|file|vault):(.*)$/su;
const ESCAPED_WHOLE = /^\$\$(?:env|file|vault):/u;
const INSIDE = /(\$?)\$\{(env|file|vault):([^{}]*)\}/gu;

export function referencesIn(text: string): readonly Reference[] {
  const found: Reference[] = [];
  replaceReferences(text, (reference) => {
    found.push(reference);
    return "";
  });
  return found;
}

/** The text with what its references bring, and without the signs that keep a text from being a reference. */
export function replaceReferences(text: string, bring: (reference: Reference) => string): string {
  const whole = WHOLE.exec(text);
  if (whole !== null) return bring({ kind: whole[1] as ReferenceKind, name: whole[2] ?? "", text });
  if (ESCAPED_WHOLE.test(text)) return text.slice(1);
  return text.replaceAll(INSIDE, (written, escape: string, kind: ReferenceKind, name: string) =>
    escape === "" ? bring({ kind, name, text: written }) : written.slice(1),
  );
}

/** Whether the text is one reference and nothing else. */
export function isWholeReference(text: string): boolean {
  return WHOLE.test(text) || /^\$\{(?:env|file|vault):[^{}]*\}$/u.test(text);
}
