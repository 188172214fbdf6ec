/**
 * Document: what is known of a tool for finding it, and the terms of its fields.
 *
 * - A schema is only looked at for the names and texts of parameters; one that is malformed, cyclic or endless gives
 *   fewer words, never an error. `MAX_PARAMETERS` and `MAX_DEPTH` bound the walk.
 */

import { isSchemaObject } from "../../declare/schema-object.ts";
import { toTerms } from "./terms.ts";

export interface SearchDocument {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** The connector or server the tool belongs to. */
  readonly owner?: string;
  readonly kind?: string;
  readonly tags?: readonly string[];
  /** A JSON Schema. */
  readonly inputSchema?: unknown;
}

export type Field = "name" | "description" | "parameterNames" | "parameterTexts" | "owner" | "tags";

export type FieldTerms = Readonly<Record<Field, readonly string[]>>;

const MAX_PARAMETERS = 200;
const MAX_DEPTH = 5;
const MAX_CHOICES = 20;

export function readFields(document: SearchDocument): FieldTerms {
  const parameters = new Parameters();
  parameters.read(document.inputSchema, 0);
  return {
    name: toTerms(document.name),
    description: toTerms(document.description),
    parameterNames: toTerms(parameters.names.join(" ")),
    parameterTexts: toTerms(parameters.texts.join(" ")),
    owner: toTerms(document.owner ?? ""),
    tags: toTerms([document.kind ?? "", ...(document.tags ?? [])].join(" ")),
  };
}

class Parameters {
  readonly names: string[] = [];
  readonly texts: string[] = [];

  read(schema: unknown, depth: number): void {
    if (!isSchemaObject(schema) || depth > MAX_DEPTH) return;
    if (isSchemaObject(schema["properties"])) {
      for (const [name, value] of Object.entries(schema["properties"])) {
        if (this.names.length >= MAX_PARAMETERS) return;
        this.names.push(name);
        this.#describe(value);
        this.read(value, depth + 1);
      }
    }
    this.read(schema["items"], depth + 1);
    for (const key of ["anyOf", "oneOf", "allOf"]) {
      const choices = schema[key];
      if (Array.isArray(choices))
        for (const each of choices.slice(0, MAX_CHOICES)) this.read(each, depth + 1);
    }
  }

  #describe(schema: unknown): void {
    if (!isSchemaObject(schema)) return;
    if (typeof schema["description"] === "string") this.texts.push(schema["description"]);
    const choices = schema["enum"];
    if (!Array.isArray(choices)) return;
    this.texts.push(...choices.slice(0, MAX_CHOICES).filter((each) => typeof each === "string"));
  }
}
