/** Doc: what a schema says of itself in words. */
import { toDocText } from "./comment.ts";
import { type Doc, UNKNOWN, type Use } from "./node.ts";
import { notesOf } from "./notes.ts";
import { own, type SchemaObject } from "./schema-object.ts";

/** A schema's own words; else those of a part that is there for its words; else those of its only part. */
export function docOf(schema: SchemaObject, parts: readonly Use[]): Doc | undefined {
  const inherited = (
    parts.find(({ node, doc }) => node === UNKNOWN && doc?.text) ??
    (parts.length === 1 ? parts[0] : undefined)
  )?.doc;
  const text = toDocText(own(schema, "description")) || (inherited?.text ?? "");
  const notes = notesOf(schema, text) || (inherited?.notes ?? "");
  return text === "" && notes === "" ? undefined : { text, notes };
}
