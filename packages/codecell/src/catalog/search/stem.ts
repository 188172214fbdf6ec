/**
 * Stem: reduces the forms of an English word to one stem ("searching", "searches", "searched" → "search"). Runs
 * anywhere.
 *
 * - Follows Porter's second English stemmer (snowballstem.org/algorithms/english), without its rarer exceptions.
 * - A stem is a key for comparison, not a word. Words of other alphabets stay unchanged.
 * - A `y` after a vowel or at the start is a consonant, and is written `Y` during the work on a word.
 */

const WORD = /^[a-z]{3,}$/u;
const VOWEL = /[aeiouy]/u;
const SHORT_SYLLABLE = /^[aeiouy][^aeiouy]$|[^aeiouy][aeiouy][^aeiouywxY]$/u;
const DOUBLE = /(?:bb|dd|ff|gg|mm|nn|pp|rr|tt)$/u;

const IRREGULAR: ReadonlyMap<string, string> = new Map(
  Object.entries({
    dying: "die",
    lying: "lie",
    tying: "tie",
    news: "news",
    skies: "sky",
    does: "do",
    exceed: "exceed",
    proceed: "proceed",
    succeed: "succeed",
  }),
);

type SuffixRule = readonly [suffix: string, replacement: string];
/** Grouped by the last letter of the suffixes, so that a word is compared with few rules. */
type Rules = ReadonlyMap<string, readonly SuffixRule[]>;

// The first suffix that fits decides, so a longer suffix stands before the suffixes that it ends in.
const DERIVED: Rules = byLastLetter([
  ["ational", "ate"],
  ["fulness", "ful"],
  ["iveness", "ive"],
  ["ization", "ize"],
  ["ousness", "ous"],
  ["biliti", "ble"],
  ["lessli", "less"],
  ["tional", "tion"],
  ["alism", "al"],
  ["aliti", "al"],
  ["ation", "ate"],
  ["entli", "ent"],
  ["fulli", "ful"],
  ["iviti", "ive"],
  ["ousli", "ous"],
  ["abli", "able"],
  ["alli", "al"],
  ["anci", "ance"],
  ["ator", "ate"],
  ["enci", "ence"],
  ["izer", "ize"],
  ["ogi", "og"],
  ["bli", "ble"],
]);
const ADVERB = /[cdeghkmnrt]li$/u;
const ADJECTIVE: Rules = byLastLetter([
  ["ational", "ate"],
  ["tional", "tion"],
  ["alize", "al"],
  ["icate", "ic"],
  ["iciti", "ic"],
  ["ical", "ic"],
  ["ness", ""],
  ["ful", ""],
]);
const ENDINGS: Rules = byLastLetter([
  ["ement", ""],
  ["able", ""],
  ["ance", ""],
  ["ence", ""],
  ["ible", ""],
  ["ment", ""],
  ["ant", ""],
  ["ate", ""],
  ["ent", ""],
  ["ism", ""],
  ["iti", ""],
  ["ive", ""],
  ["ize", ""],
  ["ous", ""],
  ["tion", ""],
  ["sion", ""],
  ["al", ""],
  ["er", ""],
  ["ic", ""],
]);

export function stem(word: string): string {
  if (!WORD.test(word)) return word;
  const irregular = IRREGULAR.get(word);
  if (irregular !== undefined) return irregular;
  const marked = word.includes("y") ? word.replace(/^y/u, "Y").replaceAll(/([aeiouy])y/gu, "$1Y") : word;
  const [first, second] = regionsOf(marked);
  let stemmed = withoutPlural(marked);
  stemmed = withoutTense(stemmed, first);
  if (/.[^aeiouy][yY]$/u.test(stemmed)) stemmed = `${stemmed.slice(0, -1)}i`;
  stemmed =
    ADVERB.test(stemmed) && ruleFor(stemmed, DERIVED) === undefined
      ? cutWithin(stemmed, "li", "", first)
      : applyFirst(stemmed, DERIVED, first);
  stemmed = stemmed.endsWith("ative")
    ? cutWithin(stemmed, "ative", "", second)
    : applyFirst(stemmed, ADJECTIVE, first);
  stemmed = withoutEnding(stemmed, second);
  return withoutFinalE(stemmed, first, second).toLowerCase();
}

/** The two offsets from which endings may be cut: after the first, and after the second, vowel and consonant. */
function regionsOf(word: string): readonly [first: number, second: number] {
  const fixed = /^(?:gener|commun|arsen)/u.exec(word)?.[0].length;
  const first = fixed ?? afterVowelAndConsonant(word, 0);
  return [first, afterVowelAndConsonant(word, first)];
}

function afterVowelAndConsonant(word: string, from: number): number {
  const found = /[aeiouy][^aeiouy]/u.exec(word.slice(from));
  return found === null ? word.length : from + found.index + 2;
}

function withoutPlural(word: string): string {
  if (word.endsWith("sses")) return word.slice(0, -2);
  if (/ie[ds]$/u.test(word)) return word.slice(0, word.length > 4 ? -2 : -1);
  if (/[us]s$/u.test(word) || !word.endsWith("s")) return word;
  return VOWEL.test(word.slice(0, -2)) ? word.slice(0, -1) : word;
}

function withoutTense(word: string, first: number): string {
  if (!/[dgy]$/u.test(word)) return word;
  const agreed = /eed(?:ly)?$/u.exec(word);
  if (agreed !== null) return agreed.index >= first ? `${word.slice(0, agreed.index)}ee` : word;
  const tense = /(?:ing|ed)(?:ly)?$/u.exec(word);
  if (tense === null) return word;
  const rest = word.slice(0, tense.index);
  if (!VOWEL.test(rest)) return word;
  if (/(?:at|bl|iz)$/u.test(rest)) return `${rest}e`;
  if (DOUBLE.test(rest)) return rest.slice(0, -1);
  return SHORT_SYLLABLE.test(rest) && first >= rest.length ? `${rest}e` : rest;
}

function withoutEnding(word: string, second: number): string {
  const rule = ruleFor(word, ENDINGS);
  if (rule === undefined) return word;
  const [ending, replacement] = rule;
  // "tion" and "sion" lose only their "ion".
  return cutWithin(word, ending.endsWith("ion") ? "ion" : ending, replacement, second);
}

function withoutFinalE(word: string, first: number, second: number): string {
  const end = word.length - 1;
  if (word.endsWith("ll")) return end >= second ? word.slice(0, -1) : word;
  if (!word.endsWith("e")) return word;
  return end >= second || (end >= first && !SHORT_SYLLABLE.test(word.slice(0, end)))
    ? word.slice(0, -1)
    : word;
}

function byLastLetter(rules: readonly SuffixRule[]): Rules {
  return Map.groupBy(rules, ([suffix]) => suffix.slice(-1));
}

function ruleFor(word: string, rules: Rules): SuffixRule | undefined {
  return rules.get(word.slice(-1))?.find(([suffix]) => word.endsWith(suffix));
}

function applyFirst(word: string, rules: Rules, region: number): string {
  const rule = ruleFor(word, rules);
  return rule === undefined ? word : cutWithin(word, rule[0], rule[1], region);
}

function cutWithin(word: string, suffix: string, replacement: string, region: number): string {
  const at = word.length - suffix.length;
  return at >= region && word.endsWith(suffix) ? `${word.slice(0, at)}${replacement}` : word;
}
