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

/** What looks like a reference, and is none. Its message says what to write, and nothing that was written. */
export class ReferenceWrong extends Error {
  override readonly name = "ReferenceWrong";
}

const WHOLE = /^\$(env|file|vault):(.*)$/su;
/** In braces, with a kind; with a kind, and something wrong; in braces, without a kind. */
const MARKED = /(\$+)(?:\{(env|file|vault):([^{}]*)\}|(\{?)(?:env|file|vault):|\{[A-Za-z_]\w*\})/giu;
const KINDS: ReadonlySet<string> = new Set(["env", "file", "vault"]);

/** Whether the text has references, signs that keep it from having some, or what is refused. */
export function mayHaveReferences(text: string, isTemplate: boolean): boolean {
  try {
    return replaceReferences(text, () => "", isTemplate) !== text;
  } catch {
    return true;
  }
}

/**
 * The text with what its references bring, and without the signs that keep a text from being a reference. A template may have
 * a dollar sign before a placeholder of its own. Throws `ReferenceWrong`.
 */
export function replaceReferences(
  text: string,
  bring: (reference: Reference) => string,
  isTemplate = false,
): string {
  const whole = WHOLE.exec(text);
  if (whole !== null) return bring({ kind: whole[1] as ReferenceKind, name: whole[2] ?? "", text });
  return text.replaceAll(
    MARKED,
    (written: string, signs: string, kind: string | undefined, name: string, brace: string | undefined) => {
      if (kind === undefined && brace === undefined && isTemplate) return written;
      if (signs.length > 1) return written.slice(1);
      if (kind !== undefined && KINDS.has(kind))
        return bring({ kind: kind as ReferenceKind, name, text: written });
      if (brace === "{") throw new ReferenceWrong(HOW_CLOSED);
      const isInside = brace !== undefined && written !== text.slice(0, written.length);
      throw new ReferenceWrong(isInside ? HOW_INSIDE : HOW_KIND);
    },
  );
}

const HOW_INSIDE = "has a reference that is no whole text, inside of a longer text write ${env:NAME}";
const HOW_CLOSED = "has a reference without its closing brace, or with a brace in it, write ${env:NAME}";
const HOW_KIND =
  "has a reference of no kind, write ${env:NAME}, ${file:PATH} or ${vault:NAME}, and $${ if it is meant as it is";

/** Whether the text is one reference and nothing else. */
export function isWholeReference(text: string): boolean {
  return WHOLE.test(text) || /^\$\{(?:env|file|vault):[^{}]*\}$/u.test(text);
}
