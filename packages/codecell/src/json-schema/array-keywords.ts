/** Keywords for arrays. Runs anywhere. */
import type { Rule, Judging, Evaluated } from "./judging.ts";
import type { RuleCompiler } from "./compile.ts";
import { own, type SchemaObject } from "../contract/schema-object.ts";
import { numberIn } from "./document.ts";
import { canonicalText } from "./equality.ts";

/** The rule of `unevaluatedItems`, if the schema has that keyword, and the other rules. */
type ArrayRules = readonly [
  ((value: object, judging: Judging, seen: Evaluated) => boolean) | undefined,
  readonly Rule[],
];

export function arrayRules(schema: SchemaObject, compiler: RuleCompiler): ArrayRules {
  return [
    unevaluated(schema, compiler),
    [...sizes(schema), ...places(schema, compiler), ...contains(schema, compiler), ...unique(schema)],
  ];
}

function sizes(schema: SchemaObject): Rule[] {
  const [least, most] = [numberIn(schema, "minItems"), numberIn(schema, "maxItems")];
  const rules: Rule[] = [];
  if (typeof least === "number") {
    rules.push(
      (value, judging) =>
        (value as unknown[]).length >= least || judging.fail(`must have at least ${least} items`),
    );
  }
  if (typeof most === "number") {
    rules.push(
      (value, judging) =>
        (value as unknown[]).length <= most || judging.fail(`must have at most ${most} items`),
    );
  }
  return rules;
}

/**
 * Rules for the first items, one each, and one rule for all items after them. Older drafts use other keywords for both.
 */
function places(schema: SchemaObject, { document, compile }: RuleCompiler): Rule[] {
  const items = own(schema, "items");
  const prefix = document.draft === 2020 ? own(schema, "prefixItems") : undefined;
  // Older drafts write the first items as a list in `items`. This is understood in every draft, unless `prefixItems` is
  // present.
  const isOld = prefix === undefined && Array.isArray(items);
  const listed = isOld ? items : prefix;
  const first = (Array.isArray(listed) ? listed : []).map((one) => compile(one));
  const rest = isOld ? own(schema, "additionalItems") : items;
  const behind = rest === undefined || Array.isArray(rest) ? undefined : compile(rest);
  if (first.length === 0 && behind === undefined) return [];
  return [
    (value, judging, seen) => {
      const list = value as unknown[];
      let fits = true;
      const end = behind === undefined ? Math.min(first.length, list.length) : list.length;
      for (let index = 0; index < end; index++) {
        const rule = first[index] ?? behind;
        if (rule === undefined || judging.within(index, list[index] ?? null, rule)) continue;
        if (judging.isDone) return false;
        fits = false;
      }
      if (seen !== undefined) {
        seen.items = Math.max(seen.items, end);
        seen.allItems ||= behind !== undefined;
      }
      return fits;
    },
  ];
}

function contains(schema: SchemaObject, { document, compile }: RuleCompiler): Rule[] {
  const part = own(schema, "contains");
  if (part === undefined || document.draft === 4) return [];
  const rule = compile(part);
  const [least, most] = [numberIn(schema, "minContains"), numberIn(schema, "maxContains")];
  const isCounted = document.draft >= 2019;
  const lowest = isCounted && typeof least === "number" ? least : 1;
  const highest = isCounted && typeof most === "number" ? most : Number.POSITIVE_INFINITY;
  return [
    (value, judging, seen) => {
      let count = 0;
      for (const [index, item] of (value as unknown[]).entries()) {
        if (!judging.quietly(rule, item ?? null, undefined)) continue;
        count++;
        if (document.draft === 2020) seen?.single.add(index);
        else if (count >= lowest && highest === Number.POSITIVE_INFINITY) break;
      }
      if (count < lowest)
        return judging.fail(`must contain at least ${lowest} items that fit the schema under "contains"`);
      return (
        count <= highest ||
        judging.fail(`must contain at most ${highest} items that fit the schema under "contains"`)
      );
    },
  ];
}

function unique(schema: SchemaObject): Rule[] {
  if (own(schema, "uniqueItems") !== true) return [];
  return [
    (value, judging) => {
      const found = new Set<string>();
      for (const [index, item] of (value as unknown[]).entries()) {
        const key = keyOf(item ?? null, judging);
        if (found.has(key)) return judging.fail(`has an item twice, at ${index}: items must be unique`);
        found.add(key);
      }
      return true;
    },
  ];
}

/**
 * Equal items have equal keys. A key is a text that begins with a letter: anybody can compute how an engine hashes
 * numbers and texts of digits, so a program could choose items that all fall into one place of the set.
 */
function keyOf(item: unknown, judging: Judging): string {
  judging.spend(1);
  if (typeof item === "object" && item !== null) return `o${canonicalText(item, judging)}`;
  if (typeof item !== "string") return `p${String(item)}`;
  judging.spend(item.length >> 4);
  return `s${item}`;
}

function unevaluated(schema: SchemaObject, { document, compile }: RuleCompiler): ArrayRules[0] {
  const part = document.draft >= 2019 ? own(schema, "unevaluatedItems") : undefined;
  if (part === undefined) return undefined;
  const rule = compile(part);
  return (value, judging, seen) => {
    const list = value as unknown[];
    if (!seen.allItems) {
      for (let index = seen.items; index < list.length; index++) {
        if (seen.single.has(index)) continue;
        if (!judging.within(index, list[index] ?? null, rule)) return false;
      }
    }
    seen.allItems = true;
    return true;
  };
}
