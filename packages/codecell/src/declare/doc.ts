/** Doc: the documentation that a schema gives about itself. Runs anywhere. */
import { toDocText } from "./comment.ts";
import { type Doc, UNKNOWN, type Use } from "./node.ts";
import { notesOf } from "./notes.ts";
import { own, type SchemaObject } from "../contract/schema-object.ts";

/**
 * The schema's own description and notes. Without them: those of a part that says nothing else, or those of its only
 * part.
 */
export function docOf(schema: SchemaObject, parts: readonly Use[]): Doc | undefined {
  const inherited = (
    parts.find(({ node, doc }) => node === UNKNOWN && doc?.text) ??
    (parts.length === 1 ? parts[0] : undefined)
  )?.doc;
  const text = toDocText(own(schema, "description")) || (inherited?.text ?? "");
  const notes = notesOf(schema, text) || (inherited?.notes ?? "");
  return text === "" && notes === "" ? undefined : { text, notes };
}
