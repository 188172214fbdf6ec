/**
 * Runs on the host. What is wrong with an entry of a server's list. The client fails the whole list for one such entry; here
 * it is left out, and the others stay.
 *
 * - Ordinary entries are looked at quickly, as a list may have thousands. What is not ordinary is left to the schemas of the
 *   client, which are exact.
 */
import { specTypeSchemas } from "@modelcontextprotocol/client";
import type { ListName } from "./list-bounds.ts";

export interface EntryRules {
  /** In the older protocol an output is an object. */
  readonly isOld: boolean;
  /** Arguments that a schema marks travel in headers too: over HTTP, in the newer protocol. */
  readonly hasHeaders: boolean;
}

type Fields = Readonly<Record<string, unknown>>;

/** The field by which an entry is asked for, those that are texts, and what decides in doubt. */
const KINDS = {
  tools: { key: "name", texts: ["title", "description"], schema: specTypeSchemas.Tool },
  resources: {
    key: "uri",
    texts: ["name", "title", "description", "mimeType"],
    schema: specTypeSchemas.Resource,
  },
  resourceTemplates: {
    key: "uriTemplate",
    texts: ["name", "title", "description", "mimeType"],
    schema: specTypeSchemas.ResourceTemplate,
  },
  prompts: { key: "name", texts: ["title", "description"], schema: specTypeSchemas.Prompt },
} as const;

/** Undefined: nothing. */
export function faultOfEntry(list: ListName, entry: unknown, rules: EntryRules): string | undefined {
  if (!isRecord(entry)) return "is no object";
  const { key, texts, schema } = KINDS[list];
  const name = entry[key];
  if (typeof name !== "string" || name === "") return `has no ${key}`;
  const isOrdinary =
    Object.entries(entry).every(
      ([field, value]) =>
        field === key ||
        ((texts as readonly string[]).includes(field) && typeof value === "string") ||
        (list === "tools" && isOrdinaryOfTool(field, value)),
    ) &&
    (list !== "tools" || Object.hasOwn(entry, "inputSchema")) &&
    (key === "name" || typeof entry["name"] === "string");
  if (!isOrdinary) {
    const { issues } = schema["~standard"].validate(entry) as { readonly issues?: readonly Issue[] };
    if (issues !== undefined) return `is not as the protocol wants it${placeOf(issues)}`;
  }
  return list === "tools" ? faultOfTool(entry, rules) : undefined;
}

function faultOfTool(
  { inputSchema, outputSchema }: Fields,
  { isOld, hasHeaders }: EntryRules,
): string | undefined {
  if (!isRecord(inputSchema)) return "has no inputSchema";
  const { properties, required } = inputSchema;
  if (properties !== undefined && !isRecord(properties))
    return "is not as the protocol wants it: inputSchema.properties";
  if (required !== undefined && !isTexts(required))
    return "is not as the protocol wants it: inputSchema.required";
  if (isOld && isRecord(outputSchema) && outputSchema["type"] !== "object")
    return "is not as the protocol wants it: outputSchema.type";
  return hasHeaders && !areHeadersSound(inputSchema)
    ? "has headers that cannot be sent: x-mcp-header"
    : undefined;
}

interface Issue {
  readonly path?: readonly unknown[] | undefined;
}

/** Names of fields alone: what is in them are the server's own words. */
function placeOf([issue]: readonly Issue[]): string {
  const names = (issue?.path ?? []).filter((part) => typeof part === "string" && /^\w{1,40}$/u.test(part));
  return names.length === 0 ? "" : `: ${names.join(".")}`;
}

function isOrdinaryOfTool(field: string, value: unknown): boolean {
  if (!isRecord(value)) return false;
  if (field === "inputSchema" || field === "outputSchema") {
    const { $schema, type } = value;
    return type === "object" && ($schema === undefined || typeof $schema === "string");
  }
  if (field !== "annotations") return false;
  return Object.entries(value).every(
    ([name, one]) => typeof one === "boolean" || (name === "title" && typeof one === "string"),
  );
}

const HEADER = "x-mcp-header";
const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]+$/iu;
const SENDABLE: ReadonlySet<unknown> = new Set(["string", "integer", "boolean"]);

/** The client would leave such a tool out too, and write the server's words to the console. */
function areHeadersSound(schema: Fields): boolean {
  const names = new Set<string>();
  let reachable = 0;
  const open: Fields[] = [schema];
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    for (const child of isRecord(one["properties"]) ? Object.values(one["properties"]) : []) {
      if (!isRecord(child)) continue;
      open.push(child);
      if (!Object.hasOwn(child, HEADER)) continue;
      const name = child[HEADER];
      if (typeof name !== "string" || !TOKEN.test(name) || !SENDABLE.has(child["type"])) return false;
      if (names.has(name.toLowerCase())) return false;
      names.add(name.toLowerCase());
      reachable++;
    }
  }
  return reachable === headersIn(schema);
}

/** At every place, also where none may be. A property that has the name is no header. */
function headersIn(schema: Fields): number {
  let count = 0;
  const open: { readonly value: unknown; readonly isMap: boolean }[] = [{ value: schema, isMap: false }];
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    const { value, isMap } = one;
    if (typeof value !== "object" || value === null) continue;
    if (!isMap && !Array.isArray(value) && Object.hasOwn(value, HEADER)) count++;
    for (const [key, child] of Object.entries(value))
      open.push({ value: child, isMap: !isMap && key === "properties" });
  }
  return count;
}

function isRecord(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}
