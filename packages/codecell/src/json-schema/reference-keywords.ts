/** Keywords that refer to other parts of the schema. */
import { type Check, type Checking, SchemaFault } from "./checking.ts";
import type { Compiler } from "./compile.ts";
import { own, type SchemaObject, type Target } from "./document.ts";

export function referenceChecks(schema: SchemaObject, compiler: Compiler): Check[] {
  const checks: Check[] = [];
  const { document } = compiler;
  const [plain, dynamic, recursive] = ["$ref", "$dynamicRef", "$recursiveRef"].map((key) => own(schema, key));
  const find = (reference: string): Target => document.find(reference, schema);
  if (typeof plain === "string") checks.push(followed(compiler, () => find(plain)));
  if (typeof dynamic === "string" && document.draft >= 2020) {
    const name = dynamic.slice(dynamic.indexOf("#") + 1);
    checks.push(
      followed(compiler, (checking) => {
        const target = find(dynamic);
        // Without such an anchor at its target it is a reference like any other.
        if (target.resource.dynamicAnchors.get(name) !== target.schema) return target;
        const outermost = checking.scopes.find(({ dynamicAnchors }) => dynamicAnchors.has(name));
        if (outermost === undefined) return target;
        return { schema: outermost.dynamicAnchors.get(name), resource: outermost };
      }),
    );
  }
  if (typeof recursive === "string" && document.draft === 2019) {
    checks.push(
      followed(compiler, (checking) => {
        const target = find(recursive);
        if (!target.resource.isRecursive) return target;
        const outermost = checking.scopes.find(({ isRecursive }) => isRecursive);
        return outermost === undefined ? target : { schema: outermost.root, resource: outermost };
      }),
    );
  }
  return checks;
}

/** What a reference means may depend on the way that led to it, if the schema has names for that. */
function followed({ document, compile }: Compiler, find: (checking: Checking) => Target): Check {
  if (!document.isDynamic) {
    let check: Check | undefined;
    return (value, checking, seen) => {
      check ??= compile(find(checking).schema);
      // Alternatives that refer to the same part would have it look at the same value once for each of them, at each level.
      return seen === undefined && typeof value === "object" && value !== null
        ? checking.once(check, value)
        : check(value, checking, seen);
    };
  }
  return (value, checking, seen) => {
    const { schema, resource } = find(checking);
    if (schema === undefined) throw new SchemaFault();
    checking.spend(4 + checking.scopes.length);
    checking.scopes.push(resource);
    const fits = compile(schema)(value, checking, seen);
    checking.scopes.pop();
    return fits;
  };
}
