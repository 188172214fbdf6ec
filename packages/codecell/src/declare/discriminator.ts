/**
 * Discriminator: reads OpenAPI's table from a field's values to the alternatives they select, and adds each value to
 * its alternative as a literal type. Runs anywhere.
 */
import { quote } from "./literal.ts";
import { type Field, intersectionOf, type Node, plain, textNode, unionOf, type Use } from "./node.ts";
import { isSchemaObject, own, type SchemaObject } from "../contract/schema-object.ts";
import { nameInReference } from "./references.ts";

const MOST_ENTRIES = 500;

export interface Literals {
  readonly field: string;
  /** The field's values, by the name of the schema that they select. */
  readonly values: ReadonlyMap<string, readonly string[]>;
}

export function literalsOf(schema: SchemaObject): Literals | undefined {
  const discriminator = own(schema, "discriminator");
  if (!isSchemaObject(discriminator)) return undefined;
  const [field, mapping] = [own(discriminator, "propertyName"), own(discriminator, "mapping")];
  if (typeof field !== "string" || !isSchemaObject(mapping)) return undefined;
  const values = new Map<string, string[]>();
  for (const [value, target] of Object.entries(mapping).slice(0, MOST_ENTRIES)) {
    if (typeof target !== "string") continue;
    // A mapping may name the schema instead of pointing to it.
    const name = nameInReference(target) ?? target;
    values.set(name, [...(values.get(name) ?? []), value]);
  }
  return { field, values };
}

/** Adds the discriminating values to an alternative, unless the alternative states them itself. */
export function narrowed(use: Use, { field, values }: Literals, reference: string | undefined): Use {
  const given = values.get(nameInReference(reference ?? "") ?? "");
  if (given === undefined || statesItself(use.node, field)) return use;
  const literal = unionOf(given.map((value) => plain(textNode(quote(value)))));
  const fields: readonly Field[] = [{ name: field, optional: false, use: literal }];
  return {
    ...intersectionOf([plain({ kind: "object", hint: undefined, fields, indexes: [], omitted: 0 }), use]),
    doc: use.doc,
  };
}

function statesItself(node: Node, field: string): boolean {
  if (node.kind === "intersection") return node.members.some((member) => statesItself(member.node, field));
  if (node.kind !== "object") return false;
  const stated = node.fields.find(({ name }) => name === field)?.use.node;
  const states = (one: Node): boolean =>
    one.kind === "union"
      ? one.members.every((member) => states(member.node))
      : one.kind === "text" && one.text.startsWith('"');
  return stated !== undefined && states(stated);
}
