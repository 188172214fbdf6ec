/**
 * Runs in the check's thread. Finds calls of known tools that leave out required arguments or pass unknown ones.
 *
 * - Only an object literal in the call shows which properties it has, and only without a spread or a computed name.
 * - Only a plain object type says what is required. Unions, `any` and generics do not.
 * - An unknown property is an error only if the tool says that it refuses unknown properties, since other tools may
 *   ignore them, and only if the value certainly reaches the tool: JSON leaves out what is undefined.
 */
import type ts from "@typescript/typescript6";
import { closestNames } from "../calls/closest-names.ts";
import type { CallSite } from "./call-sites.ts";
import type { Reachabilities } from "./reachability.ts";
import { type Finding, quoteAll, toOneLine } from "./finding.ts";
import { type LinkedProgram, TOOL_FILES } from "./linked-program.ts";
import type { DeclaredTool } from "./messages.ts";
import { bare } from "./syntax.ts";

export function findWrongArguments(
  linked: LinkedProgram,
  sites: readonly CallSite[],
  reachabilities: Reachabilities,
): Finding[] {
  return sites.flatMap((site) => {
    const tool = site.handle === undefined ? linked.declared.tools.get(site.name) : undefined;
    if (tool === undefined) return [];
    const wrong = wrongArguments(linked, site, tool);
    return wrong === undefined
      ? []
      : [{ ...wrong, isProvable: wrong.isProvable && reachabilities.of(site.call) === "certain" }];
  });
}

function wrongArguments(linked: LinkedProgram, site: CallSite, tool: DeclaredTool): Finding | undefined {
  const { ts: compiler, checker } = linked;
  const parameter = inputOf(linked, site.call);
  if (parameter === undefined) return undefined;
  const type = checker.getTypeOfSymbolAtLocation(parameter, site.call);
  const [given] = site.call.arguments;
  if (given === undefined) {
    const isOptional = compiler.isParameter(parameter.valueDeclaration ?? site.call)
      ? checker.isOptionalParameter(parameter.valueDeclaration as ts.ParameterDeclaration)
      : true;
    const required = isOptional ? [] : requiredOf(linked, type).map(({ name }) => name);
    return required.length === 0 ? undefined : toMissing(site, tool, site.nameNode, required, []);
  }
  const literal = bare(compiler, given);
  if (!compiler.isObjectLiteralExpression(literal)) return undefined;
  const missing = missingIn(linked, literal, type, "");
  const unknown = unknownIn(linked, literal, type);
  if (missing.length > 0) {
    return toMissing(
      site,
      tool,
      literal,
      missing,
      unknown.map(({ name }) => name),
    );
  }
  const sent = unknown.filter(({ node }) => isSent(linked, node));
  const [first] = [...sent, ...unknown];
  if (first === undefined) return undefined;
  const closest = closestNames(
    first.name,
    checker.getPropertiesOfType(type).map(({ name }) => name),
  );
  const hint = closest.length === 0 ? "" : `, did you mean "${closest[0]}"`;
  return {
    code: "unknown_argument",
    node: first.node,
    what: `Cannot call tool "${site.name}": it has no argument "${first.name}"${hint}, expected ${toOneLine(tool.member)}`,
    isProvable: tool.isClosed && sent.length > 0,
  };
}

function toMissing(
  { name }: CallSite,
  tool: DeclaredTool,
  node: ts.Node,
  missing: readonly string[],
  unknown: readonly string[],
): Finding {
  const many =
    missing.length === 1 ? `argument ${quoteAll(missing)} is` : `arguments ${quoteAll(missing)} are`;
  const others = unknown.length === 0 ? "" : `, it has no ${quoteAll(unknown)}`;
  return {
    code: "missing_argument",
    node,
    what: `Cannot call tool "${name}": required ${many} missing${others}, expected ${toOneLine(tool.member)}`,
    isProvable: true,
  };
}

/** The parameter of a tool; undefined if the tool can be called in more than one way. */
function inputOf({ checker }: LinkedProgram, call: ts.CallExpression): ts.Symbol | undefined {
  const [signature, ...others] = checker.getTypeAtLocation(call.expression).getCallSignatures();
  if (signature === undefined || others.length > 0) return undefined;
  return (signature.typeParameters?.length ?? 0) > 0 ? undefined : signature.parameters[0];
}

/** Paths of required properties that an object literal lacks, also in objects and lists inside it. */
function missingIn(
  linked: LinkedProgram,
  literal: ts.ObjectLiteralExpression,
  type: ts.Type,
  path: string,
): string[] {
  const { ts: compiler, checker } = linked;
  const given = propertiesOf(linked, literal);
  if (given === undefined || !isPlain(linked, type)) return [];
  const missing = requiredOf(linked, type)
    .filter(({ name }) => !given.has(name))
    .map(({ name }) => path + name);
  for (const [name, node] of given) {
    const value = compiler.isPropertyAssignment(node) ? bare(compiler, node.initializer) : undefined;
    const symbol = checker.getPropertyOfType(type, name);
    if (value === undefined || symbol === undefined) continue;
    const inner = checker.getNonNullableType(checker.getTypeOfSymbolAtLocation(symbol, literal));
    if (compiler.isObjectLiteralExpression(value)) {
      missing.push(...missingIn(linked, value, inner, `${path}${name}.`));
    } else if (compiler.isArrayLiteralExpression(value)) {
      missing.push(...missingInList(linked, value, inner, `${path}${name}`));
    }
  }
  return missing;
}

function missingInList(
  linked: LinkedProgram,
  { elements }: ts.ArrayLiteralExpression,
  type: ts.Type,
  path: string,
): string[] {
  const { ts: compiler, checker } = linked;
  // Each place of a tuple has its own type: none of them says what the others need.
  const item = checker.isArrayType(type)
    ? checker.getIndexTypeOfType(type, compiler.IndexKind.Number)
    : undefined;
  if (item === undefined) return [];
  return elements.flatMap((element, index) => {
    const value = bare(compiler, element);
    return compiler.isObjectLiteralExpression(value)
      ? missingIn(linked, value, item, `${path}[${index}].`)
      : [];
  });
}

interface NamedNode {
  readonly name: string;
  readonly node: ts.Node;
}

function unknownIn(linked: LinkedProgram, literal: ts.ObjectLiteralExpression, type: ts.Type): NamedNode[] {
  const { checker } = linked;
  const given = propertiesOf(linked, literal);
  if (given === undefined || !isPlain(linked, type) || checker.getIndexInfosOfType(type).length > 0)
    return [];
  return [...given]
    .filter(([name]) => checker.getPropertyOfType(type, name) === undefined)
    .map(([name, node]) => ({ name, node }));
}

/** Whether a property certainly has a value that JSON can carry. */
function isSent({ ts: compiler, checker }: LinkedProgram, property: ts.Node): boolean {
  const { Any, Unknown, Undefined, Void, Never, ESSymbolLike, TypeParameter } = compiler.TypeFlags;
  const unsure = Any | Unknown | Undefined | Void | Never | ESSymbolLike | TypeParameter;
  const symbol = checker.getSymbolAtLocation((property as ts.ObjectLiteralElementLike).name ?? property);
  const type = symbol && checker.getTypeOfSymbolAtLocation(symbol, property);
  const parts = type?.isUnion() === true ? type.types : type === undefined ? [] : [type];
  return (
    parts.length > 0 &&
    parts.every((part) => (part.flags & unsure) === 0 && part.getCallSignatures().length === 0)
  );
}

/** Properties by name; undefined when the text does not show all of them. */
function propertiesOf(
  { ts: compiler }: LinkedProgram,
  literal: ts.ObjectLiteralExpression,
): Map<string, ts.ObjectLiteralElementLike> | undefined {
  const properties = new Map<string, ts.ObjectLiteralElementLike>();
  for (const property of literal.properties) {
    const { name } = property;
    if (name === undefined) return undefined;
    if (
      !compiler.isIdentifier(name) &&
      !compiler.isStringLiteralLike(name) &&
      !compiler.isNumericLiteral(name)
    ) {
      return undefined;
    }
    if (name.text === "__proto__" || name.text === "toJSON") return undefined;
    properties.set(name.text, property);
  }
  return properties;
}

/**
 * Whether a type is an object with exactly the properties that its declaration lists: no array, function or type of
 * the language.
 */
function isPlain(linked: LinkedProgram, type: ts.Type): boolean {
  if (type.isIntersection()) return type.types.every((part) => isPlain(linked, part));
  if ((type.flags & linked.ts.TypeFlags.Object) === 0 || type.getCallSignatures().length > 0) return false;
  const [declared] = type.getSymbol()?.declarations ?? [];
  return declared !== undefined && declared.getSourceFile().fileName.startsWith(TOOL_FILES);
}

/**
 * Properties that must be there. JSON leaves out what is undefined, so properties that may be undefined are not
 * required.
 */
function requiredOf(linked: LinkedProgram, type: ts.Type): ts.Symbol[] {
  const { ts: compiler, checker, main } = linked;
  if (!isPlain(linked, type)) return [];
  const { Any, Unknown, Undefined, Void, Never } = compiler.TypeFlags;
  return checker.getPropertiesOfType(type).filter((property) => {
    if ((property.flags & compiler.SymbolFlags.Optional) !== 0) return false;
    const own = checker.getTypeOfSymbolAtLocation(property, main);
    const parts = own.isUnion() ? own.types : [own];
    return parts.every(({ flags }) => (flags & (Any | Unknown | Undefined | Void | Never)) === 0);
  });
}
