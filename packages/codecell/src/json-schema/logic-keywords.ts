/** Keywords for values of every type (type, const, enum), and keywords that combine schemas. Runs anywhere. */
import { type Rule, Judging, type JudgedProblem, SchemaFault, Evaluated } from "./judging.ts";
import type { RuleCompiler } from "./compile.ts";
import { own, type SchemaObject } from "../contract/schema-object.ts";
import { listIn } from "./document.ts";
import { canonicalText } from "./equality.ts";

const TYPES: ReadonlyMap<unknown, readonly [article: string, is: (value: unknown) => boolean]> = new Map([
  ["string", ["a string", (value: unknown) => typeof value === "string"]],
  ["number", ["a number", (value: unknown) => typeof value === "number"]],
  ["integer", ["an integer", (value: unknown) => Number.isInteger(value)]],
  ["boolean", ["a boolean", (value: unknown) => typeof value === "boolean"]],
  ["null", ["null", (value: unknown) => value === null]],
  ["array", ["an array", (value: unknown) => Array.isArray(value)]],
  ["object", ["an object", (value: unknown) => nameOf(value) === "an object"]],
]);

const LONGEST_SHOWN = 200;

export function valueRules(schema: SchemaObject): Rule[] {
  return [...typeRules(schema), ...constRules(schema), ...enumRules(schema)];
}

function typeRules(schema: SchemaObject): Rule[] {
  const given = own(schema, "type");
  if (given === undefined) return [];
  const names = new Set<unknown>(Array.isArray(given) ? given : [given]);
  // "any" is from drafts before the fourth.
  if (names.has("any")) return [];
  const types = [...names].map((name) => TYPES.get(name)).filter((type) => type !== undefined);
  if (types.length === 0 || types.length < names.size) throw new SchemaFault();
  // `nullable` is from OpenAPI.
  const mayBeNull = own(schema, "nullable") === true;
  const text = `must be ${types.map(([article]) => article).join(" or ")}`;
  const [only] = types;
  const matches =
    types.length === 1 && only !== undefined
      ? only[1]
      : (value: unknown): boolean => types.some(([, is]) => is(value));
  return [
    (value, judging) =>
      matches(value) ||
      (mayBeNull && value === null) ||
      judging.fail(judging.path === undefined ? "" : `${text}, is ${nameOf(value)}`, true),
  ];
}

function nameOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

function constRules(schema: SchemaObject): Rule[] {
  return Object.hasOwn(schema, "const") ? [oneOfValues([schema["const"]])] : [];
}

function enumRules(schema: SchemaObject): Rule[] {
  const values = listIn(schema, "enum");
  return values === undefined ? [] : [oneOfValues(values)];
}

function oneOfValues(values: readonly unknown[]): Rule {
  const plain = new Set(values.filter((value) => typeof value !== "object" || value === null));
  // The schema's own values come from its author, not from a program, so they cost no steps.
  const free = new Judging(Number.POSITIVE_INFINITY, false, false);
  const others = new Set(
    values
      .filter((value) => typeof value === "object" && value !== null)
      .map((value) => canonicalText(value, free)),
  );
  let text: string | undefined;
  return (value, judging) => {
    if (typeof value !== "object" || value === null) {
      if (plain.has(value)) return true;
    } else if (others.size > 0 && others.has(canonicalText(value, judging))) return true;
    return judging.fail((text ??= listed(values)), true);
  };
}

function listed(values: readonly unknown[]): string {
  const shown: string[] = [];
  let length = 0;
  for (const value of values) {
    const one = (JSON.stringify(value) ?? "null").slice(0, LONGEST_SHOWN);
    length += one.length + 2;
    if (length > LONGEST_SHOWN && shown.length > 0) break;
    shown.push(one);
  }
  if (values.length === 1) return `must be ${shown.join()}`;
  const more = values.length - shown.length;
  return `must be one of ${shown.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

export function logicRules(schema: SchemaObject, compiler: RuleCompiler): Rule[] {
  return [
    ...allOf(schema, compiler),
    ...anyOf(schema, compiler),
    ...oneOf(schema, compiler),
    ...not(schema, compiler),
    ...conditions(schema, compiler),
  ];
}

function listOf(schema: SchemaObject, keyword: string, { compile }: RuleCompiler): Rule[] {
  return (listIn(schema, keyword) ?? []).map((one) => compile(one));
}

function allOf(schema: SchemaObject, compiler: RuleCompiler): Rule[] {
  return listOf(schema, "allOf", compiler);
}

function anyOf(schema: SchemaObject, compiler: RuleCompiler): Rule[] {
  const rules = listOf(schema, "anyOf", compiler);
  if (rules.length === 0) return [];
  return [
    (value, judging, seen) => {
      let fits = false;
      for (const rule of rules) {
        const branch = seen && new Evaluated();
        if (!judging.quietly(rule, value, branch)) continue;
        fits = true;
        if (seen === undefined) break;
        judging.gather(seen, branch);
      }
      return fits || closest(rules, value, judging);
    },
  ];
}

function oneOf(schema: SchemaObject, compiler: RuleCompiler): Rule[] {
  const rules = listOf(schema, "oneOf", compiler);
  if (rules.length === 0) return [];
  return [
    (value, judging, seen) => {
      let found: Evaluated | undefined;
      let count = 0;
      for (const rule of rules) {
        const branch = seen && new Evaluated();
        if (!judging.quietly(rule, value, branch)) continue;
        found = branch;
        if (++count > 1) return judging.fail("fits more than one of the alternatives, must fit exactly one");
      }
      if (count === 0) return closest(rules, value, judging);
      judging.gather(seen, found);
      return true;
    },
  ];
}

/** Reports the problems of the alternative that was probably meant: the one that the value fits best. */
function closest(rules: readonly Rule[], value: unknown, judging: Judging): false {
  if (judging.isDone) return false;
  let best: readonly JudgedProblem[] | undefined;
  for (const rule of rules) {
    const problems = judging.apart(rule, value);
    if (best === undefined || distance(problems) < distance(best)) best = problems;
  }
  const depth = judging.path?.length ?? 0;
  const isVague = best === undefined || best.some(({ path, isTag }) => isTag && path.length === depth);
  if (isVague && rules.length > 1) return judging.fail(`fits none of the ${rules.length} alternatives`);
  for (const problem of best ?? []) judging.problems.push(problem);
  return false;
}

/** A tag that differs counts most, because it shows that another alternative was meant. */
function distance(problems: readonly JudgedProblem[]): number {
  const depth = Math.max(0, ...problems.map(({ path }) => path.length));
  return problems.filter(({ isTag }) => isTag).length * 1000 + problems.length - depth / 1000;
}

function not(schema: SchemaObject, { compile }: RuleCompiler): Rule[] {
  const part = own(schema, "not");
  if (part === undefined) return [];
  const rule = compile(part);
  return [
    (value, judging) =>
      !judging.quietly(rule, value, undefined) || judging.fail('must not fit the schema under "not"'),
  ];
}

function conditions(schema: SchemaObject, { document, compile }: RuleCompiler): Rule[] {
  const condition = own(schema, "if");
  if (condition === undefined || document.draft === 4) return [];
  const holds = compile(condition);
  const [then, otherwise] = ["then", "else"].map((keyword) => {
    const part = own(schema, keyword);
    return part === undefined ? undefined : compile(part);
  });
  return [
    (value, judging, seen) => {
      const tried = seen && new Evaluated();
      const isHeld = judging.quietly(holds, value, tried);
      if (isHeld) judging.gather(seen, tried);
      const branch = isHeld ? then : otherwise;
      return branch === undefined || branch(value, judging, seen);
    },
  ];
}
