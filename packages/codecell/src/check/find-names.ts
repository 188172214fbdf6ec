/** Find names: calls of tools and of methods of handles that do not exist. */
import type ts from "@typescript/typescript6";
import type { CallSite } from "./call-sites.ts";
import type { Fates } from "./fate.ts";
import { closestNames } from "../bridge/closest-names.ts";
import { type Finding, quoteAll } from "./finding.ts";
import type { LinkedProgram } from "./linked-program.ts";
import { memberOf } from "./syntax.ts";

export function findUnknownNames(linked: LinkedProgram, sites: readonly CallSite[], fates: Fates): Finding[] {
  return sites.flatMap((site) => {
    const found =
      site.handle === undefined ? unknownTool(linked, site) : unknownMethod(linked, site, site.handle);
    if (found === undefined) return [];
    return [{ ...found, isProvable: fates.of(site.call) === "certain" }];
  });
}

type Found = Omit<Finding, "isProvable">;

function unknownTool({ declared }: LinkedProgram, { name, nameNode }: CallSite): Found | undefined {
  if (!declared.tools.has(name) || declared.tools.get(name) !== undefined) return undefined;
  const hint = toHint(closestNames(name, declared.names));
  return { code: "unknown_tool", node: nameNode, what: `Cannot call tool "${name}": no such tool${hint}` };
}

/** The first name on the way to the method that its handle's type does not have. */
function unknownMethod(linked: LinkedProgram, site: CallSite, handle: ts.Expression): Found | undefined {
  const { ts: compiler } = linked;
  const steps: { readonly of: ts.Expression; readonly name: string; readonly nameNode: ts.Node }[] = [
    { of: handle, name: site.name, nameNode: site.nameNode },
  ];
  for (let at = memberOf(compiler, handle); at !== undefined; at = memberOf(compiler, at.node.expression)) {
    steps.unshift({ of: at.node.expression, name: at.name, nameNode: at.nameNode });
  }
  for (const { of, name, nameNode } of steps) {
    const names = namesOf(linked, of);
    // Nothing is known about it, so nothing about what it leads to.
    if (names === undefined) return undefined;
    if (names.has(name)) continue;
    const what = `Cannot call "${of.getText()}.${name}": "${of.getText()}" has no "${name}"`;
    const hint = toHint(closestNames(name, [...names.own]));
    return {
      code: "unknown_method",
      node: nameNode,
      what: `${what}${hint || `, it has ${quoteAll(names.own)}`}`,
    };
  }
  return undefined;
}

interface Names {
  readonly own: readonly string[];
  has(name: string): boolean;
}

/** What an object has by its type; undefined where the type does not say it all. */
function namesOf({ ts: compiler, checker }: LinkedProgram, object: ts.Expression): Names | undefined {
  const type = checker.getTypeAtLocation(object);
  if ((type.flags & compiler.TypeFlags.Object) === 0) return undefined;
  if (checker.getIndexInfosOfType(type).length > 0) return undefined;
  const own = checker.getPropertiesOfType(type).map(({ name }) => name);
  return { own, has: (name) => checker.getPropertyOfType(checker.getApparentType(type), name) !== undefined };
}

function toHint(closest: readonly string[]): string {
  if (closest.length === 0) return "";
  return closest.length === 1 ? `, closest is "${closest[0]}"` : `, closest are ${quoteAll(closest)}`;
}
