/**
 * Compile: a schema as a tree of functions, made when first needed. No code is generated: it runs where that is forbidden.
 *
 * - Each part of the schema is compiled once; references are followed when a value first meets them, so they may be
 *   circular.
 * - Keywords look at values of their own type only, so each kind of value meets only the checks that are for it.
 */
import { arrayChecks } from "./array-keywords.ts";
import { type Check, type Checking, SchemaFault, Seen } from "./checking.ts";
import { type Document, isSchemaObject, own, type SchemaObject } from "./document.ts";
import { asPrinted } from "./equality.ts";
import { logicChecks, valueChecks } from "./logic-keywords.ts";
import { numberChecks } from "./number-keywords.ts";
import { objectChecks } from "./object-keywords.ts";
import { referenceChecks } from "./reference-keywords.ts";
import { stringChecks } from "./string-keywords.ts";

/** What keywords are compiled with. */
export interface Compiler {
  readonly document: Document;
  /** The check of a part of the schema. */
  readonly compile: (schema: unknown) => Check;
}

const accept: Check = (_value, checking) => {
  checking.spend(1);
  return true;
};
const refuse: Check = (_value, checking) => {
  checking.spend(1);
  return checking.fail("nothing is allowed here");
};

export function createCompiler(document: Document): Compiler {
  const compiled = new Map<object, Check>();
  const compiler: Compiler = {
    document,
    compile: (schema) => {
      if (schema === true) return accept;
      if (schema === false) return refuse;
      if (!isSchemaObject(schema)) throw new SchemaFault();
      let check = compiled.get(schema);
      if (check === undefined) {
        check = later(() => toCheck(schema, compiler));
        compiled.set(schema, check);
      }
      return check;
    },
  };
  return compiler;
}

/** A part that no value ever meets is never compiled. */
function later(make: () => Check): Check {
  let made: Check | undefined;
  return (value, checking, seen) => (made ??= make())(value, checking, seen);
}

function toCheck(schema: SchemaObject, compiler: Compiler): Check {
  const references = referenceChecks(schema, compiler);
  // Older drafts see nothing beside a reference.
  if (compiler.document.draft <= 7 && own(schema, "$ref") !== undefined) return inOrder(references);
  const always = [...references, ...valueChecks(schema)];
  const logic = logicChecks(schema, compiler);
  const [unevaluatedMembers, members] = objectChecks(schema, compiler);
  const [unevaluatedItems, items] = arrayChecks(schema, compiler);
  const [forString, forNumber, forObject, forArray, forOther] = [
    inOrder([...always, ...stringChecks(schema), ...logic]),
    inOrder([...always, ...numberChecks(schema), ...logic]),
    watching(inOrder([...always, ...members, ...logic]), unevaluatedMembers),
    watching(inOrder([...always, ...items, ...logic]), unevaluatedItems),
    inOrder([...always, ...logic]),
  ];
  const check: Check = (value, checking, seen) => {
    if (typeof value === "string") return forString(value, checking, seen);
    if (typeof value === "number") return forNumber(value, checking, seen);
    if (typeof value !== "object" || value === null) return forOther(value, checking, seen);
    return (Array.isArray(value) ? forArray : forObject)(value, checking, seen);
  };
  return (value, checking, seen) =>
    check(typeof value === "object" && value !== null ? asPrinted(value) : value, checking, seen);
}

function inOrder(checks: readonly Check[]): Check {
  const [first, second] = checks;
  if (first === undefined) return accept;
  if (second === undefined) {
    return (value, checking, seen) => {
      if (--checking.steps < 0) checking.spend(0);
      return first(value, checking, seen);
    };
  }
  return (value, checking, seen) => {
    if (--checking.steps < 0) checking.spend(0);
    let fits = true;
    for (const check of checks) {
      if (check(value, checking, seen)) continue;
      if (checking.isDone) return false;
      fits = false;
    }
    return fits;
  };
}

/** Runs what asks for all that has been evaluated after everything else. */
function watching(
  check: Check,
  last: ((value: object, checking: Checking, seen: Seen) => boolean) | undefined,
): Check {
  if (last === undefined) return check;
  return (value, checking, seen) => {
    const watched = new Seen();
    if (!check(value, checking, watched)) return false;
    if (!last(value as object, checking, watched)) return false;
    seen?.add(watched);
    return true;
  };
}
