/**
 * Reading documents: turns the terms of all fields into numbers. Runs anywhere.
 *
 * - Each run of letters is looked up once, when it is first read. From then on all counts about terms are in arrays, by
 *   the number of the term. Terms are numbered in the order in which they appear.
 * - A document leaves nothing but its terms, in lists that all documents share: ten thousand tools have sixty thousand
 *   fields, and as many small lists would keep the garbage collector busy.
 */

import type { Steps } from "../../loop/turn.ts";
import { type SearchField, FIELDS, readTexts, type SearchDocument } from "./document.ts";
import { NO_TERM, toTerm } from "./terms.ts";
import { splitRun, splitRuns } from "./words.ts";

/** The work on a document is bounded, so a turn may end after this many documents. */
export const DOCUMENTS_AT_ONCE = 32;

/** The terms of one field over all documents. */
export interface FieldTerms {
  /** The numbers of the terms, one document after the other. */
  readonly numbers: readonly number[];
  /** Where each document begins in `numbers`; the last entry is the end. */
  readonly offsets: readonly number[];
}

export interface ReadDocuments {
  readonly size: number;
  readonly fields: Readonly<Record<SearchField, FieldTerms>>;
  /** The terms; a term's index is its number. */
  readonly terms: readonly string[];
  readonly numberOf: (term: string) => number | undefined;
}

export function* readDocuments(documents: Iterable<SearchDocument>): Steps<ReadDocuments> {
  const fields = {
    name: createList(),
    description: createList(),
    parameterNames: createList(),
    parameterTexts: createList(),
    owner: createList(),
    tags: createList(),
  } satisfies Record<SearchField, FieldTerms>;
  const reader = new TermReader();
  let size = 0;
  for (const document of documents) {
    if (++size % DOCUMENTS_AT_ONCE === 0) yield;
    const texts = readTexts(document);
    for (const field of FIELDS) {
      const { numbers, offsets } = fields[field];
      reader.read(texts[field], numbers);
      offsets.push(numbers.length);
    }
  }
  const { known } = reader;
  return {
    size,
    fields,
    terms: [...known.keys()],
    numberOf: (term) => known.get(term),
  };
}

function createList(): { readonly numbers: number[]; readonly offsets: number[] } {
  return { numbers: [], offsets: [0] };
}

class TermReader {
  /** The number of each term. */
  readonly known = new Map<string, number>();
  /** Most runs are one term. A list for each would cost one more memory access, half a million times. */
  readonly #byRun = new Map<string, number | readonly number[]>();

  /** Appends the terms of a text. */
  read(text: string, to: number[]): void {
    for (const run of splitRuns(text)) {
      const found = this.#byRun.get(run) ?? this.#meet(run);
      if (typeof found === "number") to.push(found);
      else for (const number of found) to.push(number);
    }
  }

  #meet(run: string): number | readonly number[] {
    const numbers: number[] = [];
    for (const word of splitRun(run)) {
      const term = toTerm(word);
      if (term !== NO_TERM) numbers.push(this.known.get(term) ?? this.#add(term));
    }
    const [first] = numbers;
    const found = first !== undefined && numbers.length === 1 ? first : numbers;
    this.#byRun.set(run, found);
    return found;
  }

  #add(term: string): number {
    const number = this.known.size;
    this.known.set(term, number);
    return number;
  }
}
