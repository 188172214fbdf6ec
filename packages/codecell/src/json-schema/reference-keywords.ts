/** Keywords that refer to other parts of the schema. Runs anywhere. */
import { type Rule, type Judging, SchemaFault } from "./judging.ts";
import type { RuleCompiler } from "./compile.ts";
import { own, type SchemaObject } from "../contract/schema-object.ts";
import type { Target } from "./document.ts";

export function referenceRules(schema: SchemaObject, compiler: RuleCompiler): Rule[] {
  const rules: Rule[] = [];
  const { document } = compiler;
  const [plain, dynamic, recursive] = ["$ref", "$dynamicRef", "$recursiveRef"].map((key) => own(schema, key));
  const find = (reference: string): (() => Target) => {
    let target: Target | undefined;
    return () => (target ??= document.find(reference, schema));
  };
  if (typeof plain === "string") rules.push(followed(compiler, find(plain)));
  if (typeof dynamic === "string" && document.draft >= 2020) {
    const name = dynamic.slice(dynamic.indexOf("#") + 1);
    const findStatic = find(dynamic);
    rules.push(
      followed(compiler, (judging) => {
        const target = findStatic();
        // Without a dynamic anchor at its target this is an ordinary reference.
        if (target.resource.dynamicAnchors.get(name) !== target.schema) return target;
        const outermost = judging.scopes.find(({ dynamicAnchors }) => dynamicAnchors.has(name));
        if (outermost === undefined) return target;
        return { schema: outermost.dynamicAnchors.get(name), resource: outermost };
      }),
    );
  }
  if (typeof recursive === "string" && document.draft === 2019) {
    const findStatic = find(recursive);
    rules.push(
      followed(compiler, (judging) => {
        const target = findStatic();
        if (!target.resource.isRecursive) return target;
        const outermost = judging.scopes.find(({ isRecursive }) => isRecursive);
        return outermost === undefined ? target : { schema: outermost.root, resource: outermost };
      }),
    );
  }
  return rules;
}

/** Follows a reference. In a schema with dynamic anchors, its target may depend on the resources entered on the way. */
function followed({ document, compile }: RuleCompiler, find: (judging: Judging) => Target): Rule {
  if (!document.isDynamic) {
    let rule: Rule | undefined;
    return (value, judging, seen) => {
      rule ??= compile(find(judging).schema);
      // Remember the answer: alternatives that refer to the same part would judge the same value again for each of
      // them, at each level.
      return seen === undefined && typeof value === "object" && value !== null
        ? judging.once(rule, value)
        : rule(value, judging, seen);
    };
  }
  return (value, judging, seen) => {
    const { schema, resource } = find(judging);
    if (schema === undefined) throw new SchemaFault();
    judging.spend(4 + judging.scopes.length);
    judging.scopes.push(resource);
    const fits = compile(schema)(value, judging, seen);
    judging.scopes.pop();
    return fits;
  };
}
