/**
 * Blank a class member: removes modifiers, the marks `?` and `!`, and members that exist only for the type checker.
 * Runs anywhere.
 *
 * - A line break may end a field because the next line begins with a modifier. The first modifier of a member leaves a
 *   `;`, so that blanking the modifier cannot join the two members.
 */

import type { Edits } from "./edits.ts";
import { child, type SyntaxNode } from "./tree.ts";

const MODIFIERS: ReadonlySet<string> = new Set([
  "abstract",
  "declare",
  "override",
  "private",
  "protected",
  "public",
  "readonly",
]);
const WORD = /[a-z]+/uy;

export function blankMember(edits: Edits, node: SyntaxNode): "inside" | "done" {
  const typeOnly = node.type.startsWith("TS") || node["abstract"] === true || node["declare"] === true;
  if (typeOnly) {
    edits.erase(node);
    return "done";
  }
  const key = child(node, "key");
  if (key === undefined) return "inside";
  blankModifiers(edits, node, key);
  blankMarks(edits, node, key);
  if (node.type.endsWith("Property")) edits.noteEnd(node);
  return "inside";
}

function blankModifiers(edits: Edits, node: SyntaxNode, key: SyntaxNode): void {
  let at = node.start;
  while (at < key.start) {
    WORD.lastIndex = at;
    const word = WORD.exec(edits.source)?.[0];
    if (word === undefined) return;
    if (MODIFIERS.has(word)) {
      edits.blank(at, at + word.length);
      if (at === node.start) edits.put(at, ";");
    }
    at = edits.skipForward(at + word.length);
  }
}

function blankMarks(edits: Edits, node: SyntaxNode, key: SyntaxNode): void {
  if (node["optional"] !== true && node["definite"] !== true) return;
  let at = edits.skipForward(key.end);
  // A computed key may have parentheses of its own.
  while (edits.source[at] === ")" || edits.source[at] === "]") at = edits.skipForward(at + 1);
  if (edits.source[at] === "?" || edits.source[at] === "!") edits.blank(at, at + 1);
}
