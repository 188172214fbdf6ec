/**
 * NormalForm: text in a normal form of Unicode, in time linear in its length. Whoever normalises text does it here.
 *
 * - A form puts the marks on a letter in an order, which engines do in the square of their number: 20,000 marks take a
 *   second. No writing has more than a few, so of a run only the first thirty are kept, as Unicode's own stream-safe
 *   format has it (UAX #15).
 */

/** Behind a letter; the last two, half as wide as others, become marks in the compatible forms. */
const TOO_MANY_MARKS = /([\p{M}\uFF9E\uFF9F]{30})[\p{M}\uFF9E\uFF9F]+/gu;

export function toNormalForm(text: string, form: "NFC" | "NFKC" | "NFKD"): string {
  return text.replaceAll(TOO_MANY_MARKS, "$1").normalize(form);
}
