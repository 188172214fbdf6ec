/**
 * NormalForm: Unicode normal forms in linear time. All code that normalises text does it here. Runs anywhere.
 *
 * - A normal form sorts the marks on a letter. Engines need time quadratic in the number of marks: 20,000 marks take a
 *   second. No real text has more than a few, so only the first thirty marks of a run are kept, as in Unicode's own
 *   stream-safe format (UAX #15).
 */

/**
 * A run of more than thirty marks. The last two characters are halfwidth; they become marks in the compatibility forms.
 */
const TOO_MANY_MARKS = /([\p{M}\uFF9E\uFF9F]{30})[\p{M}\uFF9E\uFF9F]+/gu;

export function toNormalForm(text: string, form: "NFC" | "NFKC" | "NFKD"): string {
  return text.replaceAll(TOO_MANY_MARKS, "$1").normalize(form);
}
