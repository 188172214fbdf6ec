/**
 * Lessons: the batches with which the vectors are trained, from the operations of public APIs and from the sets that
 * may be used.
 *
 * A lesson pairs an operation's summary with the rest of it, a tool's description with its name and parameters, a
 * request with the tools it needs. Texts are weighted as the index weights them.
 */

import { toTerms } from "../../packages/codecell/src/catalog/search/terms.ts";
import type { ToolSet } from "../../test/tool-search/sets.ts";
import { type FieldTerms, type Part, partsOf, readFields } from "./field-terms.ts";
import type { Operation } from "./operations.ts";
import type { Random } from "./random.ts";
import type { Bag, Batch } from "./trainer.ts";

const OPERATIONS_SHARE = 0.5;
const TOOLS_SHARE = 0.2;
const TEXTS = 160;
const REQUESTS = 96;

interface Pairs {
  readonly left: readonly Bag[];
  readonly right: readonly Bag[];
}

interface Lesson {
  readonly weight: number;
  readonly tools: Pairs;
  readonly requests: readonly { readonly bag: Bag; readonly needed: readonly number[] }[];
  readonly documents: readonly Bag[];
}

export class Lessons {
  readonly #operations: Pairs;
  readonly #lessons: readonly Lesson[];
  readonly #random: Random;

  constructor(
    operations: readonly Operation[],
    sets: readonly ToolSet[],
    wordNumbers: ReadonlyMap<string, number>,
    random: Random,
  ) {
    this.#random = random;
    this.#operations = pairOperations(operations, wordNumbers);
    this.#lessons = sets.map((set) => readLesson(set, wordNumbers));
  }

  next(): Batch {
    const kind = this.#random.next();
    if (kind < OPERATIONS_SHARE || this.#lessons.length === 0) return this.#pair(this.#operations);
    const lesson = this.#chooseLesson();
    if (kind < OPERATIONS_SHARE + TOOLS_SHARE) return this.#pair(lesson.tools);
    return this.#ask(lesson);
  }

  #chooseLesson(): Lesson {
    let left = this.#random.next() * this.#lessons.reduce((sum, { weight }) => sum + weight, 0);
    const found = this.#lessons.find(({ weight }) => (left -= weight) < 0) ?? this.#lessons[0];
    if (found === undefined) throw new RangeError("Cannot choose a lesson: there is none");
    return found;
  }

  #pair({ left, right }: Pairs): Batch {
    const chosen = this.#random.pick(left.length, TEXTS);
    return {
      left: select(left, chosen),
      right: select(right, chosen),
      target: chosen.map((_, at) => at),
      isAlsoRight: () => false,
    };
  }

  #ask({ requests, documents }: Lesson): Batch {
    const asked = select(requests, this.#random.pick(requests.length, REQUESTS));
    const wanted = asked.map(({ needed }) => needed[Math.floor(this.#random.next() * needed.length)] ?? 0);
    const shown = [...new Set([...wanted, ...this.#random.pick(documents.length, TEXTS)])];
    const places = new Map(shown.map((document, place) => [document, place]));
    return {
      left: asked.map(({ bag }) => bag),
      right: select(documents, shown),
      target: wanted.map((document) => places.get(document) ?? 0),
      isAlsoRight: (left, right) => asked[left]?.needed.includes(shown[right] ?? -1) ?? false,
    };
  }
}

function pairOperations(operations: readonly Operation[], numbers: ReadonlyMap<string, number>): Pairs {
  return {
    left: operations.map(({ summary }) => toBag([{ terms: summary, weight: 1 }], numbers)),
    right: operations.map((each) => {
      // A description that only repeats the summary teaches nothing.
      const told = each.description.length > each.summary.length + 3 ? each.description : [];
      const parts = [
        { terms: each.name, weight: 0.8 },
        { terms: told, weight: 1 },
        { terms: each.parameters, weight: 0.3 },
        { terms: each.api, weight: 0.3 },
      ];
      return toBag(parts, numbers);
    }),
  };
}

function readLesson({ documents, requests }: ToolSet, numbers: ReadonlyMap<string, number>): Lesson {
  const places = new Map(documents.map(({ id }, place) => [id, place]));
  const read = documents.map(readFields);
  const asked = requests.map(({ query, relevant }) => ({
    bag: toBag([{ terms: [...new Set(toTerms(query))], weight: 1 }], numbers),
    needed: relevant.map((id) => places.get(id)).filter((place) => place !== undefined),
  }));
  return {
    weight: Math.sqrt(requests.length),
    tools: {
      left: read.map(({ description }) => toBag([{ terms: description, weight: 1 }], numbers)),
      right: read.map((fields) => toBag(withoutDescription(fields), numbers)),
    },
    requests: asked.filter(({ needed }) => needed.length > 0),
    documents: read.map((fields) => toBag(partsOf(fields), numbers)),
  };
}

function withoutDescription(fields: FieldTerms): readonly Part[] {
  return [
    { terms: fields.name, weight: 1 },
    { terms: [...fields.parameterNames, ...fields.parameterTexts], weight: 0.5 },
  ];
}

function toBag(parts: readonly Part[], numbers: ReadonlyMap<string, number>): Bag {
  const weights = new Map<number, number>();
  for (const { terms, weight } of parts) {
    const words = terms.map((term) => numbers.get(term)).filter((word) => word !== undefined);
    const share = weight / Math.sqrt(Math.max(1, words.length));
    for (const word of words) weights.set(word, (weights.get(word) ?? 0) + share);
  }
  return { words: [...weights.keys()], weights: [...weights.values()] };
}

function select<Item>(items: readonly Item[], places: readonly number[]): Item[] {
  return places.map((place) => items[place]).filter((item) => item !== undefined);
}
