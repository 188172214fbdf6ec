/**
 * Modules: finds every use of modules in the syntax tree, so that none reaches the engine. Runs anywhere.
 *
 * - Refused: import declarations, `import()`, `import.meta`, every export except the one that `shape.ts` unwraps, and
 *   every reference to a free variable `require`, however it is spelled or called.
 * - Allowed: `typeof require`, a `require` that the program declares itself, and imports and exports of types alone,
 *   which are blanked.
 */

import type { Failure, GuestError } from "../contract/failure.ts";
import { toPosition } from "./position.ts";
import { child, children, type SyntaxNode, walk } from "./tree.ts";

export interface ModuleUse {
  readonly node: SyntaxNode;
  readonly what: string;
}

const ADVICE = "modules are not available, call the host's tools and use the globals instead";

/** Says how the node itself uses modules; undefined if it does not. */
export function findModuleUse(node: SyntaxNode): ModuleUse | undefined {
  switch (node.type) {
    case "ImportDeclaration":
      return node["importKind"] === "type" ? undefined : { node, what: '"import"' };
    case "ExportNamedDeclaration":
    case "ExportAllDeclaration":
      return node["exportKind"] === "type" ? undefined : { node, what: '"export"' };
    case "TSImportEqualsDeclaration":
      return { node, what: '"import ="' };
    case "TSExportAssignment":
    case "TSNamespaceExportDeclaration":
      return { node, what: '"export"' };
    case "ImportExpression":
      return { node, what: '"import()"' };
    case "MetaProperty":
      return child(node, "meta")?.["name"] === "import" ? { node, what: '"import.meta"' } : undefined;
    case "Identifier":
      return node["name"] === "require" ? { node, what: '"require"' } : undefined;
    default:
      return undefined;
  }
}

export function isFeatureTest(node: SyntaxNode): boolean {
  return (
    node.type === "UnaryExpression" &&
    node["operator"] === "typeof" &&
    child(node, "argument")?.type === "Identifier"
  );
}

export function toModuleFailure(source: string, { node, what }: ModuleUse): Failure {
  const position = toPosition(source, node.start);
  return {
    code: "module_denied",
    message: `Cannot use ${what}: ${ADVICE} (line ${position.line}, column ${position.column})`,
    position,
    error: toGuestError(node, what),
  };
}

/** The error that an engine without modules would have thrown. */
function toGuestError(node: SyntaxNode, what: string): GuestError {
  return node.type === "Identifier"
    ? { name: "ReferenceError", message: "require is not defined" }
    : { name: "SyntaxError", message: `Cannot use ${what} outside a module` };
}

/** Whether the program declares a variable, function, class, parameter or caught error of this name anywhere. */
export function declares(program: SyntaxNode, name: string): boolean {
  let found = false;
  walk(program, (node) => {
    const targets = [...children(node, "params")];
    for (const field of ["id", "param"]) {
      const target = child(node, field);
      if (target !== undefined) targets.push(target);
    }
    found ||= targets.some((target) => binds(target, name));
    return !found && !node.type.startsWith("TSType");
  });
  return found;
}

function binds(target: SyntaxNode, name: string): boolean {
  const targets = [target];
  for (let node = targets.pop(); node !== undefined; node = targets.pop()) {
    if (node.type === "Identifier" && node["name"] === name) return true;
    for (const inner of children(node, "elements")) targets.push(inner);
    for (const inner of children(node, "properties")) targets.push(inner);
    for (const field of ["left", "argument", "value"]) {
      const inner = child(node, field);
      if (inner !== undefined) targets.push(inner);
    }
  }
  return false;
}
