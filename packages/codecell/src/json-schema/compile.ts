/**
 * Compile: turns a schema into a tree of functions, each made when it is first needed. Runs anywhere, also where
 * generating code is forbidden.
 *
 * - Each part of the schema is compiled once. References are followed when a value first reaches them, so they may be
 *   circular.
 * - Each keyword applies to values of one type, so a value runs only through the rules for its type.
 */
import { arrayRules } from "./array-keywords.ts";
import { type Rule, type Judging, SchemaFault, Evaluated } from "./judging.ts";
import { isSchemaObject, own, type SchemaObject } from "../contract/schema-object.ts";
import type { Document } from "./document.ts";
import { asPrinted } from "./equality.ts";
import { logicRules, valueRules } from "./logic-keywords.ts";
import { numberRules } from "./number-keywords.ts";
import { objectRules } from "./object-keywords.ts";
import { referenceRules } from "./reference-keywords.ts";
import { stringRules } from "./string-keywords.ts";

/** What the compilers of keywords need. */
export interface RuleCompiler {
  readonly document: Document;
  /** Gives the rule of a part of the schema. */
  readonly compile: (schema: unknown) => Rule;
}

const accept: Rule = (_value, judging) => {
  judging.spend(1);
  return true;
};
const refuse: Rule = (_value, judging) => {
  judging.spend(1);
  return judging.fail("nothing is allowed here");
};

export function createCompiler(document: Document): RuleCompiler {
  const compiled = new Map<object, Rule>();
  const compiler: RuleCompiler = {
    document,
    compile: (schema) => {
      if (schema === true) return accept;
      if (schema === false) return refuse;
      if (!isSchemaObject(schema)) throw new SchemaFault();
      let rule = compiled.get(schema);
      if (rule === undefined) {
        rule = later(() => inScope(schema, document, toRule(schema, compiler)));
        compiled.set(schema, rule);
      }
      return rule;
    },
  };
  return compiler;
}

/**
 * Records that a resource is entered: the meaning of a dynamic reference depends on all resources entered on the way to
 * it.
 */
function inScope(schema: SchemaObject, document: Document, rule: Rule): Rule {
  const resource = document.resourceOf(schema);
  if (!document.isDynamic || resource.root !== schema) return rule;
  return (value, judging, seen) => {
    judging.scopes.push(resource);
    const fits = rule(value, judging, seen);
    judging.scopes.pop();
    return fits;
  };
}

/** Compiles a part when a value first reaches it. */
function later(make: () => Rule): Rule {
  let made: Rule | undefined;
  return (value, judging, seen) => (made ??= make())(value, judging, seen);
}

function toRule(schema: SchemaObject, compiler: RuleCompiler): Rule {
  const references = referenceRules(schema, compiler);
  // Older drafts ignore all keywords beside a reference.
  if (compiler.document.draft <= 7 && typeof own(schema, "$ref") === "string") return inOrder(references);
  const always = [...references, ...valueRules(schema)];
  const logic = logicRules(schema, compiler);
  const [unevaluatedMembers, members] = objectRules(schema, compiler);
  const [unevaluatedItems, items] = arrayRules(schema, compiler);
  const [forString, forNumber, forObject, forArray, forOther] = [
    inOrder([...always, ...stringRules(schema), ...logic]),
    inOrder([...always, ...numberRules(schema), ...logic]),
    watching(inOrder([...always, ...members, ...logic]), unevaluatedMembers),
    watching(inOrder([...always, ...items, ...logic]), unevaluatedItems),
    inOrder([...always, ...logic]),
  ];
  const rule: Rule = (value, judging, seen) => {
    if (typeof value === "string") return forString(value, judging, seen);
    // NaN and the infinities print as null.
    if (typeof value === "number")
      return Number.isFinite(value) ? forNumber(value, judging, seen) : forOther(null, judging, seen);
    if (typeof value !== "object" || value === null) return forOther(value, judging, seen);
    return (Array.isArray(value) ? forArray : forObject)(value, judging, seen);
  };
  return (value, judging, seen) =>
    rule(typeof value === "object" && value !== null ? asPrinted(value) : value, judging, seen);
}

function inOrder(rules: readonly Rule[]): Rule {
  const [first, second] = rules;
  if (first === undefined) return accept;
  if (second === undefined) {
    return (value, judging, seen) => {
      if (--judging.steps < 0) judging.spend(0);
      return first(value, judging, seen);
    };
  }
  return (value, judging, seen) => {
    if (--judging.steps < 0) judging.spend(0);
    let fits = true;
    for (const rule of rules) {
      if (rule(value, judging, seen)) continue;
      if (judging.isDone) return false;
      fits = false;
    }
    return fits;
  };
}

/** Runs `last`, which needs to know everything that has been evaluated, after all other rules. */
function watching(
  rule: Rule,
  last: ((value: object, judging: Judging, seen: Evaluated) => boolean) | undefined,
): Rule {
  if (last === undefined) return rule;
  return (value, judging, seen) => {
    const watched = new Evaluated();
    if (!rule(value, judging, watched)) return false;
    if (!last(value as object, judging, watched)) return false;
    judging.gather(seen, watched);
    return true;
  };
}
