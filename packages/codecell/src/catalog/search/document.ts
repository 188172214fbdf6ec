/**
 * Document: what the search knows about a tool, and the texts of its fields. Runs anywhere.
 *
 * - A schema is read only for the names and texts of its parameters. A malformed, cyclic or endless schema gives fewer
 *   words, never an error: `MAX_PARAMETERS` and `MAX_DEPTH` bound the walk.
 */

import { isSchemaObject } from "../../contract/schema-object.ts";

export interface SearchDocument {
  readonly id: string;
  readonly name: string;
  /** The name as people read it: "Create an issue". */
  readonly title?: string;
  readonly description: string;
  /** The connector or server that the tool belongs to. */
  readonly owner?: string;
  readonly kind?: string;
  readonly tags?: readonly string[];
  /** A JSON Schema. */
  readonly inputSchema?: unknown;
}

export const FIELDS = ["name", "description", "parameterNames", "parameterTexts", "owner", "tags"] as const;
export type SearchField = (typeof FIELDS)[number];

const MAX_PARAMETERS = 200;
const MAX_DEPTH = 5;
const MAX_CHOICES = 20;

export function readTexts(document: SearchDocument): Readonly<Record<SearchField, string>> {
  const parameters = new Parameters();
  parameters.read(document.inputSchema, 0);
  return {
    name: document.name,
    description:
      document.title === undefined ? document.description : `${document.title}. ${document.description}`,
    parameterNames: parameters.names.join(" "),
    parameterTexts: parameters.texts.join(" "),
    owner: document.owner ?? "",
    tags: [document.kind ?? "", ...(document.tags ?? [])].join(" "),
  };
}

class Parameters {
  readonly names: string[] = [];
  readonly texts: string[] = [];

  read(schema: unknown, depth: number): void {
    if (!isSchemaObject(schema) || depth > MAX_DEPTH) return;
    const { properties, items, anyOf, oneOf, allOf } = schema;
    if (isSchemaObject(properties)) {
      for (const name of Object.keys(properties)) {
        if (this.names.length >= MAX_PARAMETERS) return;
        const value = properties[name];
        this.names.push(name);
        this.#describe(value);
        this.read(value, depth + 1);
      }
    }
    if (items !== undefined) this.read(items, depth + 1);
    if (anyOf !== undefined) this.#readChoices(anyOf, depth);
    if (oneOf !== undefined) this.#readChoices(oneOf, depth);
    if (allOf !== undefined) this.#readChoices(allOf, depth);
  }

  #readChoices(choices: unknown, depth: number): void {
    if (!Array.isArray(choices)) return;
    for (const each of choices.slice(0, MAX_CHOICES)) this.read(each, depth + 1);
  }

  #describe(schema: unknown): void {
    if (!isSchemaObject(schema)) return;
    const { description, enum: choices } = schema;
    if (typeof description === "string") this.texts.push(description);
    if (!Array.isArray(choices)) return;
    for (const each of choices.slice(0, MAX_CHOICES)) if (typeof each === "string") this.texts.push(each);
  }
}
