/** Keywords for values of every type: type, const, enum; and those that join schemas. */
import { type Check, Checking, type Problem, Seen } from "./checking.ts";
import type { Compiler } from "./compile.ts";
import { own, type SchemaObject } from "./document.ts";
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

export function valueChecks(schema: SchemaObject): Check[] {
  return [...typeChecks(schema), ...constChecks(schema), ...enumChecks(schema)];
}

function typeChecks(schema: SchemaObject): Check[] {
  const given = own(schema, "type");
  const names: readonly unknown[] = Array.isArray(given) ? given : given === undefined ? [] : [given];
  const types = names.map((name) => TYPES.get(name)).filter((type) => type !== undefined);
  // A type that nobody knows is no constraint; `nullable` is OpenAPI's.
  if (names.length === 0 || types.length < names.length) return [];
  const mayBeNull = own(schema, "nullable") === true;
  const text = `must be ${types.map(([article]) => article).join(" or ")}`;
  const [only] = types;
  const matches =
    types.length === 1 && only !== undefined
      ? only[1]
      : (value: unknown): boolean => types.some(([, is]) => is(value));
  return [
    (value, checking) =>
      matches(value) ||
      (mayBeNull && value === null) ||
      checking.fail(checking.path === undefined ? "" : `${text}, is ${nameOf(value)}`, true),
  ];
}

function nameOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

function constChecks(schema: SchemaObject): Check[] {
  return Object.hasOwn(schema, "const") ? [oneOfValues([schema["const"]])] : [];
}

function enumChecks(schema: SchemaObject): Check[] {
  const values = own(schema, "enum");
  return Array.isArray(values) ? [oneOfValues(values)] : [];
}

function oneOfValues(values: readonly unknown[]): Check {
  const plain = new Set(values.filter((value) => typeof value !== "object" || value === null));
  // The schema's own values are not the program's: they cost nothing.
  const free = new Checking(Number.POSITIVE_INFINITY, false, false);
  const others = new Set(
    values
      .filter((value) => typeof value === "object" && value !== null)
      .map((value) => canonicalText(value, free)),
  );
  let text: string | undefined;
  return (value, checking) => {
    if (typeof value !== "object" || value === null) {
      if (plain.has(value)) return true;
    } else if (others.size > 0 && others.has(canonicalText(value, checking))) return true;
    return checking.fail((text ??= listed(values)), true);
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

export function logicChecks(schema: SchemaObject, compiler: Compiler): Check[] {
  return [
    ...allOf(schema, compiler),
    ...anyOf(schema, compiler),
    ...oneOf(schema, compiler),
    ...not(schema, compiler),
    ...conditions(schema, compiler),
  ];
}

function listOf(schema: SchemaObject, keyword: string, { compile }: Compiler): Check[] {
  const list = own(schema, keyword);
  return Array.isArray(list) ? list.map((one) => compile(one)) : [];
}

function allOf(schema: SchemaObject, compiler: Compiler): Check[] {
  return listOf(schema, "allOf", compiler);
}

function anyOf(schema: SchemaObject, compiler: Compiler): Check[] {
  const checks = listOf(schema, "anyOf", compiler);
  if (checks.length === 0) return [];
  return [
    (value, checking, seen) => {
      let fits = false;
      for (const check of checks) {
        const branch = seen && new Seen();
        if (!checking.quietly(check, value, branch)) continue;
        fits = true;
        if (seen === undefined || branch === undefined) break;
        seen.add(branch);
      }
      return fits || closest(checks, value, checking);
    },
  ];
}

function oneOf(schema: SchemaObject, compiler: Compiler): Check[] {
  const checks = listOf(schema, "oneOf", compiler);
  if (checks.length === 0) return [];
  return [
    (value, checking, seen) => {
      let found: Seen | undefined;
      let count = 0;
      for (const check of checks) {
        const branch = seen && new Seen();
        if (!checking.quietly(check, value, branch)) continue;
        found = branch;
        if (++count > 1) return checking.fail("fits more than one of the alternatives, must fit exactly one");
      }
      if (count === 0) return closest(checks, value, checking);
      if (found !== undefined) seen?.add(found);
      return true;
    },
  ];
}

/** Tells the problems of the alternative that was probably meant: the one in which the value got furthest. */
function closest(checks: readonly Check[], value: unknown, checking: Checking): false {
  if (checking.isDone) return false;
  let best: readonly Problem[] | undefined;
  for (const check of checks) {
    const problems = checking.apart(check, value);
    if (best === undefined || distance(problems) < distance(best)) best = problems;
  }
  const depth = checking.path?.length ?? 0;
  const isVague = best === undefined || best.some(({ path, isTag }) => isTag && path.length === depth);
  if (isVague && checks.length > 1) return checking.fail(`fits none of the ${checks.length} alternatives`);
  for (const problem of best ?? []) checking.problems.push(problem);
  return false;
}

/** Tags that differ count most: they say that another alternative was meant. */
function distance(problems: readonly Problem[]): number {
  const depth = Math.max(0, ...problems.map(({ path }) => path.length));
  return problems.filter(({ isTag }) => isTag).length * 1000 + problems.length - depth / 1000;
}

function not(schema: SchemaObject, { compile }: Compiler): Check[] {
  const part = own(schema, "not");
  if (part === undefined) return [];
  const check = compile(part);
  return [
    (value, checking) =>
      !checking.quietly(check, value, undefined) || checking.fail("is what the schema excludes"),
  ];
}

function conditions(schema: SchemaObject, { document, compile }: Compiler): Check[] {
  const condition = own(schema, "if");
  if (condition === undefined || document.draft === 4) return [];
  const holds = compile(condition);
  const [then, otherwise] = ["then", "else"].map((keyword) => {
    const part = own(schema, keyword);
    return part === undefined ? undefined : compile(part);
  });
  return [
    (value, checking, seen) => {
      const tried = seen && new Seen();
      const isHeld = checking.quietly(holds, value, tried);
      if (isHeld && tried !== undefined) seen?.add(tried);
      const branch = isHeld ? then : otherwise;
      return branch === undefined || branch(value, checking, seen);
    },
  ];
}
