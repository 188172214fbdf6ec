/**
 * Runs on the host. An index item is one tool as the tool index shows it, in four forms that say more and more.
 *
 * - It is always on one line, bounded, and can be pasted. A tool whose name would have to be changed is not listed.
 *   An input that would have to be changed is shown as `input`.
 * - A tool's schemas are read only when a form needs them: most tools of a large catalog are never shown.
 */
import type { CatalogEntry } from "../../catalog/catalog-entry.ts";
import { usefulOutputSchemaOf } from "../../catalog/describe.ts";
import { isStandardSchema } from "../../contract/standard-schema.ts";
import { cut, toDocText, toSafeLine } from "../../declare/comment.ts";
import { fit } from "../../declare/fit.ts";
import { toFieldName } from "../../declare/literal.ts";
import type { Field, Node, Use } from "../../declare/node.ts";
import { readSchema } from "../../declare/read-schema.ts";
import { inputSchemaOf, outputSchemaOf } from "../../declare/tool-schemas.ts";
import { isRecord } from "../../value/shape.ts";

/** The name alone; with the names of its fields; with their types; with its description. */
export type ItemForm = "name" | "fields" | "types" | "docs";

export interface IndexItem {
  readonly entry: CatalogEntry;
  /** A convenience name, or `:` and the last part of the id. */
  readonly call: string;
  /** Whether something is known about the tool's output. */
  readonly hasOutput: boolean;
}

const LONGEST_NAME = 64;
/** Types may take twice as many characters as the names of fields. */
const LONGEST_INPUT = 120;
const LONGEST_OUTPUT = 60;
/** Most parts of a schema that are read: more could not be shown. */
const MOST_PARTS = 200;

/** Characters of names and owners. Any other character could be taken for a part of the notation. */
const PLAIN = /^[\p{L}\p{M}\p{N}_$.%/@#+~:-]+$/u;
/** Characters that are invisible, or that change the order of what is seen. */
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}]/u;
const ALL_HIDDEN = new RegExp(HIDDEN, "gu");

export function isPlain(text: string): boolean {
  return text.length <= LONGEST_NAME && PLAIN.test(text);
}

/** As far as this is known without converting a schema. */
export function hasKnownOutput(entry: CatalogEntry): boolean {
  const { output } = entry.tool;
  if (output === undefined) return false;
  return isStandardSchema(output) || usefulOutputSchemaOf(entry) !== undefined;
}

export function renderItem(item: IndexItem, form: ItemForm, docsCharacters = 0): string {
  switch (form) {
    case "name":
      return describable(item);
    case "fields":
      return `${item.call}${inputOf(item, fieldsText)}${outputOf(item, fieldsText)}`;
    case "types":
      return `${item.call}${inputOf(item, typeText)}${outputOf(item, typeText)}`;
    case "docs":
      return `${renderItem(item, "types")}${docsOf(item, docsCharacters)}`;
    default:
      return form satisfies never;
  }
}

/** A reader of a name alone has to ask for the rest by id. So the id must follow from what is shown. */
function describable({ entry: { id }, call }: IndexItem): string {
  const last = id.slice(id.lastIndexOf(":"));
  return last.slice(1) === call || !isPlain(last) ? call : last;
}

type WriteType = (use: Use, most: number) => string | undefined;

/** The input in parentheses; nothing for a tool without input. */
function inputOf({ entry: { tool } }: IndexItem, write: WriteType): string {
  if (tool.input === undefined) return "(input?)";
  const schema = inputSchemaOf(tool);
  const use = readSchema(schema, { direction: "input", most: MOST_PARTS });
  if (isNothing(use.node, schema)) return "";
  return `(${visible(write(use, LONGEST_INPUT)) ?? "input"})`;
}

/** The output after a colon; nothing if it is unknown or too long. */
function outputOf({ entry: { tool }, hasOutput }: IndexItem, write: WriteType): string {
  if (!hasOutput) return "";
  const use = readSchema(outputSchemaOf(tool), { direction: "output", most: MOST_PARTS });
  const text = visible(write(use, LONGEST_OUTPUT));
  return text === undefined || text === "unknown" ? "" : `:${text}`;
}

function docsOf({ entry }: IndexItem, most: number): string {
  const text = toDocText(entry.tool.description).replaceAll(ALL_HIDDEN, "");
  const line = cut(toSafeLine(text), most);
  return line === "" ? "" : ` // ${line}`;
}

function visible(text: string | undefined): string | undefined {
  return text === undefined || HIDDEN.test(text) ? undefined : text;
}

/** Whether a type is an object without fields, for which nothing need be passed. */
function isNothing(node: Node, schema: unknown): boolean {
  if (node.kind !== "text") return false;
  if (node.text === "Record<string,never>") return true;
  // Many people write this when they mean that there are no fields.
  return node.text === "Record<string,unknown>" && isRecord(schema) && isRecord(schema["properties"]);
}

/** The type as in declarations. */
function typeText(use: Use, most: number): string | undefined {
  return fit(
    [{ use }],
    ({ types: [text = "unknown"] }) => text,
    { docs: "none", maxCharacters: 2 * most },
    false,
  );
}

/** `{title,body?}`, `{id,name}[]`, `string`: only the outermost names, since the reader can ask for the rest. */
function fieldsText({ node }: Use, most: number): string | undefined {
  switch (node.kind) {
    case "object":
      return node.fields.length === 0 ? undefined : fieldList(node.fields, node.omitted, most);
    case "array": {
      const inner = fieldsText(node.item, most - 2);
      return inner === undefined ? undefined : `${inner}[]`;
    }
    case "text":
      return node.text.length <= most && !node.text.includes("/*") ? node.text : undefined;
    case "tuple":
    case "union":
    case "intersection":
    case "link":
      return undefined;
    default:
      return node satisfies never;
  }
}

function fieldList(fields: readonly Field[], omitted: number, most: number): string {
  // Required fields are left out last.
  const sorted = [
    ...fields.filter(({ optional }) => !optional),
    ...fields.filter(({ optional }) => optional),
  ];
  const texts: string[] = [];
  let left = most - "{…9999 more}".length;
  for (const { name, optional } of sorted) {
    const text = name.length > LONGEST_NAME ? undefined : `${toFieldName(name)}${optional ? "?" : ""}`;
    if (text === undefined || (left -= text.length + 1) < 0) break;
    texts.push(text);
  }
  const more = fields.length + omitted - texts.length;
  return `{${[...texts, ...(more > 0 ? [`…${more} more`] : [])].join(",")}}`;
}
