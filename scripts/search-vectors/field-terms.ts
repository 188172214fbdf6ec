/** Field terms: the words of a tool by field, weighted as the index weights them. */

import {
  type SearchField,
  FIELDS,
  readTexts,
  type SearchDocument,
} from "../../packages/codecell/src/catalog/search/document.ts";
import { PARTS } from "../../packages/codecell/src/catalog/search/meanings.ts";
import { toTerms } from "../../packages/codecell/src/catalog/search/terms.ts";

export type FieldTerms = Readonly<Record<SearchField, readonly string[]>>;

export interface Part {
  readonly terms: readonly string[];
  readonly weight: number;
}

export function readFields(document: SearchDocument): FieldTerms {
  const texts = readTexts(document);
  return Object.fromEntries(FIELDS.map((field) => [field, toTerms(texts[field])])) as Record<
    SearchField,
    string[]
  >;
}

export function partsOf(fields: FieldTerms): readonly Part[] {
  return PARTS.map((part) => ({
    terms: part.fields.flatMap((field) => fields[field]),
    weight: part.weight,
  }));
}
