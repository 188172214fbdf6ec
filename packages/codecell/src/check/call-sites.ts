/**
 * Runs in the check's thread. Finds where a program calls tools and methods of handles, and whether the program looks
 * at what it can call.
 *
 * - A call site is `tools.name(…)`, `tools["name"](…)`, or a call of a `const` that holds one of these functions,
 *   also by `const { name } = tools`. A call of a member of a global declared beside the tools is a call site too
 *   (`connectors.github.callTool(…)`), and so is a call through a `const` made from that global (`const github =
 *   connectors.github`).
 * - Any other use of `tools` or of a handle (`in`, `Object.keys`, a computed name, `?.`, handing it on) may tell the
 *   program which names exist. The program is then inquisitive, and the check can prove nothing about it.
 */
import type ts from "@typescript/typescript6";
import { LISTINGS } from "../contract/features.ts";
import { GLOBALS_FILE, type LinkedProgram, TOOLS_FILE } from "./linked-program.ts";
import type { TypeScript } from "./load-typescript.ts";
import { callerOf, callOf, isConst, memberOf, visitNodes, whole } from "./syntax.ts";

export interface CallSite {
  readonly call: ts.CallExpression;
  /** The name of the tool or method. */
  readonly name: string;
  readonly nameNode: ts.Node;
  /** The object that has the method; undefined where a tool is called. */
  readonly handle: ts.Expression | undefined;
}

export interface CallSites {
  readonly sites: readonly CallSite[];
  readonly isInquisitive: boolean;
}

export interface NamedTools {
  readonly names: readonly string[];
  /** Whether the program also uses `tools` in a way that does not say which tools. */
  readonly isOpen: boolean;
}

/** The tools that the text names. It does not matter whether `tools` is the global there. */
export function namedTools(compiler: TypeScript, root: ts.Node): NamedTools {
  const names = new Set<string>();
  let isOpen = false;
  visitNodes(compiler, root, (node) => {
    if (!compiler.isIdentifier(node) || node.text !== "tools") return;
    const found = namesAt(compiler, whole(compiler, node).parent);
    for (const name of found) names.add(name);
    if (found.length === 0) isOpen = true;
  });
  return { names: [...names], isOpen };
}

function namesAt(compiler: TypeScript, user: ts.Node): readonly string[] {
  if (compiler.isPropertyAccessExpression(user)) return [user.name.text];
  if (compiler.isElementAccessExpression(user)) {
    return compiler.isStringLiteralLike(user.argumentExpression) ? [user.argumentExpression.text] : [];
  }
  if (!compiler.isVariableDeclaration(user)) return [];
  return (destructured(compiler, user) ?? []).map(({ key }) => key);
}

export function findCallSites(linked: LinkedProgram): CallSites {
  const { ts: compiler, main } = linked;
  const sites: CallSite[] = [];
  const aliases = new Map<ts.Symbol, string>();
  const handles: Handles = new Map();
  const aliasUses: ts.Identifier[] = [];
  const callable = callableGlobals(linked);
  let isInquisitive = false;
  const add = (isPlain: boolean): void => {
    isInquisitive ||= !isPlain;
  };

  visitNodes(compiler, main.body ?? main, (node) => {
    if (!compiler.isIdentifier(node) || !isReference(compiler, node)) return;
    add(!isDetour(compiler, node, callable));
    const origin = originOf(linked, node);
    if (origin === undefined) aliasUses.push(node);
    else if (origin === GLOBALS_FILE) add(addHandleUse(linked, node, sites, handles));
    else add(addToolUse(linked, node, sites, aliases));
  });
  let left = aliases.size === 0 && handles.size === 0 ? [] : aliasUses;
  // Repeat while a pass finds something new: a `const` may be made from another `const`.
  for (let before = -1; before !== left.length;) {
    before = left.length;
    left = left.filter((node) => {
      const symbol = symbolOf(linked, node);
      if (symbol === undefined || isDeclared(compiler, node)) return false;
      const name = aliases.get(symbol);
      if (name === undefined && !handles.has(symbol)) return true;
      if (name === undefined) add(addHandleUse(linked, node, sites, handles));
      else add(addAliasUse(linked, node, name, sites));
      return false;
    });
  }
  return { sites, isInquisitive };
}

function addAliasUse(
  { ts: compiler }: LinkedProgram,
  node: ts.Identifier,
  name: string,
  sites: CallSite[],
): boolean {
  const call = callOf(compiler, node);
  if (call !== undefined) sites.push({ call, name, nameNode: node, handle: undefined });
  return call !== undefined;
}

/** Whether a program gets at what it can call by another way than the variable. */
function isDetour(compiler: TypeScript, node: ts.Identifier, callable: ReadonlySet<string>): boolean {
  if (LISTINGS.has(node.text)) return true;
  if (node.text !== "globalThis") return false;
  const { parent } = whole(compiler, node);
  if (compiler.isPropertyAccessExpression(parent)) return callable.has(parent.name.text);
  // Any other use of `globalThis` may look at what it has.
  if (!compiler.isElementAccessExpression(parent)) return true;
  const { argumentExpression: key } = parent;
  return !compiler.isStringLiteralLike(key) || callable.has(key.text);
}

/** Names of globals that can be called or have members that can be called. */
function callableGlobals({ ts: compiler, program }: LinkedProgram): ReadonlySet<string> {
  const statements = program.getSourceFile(GLOBALS_FILE)?.statements ?? [];
  const names = statements.flatMap((statement) =>
    compiler.isVariableStatement(statement)
      ? statement.declarationList.declarations.map(({ name }) => name.getText())
      : compiler.isFunctionDeclaration(statement) || compiler.isClassDeclaration(statement)
        ? [statement.name?.text ?? ""]
        : [],
  );
  return new Set(["tools", ...names]);
}

/** Whether an identifier stands for a variable, and is not just a property's name. */
function isReference(compiler: TypeScript, node: ts.Identifier): boolean {
  const { parent } = node;
  if (compiler.isPropertyAccessExpression(parent)) return parent.expression === node;
  if (compiler.isPropertyAssignment(parent)) return parent.initializer === node;
  return !compiler.isBindingElement(parent) || parent.propertyName !== node;
}

/** The file that declares this global; undefined for a variable that is not a callable global. */
function originOf(linked: LinkedProgram, node: ts.Identifier): string | undefined {
  const file = symbolOf(linked, node)?.valueDeclaration?.getSourceFile().fileName;
  if (file === TOOLS_FILE) return node.text === "tools" ? TOOLS_FILE : undefined;
  return file === GLOBALS_FILE ? GLOBALS_FILE : undefined;
}

function symbolOf({ checker, ts: compiler }: LinkedProgram, node: ts.Identifier): ts.Symbol | undefined {
  // In `{ tools }` the identifier is a property's name too.
  return compiler.isShorthandPropertyAssignment(node.parent)
    ? checker.getShorthandAssignmentValueSymbol(node.parent)
    : checker.getSymbolAtLocation(node);
}

/** Whether this use of `tools` tells the program nothing about which tools exist. */
function addToolUse(
  { ts: compiler, checker }: LinkedProgram,
  tools: ts.Identifier,
  sites: CallSite[],
  aliases: Map<ts.Symbol, string>,
): boolean {
  const { parent } = whole(compiler, tools);
  if (compiler.isVariableDeclaration(parent)) {
    const parts = destructured(compiler, parent);
    if (parts === undefined || !isConst(compiler, parent)) return false;
    for (const { key, name } of parts) {
      const symbol = checker.getSymbolAtLocation(name);
      if (symbol !== undefined) aliases.set(symbol, key);
    }
    return true;
  }
  const member = memberOf(compiler, parent);
  if (member === undefined) return false;
  const { name, nameNode } = member;
  const call = callOf(compiler, parent);
  if (call !== undefined) {
    sites.push({ call, name, nameNode, handle: undefined });
    return true;
  }
  // A method such as `map` calls the tool; the arguments do not matter here.
  if (callerOf(compiler, whole(compiler, parent)) !== undefined) return true;
  const { parent: user } = whole(compiler, parent);
  if (!compiler.isVariableDeclaration(user) || !isConst(compiler, user)) return false;
  const symbol = compiler.isIdentifier(user.name) ? checker.getSymbolAtLocation(user.name) : undefined;
  if (symbol !== undefined) aliases.set(symbol, name);
  return symbol !== undefined;
}

/** For each `const` that holds a handle: the expression it was made from. */
type Handles = Map<ts.Symbol, ts.Expression>;

/**
 * Follows `connectors.github.callTool` to its call. True if this tells the program nothing about which methods exist.
 */
function addHandleUse(
  linked: LinkedProgram,
  root: ts.Identifier,
  sites: CallSite[],
  handles: Handles,
): boolean {
  const { ts: compiler, checker } = linked;
  if (callOf(compiler, root) !== undefined) return true;
  const symbol = symbolOf(linked, root);
  const made = symbol === undefined ? undefined : handles.get(symbol);
  let at: ts.Expression = root;
  for (;;) {
    const { parent } = whole(compiler, at);
    const member = memberOf(compiler, parent);
    if (member === undefined) return holds(linked, at, parent, handles);
    const { node, name, nameNode } = member;
    const call = callOf(compiler, node);
    if (call !== undefined) {
      // The expression that the `const` was made from says more than the name of the `const`.
      sites.push({ call, name, nameNode, handle: at === root && made !== undefined ? made : at });
      return true;
    }
    at = node;
    // Reading a text, a number or a boolean that exists does not tell which names are missing.
    const { StringLike, NumberLike, BooleanLike } = compiler.TypeFlags;
    if ((checker.getTypeAtLocation(at).flags & (StringLike | NumberLike | BooleanLike)) !== 0) return true;
  }
}

/** Whether the program only gives a handle another name. */
function holds(
  { ts: compiler, checker }: LinkedProgram,
  handle: ts.Expression,
  user: ts.Node,
  handles: Handles,
): boolean {
  if (!compiler.isVariableDeclaration(user) || !isConst(compiler, user)) return false;
  if (compiler.isIdentifier(user.name)) {
    const symbol = checker.getSymbolAtLocation(user.name);
    if (symbol !== undefined) handles.set(symbol, handle);
    return symbol !== undefined;
  }
  const parts = destructured(compiler, user) ?? [];
  for (const { name } of parts) {
    const symbol = checker.getSymbolAtLocation(name);
    if (symbol !== undefined) handles.set(symbol, name);
  }
  return parts.length > 0;
}

interface DestructuredPart {
  readonly key: string;
  readonly name: ts.Identifier;
}

/** The parts of `{ a, b: c } = …`; undefined for patterns with defaults, rest or nested patterns. */
function destructured(
  compiler: TypeScript,
  { name }: ts.VariableDeclaration,
): DestructuredPart[] | undefined {
  if (!compiler.isObjectBindingPattern(name)) return undefined;
  const parts: DestructuredPart[] = [];
  for (const { name: target, propertyName, dotDotDotToken, initializer } of name.elements) {
    if (dotDotDotToken !== undefined || initializer !== undefined) return undefined;
    if (!compiler.isIdentifier(target)) return undefined;
    const key = propertyName ?? target;
    if (!compiler.isIdentifier(key) && !compiler.isStringLiteralLike(key)) return undefined;
    parts.push({ key: key.text, name: target });
  }
  return parts;
}

function isDeclared(compiler: TypeScript, node: ts.Identifier): boolean {
  const { parent } = node;
  return (
    (compiler.isBindingElement(parent) || compiler.isVariableDeclaration(parent)) && parent.name === node
  );
}
