/** Runs in the check's thread. Finds calls of tools, and of methods of handles, that do not exist. */
import type ts from "@typescript/typescript6";
import type { CallSite } from "./call-sites.ts";
import type { Reachabilities } from "./reachability.ts";
import { closestNames } from "../calls/closest-names.ts";
import { type Finding, quoteAll, toOneLine } from "./finding.ts";
import type { LinkedProgram } from "./linked-program.ts";
import type { Declared } from "./messages.ts";
import { memberOf } from "./syntax.ts";

/** For each called tool that does not exist: the most similar names. */
export type ClosestTools = ReadonlyMap<string, readonly string[]>;

export function closestTools({ tools, names }: Declared): ClosestTools {
  const unknown = [...tools].filter(([, tool]) => tool === undefined).slice(0, MOST_CLOSEST);
  return new Map(unknown.map(([name]) => [name, closestNames(name, names)]));
}

/** Most unknown names that are compared with all names there are: hardly more can be misspelt. */
const MOST_CLOSEST = 20;

/** Suggestions for unknown tools. `alike` declares the first suggestion of each. */
export interface Closest {
  readonly closest: ClosestTools;
  readonly alike: Declared;
}

export function findUnknownNames(
  linked: LinkedProgram,
  sites: readonly CallSite[],
  reachabilities: Reachabilities,
  closest: Closest,
): Finding[] {
  return sites.flatMap((site) => {
    const found =
      site.handle === undefined
        ? unknownTool(linked, site, closest)
        : unknownMethod(linked, site, site.handle);
    if (found === undefined) return [];
    return [{ ...found, isProvable: reachabilities.of(site.call) === "certain" }];
  });
}

type Found = Omit<Finding, "isProvable">;

function unknownTool(
  { declared }: LinkedProgram,
  { name, nameNode }: CallSite,
  { closest, alike }: Closest,
): Found | undefined {
  if (!declared.tools.has(name) || declared.tools.get(name) !== undefined) return undefined;
  const names = closest.get(name) ?? [];
  const member = alike.tools.get(names[0] ?? "")?.member;
  const hint = toHint(names, member === undefined ? undefined : toOneLine(member));
  return { code: "unknown_tool", node: nameNode, what: `Cannot call tool "${name}": no such tool${hint}` };
}

/** Finds the first name on the way to the method that the type before it does not have. */
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
    // Nothing is known about this object, so nothing is known about its members.
    if (names === undefined) return undefined;
    if (names.has(name)) continue;
    const what = `Cannot call "${of.getText()}.${name}": "${of.getText()}" has no "${name}"`;
    const closest = closestNames(name, names.own);
    const hint = toHint(closest, signatureOf(linked, of, closest[0] ?? ""));
    return {
      code: "unknown_method",
      node: nameNode,
      what: `${what}${hint || `, it has ${quoteAll(names.own)}`}`,
    };
  }
  return undefined;
}

interface KnownNames {
  readonly own: readonly string[];
  has(name: string): boolean;
}

/** The names that an object has by its type; undefined where the type does not list all of them. */
function namesOf({ ts: compiler, checker }: LinkedProgram, object: ts.Expression): KnownNames | undefined {
  const type = checker.getTypeAtLocation(object);
  if ((type.flags & compiler.TypeFlags.Object) === 0) return undefined;
  if (checker.getIndexInfosOfType(type).length > 0) return undefined;
  const own = checker.getPropertiesOfType(type).map(({ name }) => name);
  return { own, has: (name) => checker.getPropertyOfType(checker.getApparentType(type), name) !== undefined };
}

/** How an existing method is called. */
function signatureOf({ checker }: LinkedProgram, of: ts.Expression, name: string): string | undefined {
  const method = checker.getPropertyOfType(checker.getTypeAtLocation(of), name);
  const [signature] = method ? checker.getTypeOfSymbolAtLocation(method, of).getCallSignatures() : [];
  return signature && toOneLine(`${name}${checker.signatureToString(signature)}`);
}

function toHint(closest: readonly string[], signature: string | undefined): string {
  if (closest.length === 0) return "";
  const expected = signature === undefined ? "" : `, expected ${signature}`;
  return closest.length === 1
    ? `, closest is "${closest[0]}"${expected}`
    : `, closest are ${quoteAll(closest)}${expected}`;
}
