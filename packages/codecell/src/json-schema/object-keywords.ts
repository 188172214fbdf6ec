/** Keywords for objects. Own members only, and only those that JSON prints. */
import type { Check, Checking, Seen } from "./checking.ts";
import type { Compiler } from "./compile.ts";
import { isSchemaObject, own, type SchemaObject } from "./document.ts";
import { isPrinted } from "./equality.ts";
import { compilePattern, type PatternTest } from "./pattern.ts";
import { shown } from "./string-keywords.ts";

/** What asks for all members that have been evaluated, if the schema has that; and the other checks. */
type ObjectChecks = readonly [
  ((value: object, checking: Checking, seen: Seen) => boolean) | undefined,
  readonly Check[],
];

type Members = Readonly<Record<string, unknown>>;

const MOST_NAMES_SHOWN = 12;

export function objectChecks(schema: SchemaObject, compiler: Compiler): ObjectChecks {
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

function keysOf(value: unknown, checking: Checking): readonly string[] {
  const keys = Object.keys(value as object);
  checking.spend(keys.length);
  return keys;
}

function has(value: unknown, key: string): boolean {
  return Object.hasOwn(value as object, key) && isPrinted((value as Members)[key]);
}

function sizes(schema: SchemaObject): Check[] {
  const [least, most] = [own(schema, "minProperties"), own(schema, "maxProperties")];
  const checks: Check[] = [];
  if (typeof least === "number") {
    checks.push(
      (value, checking) =>
        count(value, checking) >= least || checking.fail(`must have at least ${least} properties`),
    );
  }
  if (typeof most === "number") {
    checks.push(
      (value, checking) =>
        count(value, checking) <= most || checking.fail(`must have at most ${most} properties`),
    );
  }
  return checks;
}

function count(value: unknown, checking: Checking): number {
  return keysOf(value, checking).filter((key) => isPrinted((value as Members)[key])).length;
}

function required(schema: SchemaObject): Check[] {
  const given = own(schema, "required");
  const keys = Array.isArray(given) ? given.filter((key) => typeof key === "string") : [];
  return keys.length === 0 ? [] : [needs(keys)];
}

function needs(keys: readonly string[]): Check {
  return (value, checking) => {
    if (keys.length > 8) checking.spend(keys.length >> 2);
    let fits = true;
    for (const key of keys) {
      if (has(value, key)) continue;
      if (checking.isDone) return false;
      fits = checking.fail(`lacks the property ${shown(JSON.stringify(key))}`);
    }
    return fits;
  };
}

function members(schema: SchemaObject, { compile }: Compiler): Check[] {
  const [properties, patterns] = [own(schema, "properties"), own(schema, "patternProperties")];
  const additional = own(schema, "additionalProperties");
  const named = new Map<string, Check>(
    isSchemaObject(properties) ? Object.entries(properties).map(([key, part]) => [key, compile(part)]) : [],
  );
  const matched: (readonly [PatternTest, Check])[] = isSchemaObject(patterns)
    ? Object.entries(patterns).map(([pattern, part]) => [compilePattern(pattern), compile(part)])
    : [];
  if (matched.length === 0 && (additional === undefined || additional === true)) {
    const checks: Check[] = named.size === 0 ? [] : [declared(named)];
    if (additional === true) checks.push(seeAll);
    return checks;
  }
  const others = additional === undefined ? undefined : compile(additional);
  const surplus = additional === false ? tooMuch(named, matched.length > 0) : undefined;
  return [
    (value, checking, seen) => {
      let fits = true;
      for (const key of keysOf(value, checking)) {
        const member = (value as Members)[key];
        if (!isPrinted(member)) continue;
        const check = named.get(key);
        let isKnown = check !== undefined;
        if (check !== undefined && !checking.within(key, member, check)) fits = false;
        for (const [test, part] of matched) {
          if (!test(key, checking)) continue;
          isKnown = true;
          if (!checking.within(key, member, part)) fits = false;
        }
        if (!isKnown && surplus !== undefined) fits = checking.fail(surplus(key, checking));
        else if (!isKnown && others !== undefined && !checking.within(key, member, others)) fits = false;
        if (!fits && checking.isDone) return false;
        if (isKnown || others !== undefined) seen?.members.add(key);
      }
      return fits;
    },
  ];
}

/** Looks for what the schema names rather than at all that the value has. */
function declared(named: ReadonlyMap<string, Check>): Check {
  const entries = [...named];
  return (value, checking, seen) => {
    let fits = true;
    checking.spend(entries.length >> 2);
    for (const [key, check] of entries) {
      if (!has(value, key)) continue;
      seen?.members.add(key);
      if (checking.within(key, (value as Members)[key], check)) continue;
      if (checking.isDone) return false;
      fits = false;
    }
    return fits;
  };
}

const seeAll: Check = (_value, _checking, seen) => {
  if (seen !== undefined) seen.allMembers = true;
  return true;
};

function tooMuch(
  named: ReadonlyMap<string, Check>,
  hasPatterns: boolean,
): (key: string, checking: Checking) => string {
  const known = [...named.keys()].slice(0, MOST_NAMES_SHOWN).map((name) => shown(JSON.stringify(name)));
  const more = named.size > MOST_NAMES_SHOWN ? ", …" : "";
  const rest = known.length === 0 || hasPatterns ? "" : `, known are ${known.join(", ")}${more}`;
  return (key, { path }) =>
    path === undefined ? "" : `must not have the property ${shown(JSON.stringify(key.slice(0, 200)))}${rest}`;
}

function names(schema: SchemaObject, { document, compile }: Compiler): Check[] {
  const part = document.draft === 4 ? undefined : own(schema, "propertyNames");
  if (part === undefined) return [];
  const check = compile(part);
  return [
    (value, checking) => {
      for (const key of keysOf(value, checking)) {
        if (checking.quietly(check, key, undefined)) continue;
        return checking.fail(
          `must not have a property of the name ${shown(JSON.stringify(key.slice(0, 200)))}`,
        );
      }
      return true;
    },
  ];
}

function dependencies(schema: SchemaObject, { compile }: Compiler): Check[] {
  const checks: Check[] = [];
  for (const keyword of ["dependencies", "dependentRequired", "dependentSchemas"]) {
    const given = own(schema, keyword);
    if (!isSchemaObject(given)) continue;
    for (const [key, part] of Object.entries(given)) {
      const check = Array.isArray(part)
        ? needs(part.filter((name) => typeof name === "string"))
        : compile(part);
      checks.push((value, checking, seen) => !has(value, key) || check(value, checking, seen));
    }
  }
  return checks;
}

function unevaluated(schema: SchemaObject, { document, compile }: Compiler): ObjectChecks[0] {
  const part = document.draft >= 2019 ? own(schema, "unevaluatedProperties") : undefined;
  if (part === undefined) return undefined;
  const check = compile(part);
  return (value, checking, seen) => {
    if (!seen.allMembers) {
      for (const key of keysOf(value, checking)) {
        const member = (value as Members)[key];
        if (seen.members.has(key) || !isPrinted(member)) continue;
        if (!checking.within(key, member, check)) return false;
      }
    }
    seen.allMembers = true;
    return true;
  };
}
