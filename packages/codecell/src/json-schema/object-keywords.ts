/** Keywords for objects. They see only own members that JSON prints. Runs anywhere. */
import type { Rule, Judging, Evaluated } from "./judging.ts";
import type { RuleCompiler } from "./compile.ts";
import { own, type SchemaObject } from "../contract/schema-object.ts";
import { listIn, membersIn, numberIn } from "./document.ts";
import { isPrinted } from "./equality.ts";
import { compilePattern, type PatternTest } from "./pattern.ts";
import { shortened } from "./string-keywords.ts";

/** The rule of `unevaluatedProperties`, if the schema has that keyword, and the other rules. */
type ObjectRules = readonly [
  ((value: object, judging: Judging, seen: Evaluated) => boolean) | undefined,
  readonly Rule[],
];

type Members = Readonly<Record<string, unknown>>;

const MOST_NAMES_SHOWN = 12;

export function objectRules(schema: SchemaObject, compiler: RuleCompiler): ObjectRules {
  return [
    unevaluated(schema, compiler),
    [
      ...sizes(schema),
      ...required(schema),
      ...members(schema, compiler),
      ...names(schema, compiler),
      ...dependencies(schema, compiler),
    ],
  ];
}

function keysOf(value: unknown, judging: Judging): readonly string[] {
  const keys = Object.keys(value as object);
  judging.spend(keys.length);
  return keys;
}

function has(value: unknown, key: string): boolean {
  return Object.hasOwn(value as object, key) && isPrinted((value as Members)[key]);
}

function sizes(schema: SchemaObject): Rule[] {
  const [least, most] = [numberIn(schema, "minProperties"), numberIn(schema, "maxProperties")];
  const rules: Rule[] = [];
  if (typeof least === "number") {
    rules.push(
      (value, judging) =>
        count(value, judging) >= least || judging.fail(`must have at least ${least} properties`),
    );
  }
  if (typeof most === "number") {
    rules.push(
      (value, judging) =>
        count(value, judging) <= most || judging.fail(`must have at most ${most} properties`),
    );
  }
  return rules;
}

function count(value: unknown, judging: Judging): number {
  return keysOf(value, judging).filter((key) => isPrinted((value as Members)[key])).length;
}

function required(schema: SchemaObject): Rule[] {
  // In draft 3 `required` was a flag.
  const given = own(schema, "required");
  const listed = typeof given === "boolean" ? [] : (listIn(schema, "required") ?? []);
  const keys = listed.filter((key) => typeof key === "string");
  return keys.length === 0 ? [] : [needs(keys)];
}

function needs(keys: readonly string[]): Rule {
  return (value, judging) => {
    if (keys.length > 8) judging.spend(keys.length >> 2);
    let fits = true;
    for (const key of keys) {
      if (has(value, key)) continue;
      if (judging.isDone) return false;
      fits = judging.fail(`lacks the property ${shortened(JSON.stringify(key))}`);
    }
    return fits;
  };
}

function members(schema: SchemaObject, { compile }: RuleCompiler): Rule[] {
  const [properties, patterns] = [membersIn(schema, "properties"), membersIn(schema, "patternProperties")];
  const additional = own(schema, "additionalProperties");
  const named = new Map<string, Rule>(
    Object.entries(properties ?? {}).map(([key, part]) => [key, compile(part)]),
  );
  const matched: (readonly [PatternTest, Rule])[] = Object.entries(patterns ?? {}).map(([pattern, part]) => [
    compilePattern(pattern),
    compile(part),
  ]);
  if (matched.length === 0 && (additional === undefined || additional === true)) {
    const rules: Rule[] = named.size === 0 ? [] : [declared(named)];
    if (additional === true) rules.push(seeAll);
    return rules;
  }
  const others = additional === undefined ? undefined : compile(additional);
  const surplus = additional === false ? tooMuch(named, matched.length > 0) : undefined;
  return [
    (value, judging, seen) => {
      let fits = true;
      for (const key of keysOf(value, judging)) {
        const member = (value as Members)[key];
        if (!isPrinted(member)) continue;
        const rule = named.get(key);
        let isKnown = rule !== undefined;
        if (rule !== undefined && !judging.within(key, member, rule)) fits = false;
        for (const [test, part] of matched) {
          if (!test(key, judging)) continue;
          isKnown = true;
          if (!judging.within(key, member, part)) fits = false;
        }
        if (!isKnown && surplus !== undefined) fits = judging.fail(surplus(key, judging));
        else if (!isKnown && others !== undefined && !judging.within(key, member, others)) fits = false;
        if (!fits && judging.isDone) return false;
        if (isKnown || others !== undefined) seen?.members.add(key);
      }
      return fits;
    },
  ];
}

/** Looks up the members that the schema names, instead of visiting all members of the value. */
function declared(named: ReadonlyMap<string, Rule>): Rule {
  const entries = [...named];
  return (value, judging, seen) => {
    let fits = true;
    judging.spend(entries.length >> 2);
    for (const [key, rule] of entries) {
      if (!has(value, key)) continue;
      seen?.members.add(key);
      if (judging.within(key, (value as Members)[key], rule)) continue;
      if (judging.isDone) return false;
      fits = false;
    }
    return fits;
  };
}

const seeAll: Rule = (_value, _checking, seen) => {
  if (seen !== undefined) seen.allMembers = true;
  return true;
};

function tooMuch(
  named: ReadonlyMap<string, Rule>,
  hasPatterns: boolean,
): (key: string, judging: Judging) => string {
  const known = [...named.keys()].slice(0, MOST_NAMES_SHOWN).map((name) => shortened(JSON.stringify(name)));
  const more = named.size > MOST_NAMES_SHOWN ? ", …" : "";
  const rest = known.length === 0 || hasPatterns ? "" : `, known are ${known.join(", ")}${more}`;
  return (key, { path }) =>
    path === undefined
      ? ""
      : `must not have the property ${shortened(JSON.stringify(key.slice(0, 200)))}${rest}`;
}

function names(schema: SchemaObject, { document, compile }: RuleCompiler): Rule[] {
  const part = document.draft === 4 ? undefined : own(schema, "propertyNames");
  if (part === undefined) return [];
  const rule = compile(part);
  return [
    (value, judging) => {
      for (const key of keysOf(value, judging)) {
        if (!isPrinted((value as Members)[key]) || judging.quietly(rule, key, undefined)) continue;
        return judging.fail(
          `must not have a property of the name ${shortened(JSON.stringify(key.slice(0, 200)))}`,
        );
      }
      return true;
    },
  ];
}

function dependencies(schema: SchemaObject, { document, compile }: RuleCompiler): Rule[] {
  const keywords =
    document.draft <= 7 ? ["dependencies"] : ["dependencies", "dependentRequired", "dependentSchemas"];
  const entries = keywords
    .flatMap((keyword) => Object.entries(membersIn(schema, keyword) ?? {}))
    .map(([key, part]): readonly [string, Rule] => [
      key,
      Array.isArray(part) ? needs(part.filter((name) => typeof name === "string")) : compile(part),
    ]);
  if (entries.length === 0) return [];
  return [
    (value, judging, seen) => {
      judging.spend(entries.length >> 2);
      return entries.every(([key, rule]) => !has(value, key) || rule(value, judging, seen));
    },
  ];
}

function unevaluated(schema: SchemaObject, { document, compile }: RuleCompiler): ObjectRules[0] {
  const part = document.draft >= 2019 ? own(schema, "unevaluatedProperties") : undefined;
  if (part === undefined) return undefined;
  const rule = compile(part);
  return (value, judging, seen) => {
    if (!seen.allMembers) {
      for (const key of keysOf(value, judging)) {
        const member = (value as Members)[key];
        if (seen.members.has(key) || !isPrinted(member)) continue;
        if (!judging.within(key, member, rule)) return false;
      }
    }
    seen.allMembers = true;
    return true;
  };
}
