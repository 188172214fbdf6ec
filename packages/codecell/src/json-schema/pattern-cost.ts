/**
 * Pattern cost: an upper bound on the steps that a backtracking matcher needs for a regular expression, derived from
 * its text. Runs anywhere.
 *
 * - Counts the ways in which the pattern can match parts of a text, rounded up. If it does not understand the pattern,
 *   or if the ways grow faster than a power of the text's length, the cost is unknown. So a cost is never too low and
 *   often too high.
 */

/** A text of this length takes at most `factor * (length + 1) ** power` steps. */
export interface Cost {
  readonly factor: number;
  readonly power: number;
}

export function costOf(pattern: string): Cost | undefined {
  // Without the flag `u` some escapes mean something else, so a pattern that is invalid under the flag is not analysed.
  if (!isPattern(pattern)) return undefined;
  try {
    const parser = new Parser(pattern);
    const { ways, size } = parser.read();
    const isAnchored = pattern.startsWith("^") && !parser.hasTopAlternatives;
    const factor = ways.factor * (size + 1);
    return factor > MOST_FACTOR ? undefined : { factor, power: ways.power + (isAnchored ? 0 : 1) };
  } catch (error) {
    if (error instanceof Unknown) return undefined;
    throw error;
  }
}

export function stepsFor({ factor, power }: Cost, length: number): number {
  return factor * (length + 1) ** power;
}

function isPattern(pattern: string): boolean {
  if (pattern.length > LONGEST_PATTERN) return false;
  try {
    void new RegExp(pattern, "u");
    return true;
  } catch {
    return false;
  }
}

class Unknown extends Error {}

const LONGEST_PATTERN = 4000;
const DEEPEST_GROUP = 50;
/** The most atoms of a repetition in which a separator is searched. */
const MOST_ATOMS = 16;
const MOST_FACTOR = 1e9;
const QUANTIFIER = /[*+?]|\{(\d+)(?:(,)(\d*))?\}/uy;
/** An escape with all the text that belongs to it. */
const ESCAPE =
  /\\(?:[1-9]\d*|k<[^>]*>|u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[a-zA-Z]|[pP]\{[^}]*\}|[^])/uy;
const CLASS = /\[(?:[^\\\]]|\\[^])*\]/uy;
const GROUP = /\((?:\?(?::|=|!|<=|<!|<[A-Za-z_$][\w$]*>))?/uy;

/** A part of a pattern. */
interface Piece {
  readonly ways: Cost;
  /** Steps along one way, with each loop taken once. */
  readonly size: number;
  readonly canBeEmpty: boolean;
  /** The single-character pieces that it consists of, in order; undefined if it has other parts. */
  readonly atoms: readonly Atom[] | undefined;
}

interface Atom {
  readonly source: string;
  /** Whether it repeats; otherwise it occurs exactly once. */
  readonly isLoop: boolean;
}

const ONE_WAY: Cost = { factor: 1, power: 0 };
const NOTHING: Piece = { ways: ONE_WAY, size: 0, canBeEmpty: true, atoms: [] };

class Parser {
  hasTopAlternatives = false;
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(): Piece {
    const piece = this.#alternatives();
    if (this.#at < this.#text.length) throw new Unknown();
    return piece;
  }

  #alternatives(): Piece {
    let piece = this.#sequence();
    while (this.#text[this.#at] === "|") {
      this.#at++;
      if (this.#depth === 0) this.hasTopAlternatives = true;
      const other = this.#sequence();
      piece = {
        ways: either(piece.ways, other.ways),
        size: piece.size + other.size,
        canBeEmpty: piece.canBeEmpty || other.canBeEmpty,
        atoms: undefined,
      };
    }
    return piece;
  }

  #sequence(): Piece {
    let whole = NOTHING;
    for (;;) {
      const next = this.#text[this.#at];
      if (next === undefined || next === "|" || next === ")") return whole;
      whole = inSequence(whole, this.#quantified(this.#piece(next)));
    }
  }

  #piece(next: string): Piece {
    switch (next) {
      case "^":
      case "$":
        this.#at++;
        return NOTHING;
      case "(":
        return this.#group();
      case "[":
        return atom(this.#take(CLASS));
      case "\\":
        return escaped(this.#take(ESCAPE));
      case "*":
      case "+":
      case "?":
        throw new Unknown();
      default: {
        const character = String.fromCodePoint(this.#text.codePointAt(this.#at) ?? 0);
        this.#at += character.length;
        return atom(character);
      }
    }
  }

  #group(): Piece {
    const opening = this.#take(GROUP);
    if (this.#text[this.#at] === "?" || ++this.#depth > DEEPEST_GROUP) throw new Unknown();
    const body = this.#alternatives();
    if (this.#text[this.#at] !== ")") throw new Unknown();
    this.#at++;
    this.#depth--;
    const looks = /[=!]$/u.test(opening);
    return looks ? { ...body, canBeEmpty: true, atoms: undefined } : body;
  }

  #quantified(piece: Piece): Piece {
    QUANTIFIER.lastIndex = this.#at;
    const found = QUANTIFIER.exec(this.#text);
    if (found === null) return piece;
    this.#at += found[0].length;
    if (this.#text[this.#at] === "?") this.#at++;
    const [sign, exact, comma, upper] = found;
    if (sign === "?") return repeated(piece, 0, 1);
    if (sign === "*" || sign === "+") return repeated(piece, sign === "*" ? 0 : 1, Number.POSITIVE_INFINITY);
    const least = Number(exact);
    if (comma === undefined) return repeated(piece, least, least);
    return repeated(piece, least, upper === "" ? Number.POSITIVE_INFINITY : Number(upper));
  }

  #take(token: RegExp): string {
    token.lastIndex = this.#at;
    const [text] = token.exec(this.#text) ?? [];
    if (text === undefined) throw new Unknown();
    this.#at += text.length;
    return text;
  }
}

function atom(source: string): Piece {
  return { ways: ONE_WAY, size: 1, canBeEmpty: false, atoms: [{ source, isLoop: false }] };
}

function escaped(source: string): Piece {
  if (/^\\[bB]$/u.test(source)) return NOTHING;
  // A back reference compares as much text as its group has matched.
  if (/^\\(?:[1-9]|k<)/u.test(source)) {
    return { ways: { factor: 1, power: 1 }, size: 1, canBeEmpty: true, atoms: undefined };
  }
  return atom(source);
}

function inSequence(left: Piece, right: Piece): Piece {
  return {
    ways: both(left.ways, right.ways),
    size: left.size + right.size,
    canBeEmpty: left.canBeEmpty && right.canBeEmpty,
    atoms:
      left.atoms && right.atoms && left.atoms.length + right.atoms.length <= MOST_ATOMS
        ? [...left.atoms, ...right.atoms]
        : undefined,
  };
}

function repeated(piece: Piece, least: number, most: number): Piece {
  const { ways, canBeEmpty } = piece;
  if (most < least) throw new Unknown();
  if (least === 1 && most === 1) return piece;
  const times = Number.isFinite(most) ? Math.max(most, 1) : Math.max(least, 1);
  const size = piece.size * times;
  const single = piece.atoms?.length === 1 && piece.atoms[0]?.isLoop === false ? piece.atoms[0] : undefined;
  const atoms = single && least === most ? undefined : single && [{ ...single, isLoop: true }];
  const rest = { size, canBeEmpty: canBeEmpty || least === 0, atoms };
  if (Number.isFinite(most)) {
    // The repeated piece matches in one way, so only the number of repetitions varies.
    if (ways.factor === 1 && ways.power === 0)
      return { ...rest, ways: { factor: most - least + 1, power: 0 } };
    return { ...rest, ways: bounded({ factor: (ways.factor + 1) ** most, power: ways.power * most }) };
  }
  if (canBeEmpty) throw new Unknown();
  const isOneWay = ways.factor === 1 && ways.power === 0;
  if (!isOneWay && !isSeparated(piece)) throw new Unknown();
  return { ...rest, ways: { factor: 1, power: 1 } };
}

/**
 * Whether each repetition begins, or each ends, with a character that occurs nowhere else in it, as in `(-[a-z]+)*`.
 * Then there is only one way to divide a text into repetitions, however long they are.
 */
function isSeparated({ atoms }: Piece): boolean {
  if (atoms === undefined || atoms.filter(({ isLoop }) => isLoop).length !== 1) return false;
  return [atoms[0], atoms.at(-1)].some((separator) => {
    if (separator === undefined || separator.isLoop) return false;
    const character = literal(separator.source);
    if (character === undefined) return false;
    return atoms.every((other) => other === separator || !matches(other.source, character));
  });
}

/** The character that a single-character piece stands for; undefined if it stands for several. */
function literal(source: string): string | undefined {
  if (source === ".") return undefined;
  if (/^\\[-^$\\.*+?()[\]{}|/]$/u.test(source)) return source.slice(1);
  return source === String.fromCodePoint(source.codePointAt(0) ?? 0) ? source : undefined;
}

function matches(source: string, character: string): boolean {
  return new RegExp(`^(?:${source})$`, "u").test(character);
}

function both(left: Cost, right: Cost): Cost {
  return bounded({ factor: left.factor * right.factor, power: left.power + right.power });
}

function either(left: Cost, right: Cost): Cost {
  return bounded({ factor: left.factor + right.factor, power: Math.max(left.power, right.power) });
}

function bounded(cost: Cost): Cost {
  if (cost.factor > MOST_FACTOR || cost.power > 12) throw new Unknown();
  return cost;
}
