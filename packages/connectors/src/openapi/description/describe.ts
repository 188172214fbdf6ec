/**
 * Turns a document of OpenAPI 3.1 into operations that can be asked for one by one. Runs on a thread of its own.
 *
 * - An operation that cannot be used is left out, and a problem says why: the others are there all the same.
 */
import { shownProblems } from "../../description/problems.ts";
import type { LoadedDocument } from "../../description/read-document.ts";
import { type Node, Schemas, type SchemaWithParts } from "../../description/schemas.ts";
import { TextPieces } from "../../description/text-pieces.ts";
import { nameOperations } from "../../description/tool-names.ts";
import type { Words } from "../../description/words.ts";
import { isRecord } from "../../web/text.ts";
import { readBody, type Property } from "./describe-body.ts";
import { readOutput } from "./describe-output.ts";
import { type Owned, readParameters, Unusable } from "./describe-parameters.ts";
import type { Described, OperationPlan, OperationText, Scheme, Security, Server } from "./messages.ts";

/** Others cannot be sent with `fetch`. */
const METHODS = ["get", "put", "post", "delete", "options", "head", "patch"] as const;
const LONGEST_TEXT = 20_000;

interface Found {
  readonly path: string;
  readonly method: string;
  readonly item: Node;
  readonly operation: Node;
}

interface Read {
  readonly found: Found;
  readonly servers: readonly Server[] | undefined;
  readonly plan: OperationPlan;
  readonly input: SchemaWithParts;
  readonly output: SchemaWithParts | undefined;
}

export function describe(
  { document, problems, hash }: LoadedDocument,
  ownedHeaders: readonly string[],
  words: Words,
): Described {
  const schemas = new Schemas(document, words);
  const { info, components, security, servers } = document;
  const schemes = schemesOf(schemas, isRecord(components) ? components["securitySchemes"] : undefined);
  const owned = ownedBy(schemes, ownedHeaders);
  const text = new TextPieces(words);
  const read: Read[] = [];
  for (const found of operationsOf(document, schemas)) {
    try {
      read.push(readOperation(schemas, found, owned, words));
    } catch (error) {
      if (!(error instanceof Unusable)) throw error;
      problems.push(`${found.method} ${found.path} is left out: ${error.message}`);
    }
  }
  const names = nameOperations(
    read.map(({ found: { method, path, operation } }) => ({
      method,
      path,
      operationId: operation["operationId"],
    })),
    words,
  );
  const operations = read.map((one, at) => operationText(one, names[at] as string, text, words));
  const parts = text.addParts(schemas);
  const { title, version } = isRecord(info) ? info : {};
  return {
    title: typeof title === "string" ? words.cut(title, 200) : "",
    version: typeof version === "string" || typeof version === "number" ? words.cut(String(version), 50) : "",
    servers: serversOf(servers),
    schemes,
    security: securityOf(security) ?? [],
    operations,
    parts,
    text: text.bytes(),
    problems: shownProblems(problems, words),
    hash,
  };
}

/** Whatever a credential may be in is not for arguments, whether it is configured or not. */
function ownedBy(schemes: Described["schemes"], ownedHeaders: readonly string[]): Owned {
  const keys = Object.values(schemes).filter((scheme) => scheme.type === "apiKey");
  const namesIn = (place: string): string[] => keys.filter((key) => key.in === place).map(({ name }) => name);
  return {
    header: new Set([...ownedHeaders, ...namesIn("header").map((name) => name.toLowerCase())]),
    query: new Set(namesIn("query")),
    cookie: new Set(namesIn("cookie")),
  };
}

function* operationsOf(document: Node, schemas: Schemas): Generator<Found> {
  const { paths } = document;
  if (!isRecord(paths)) return;
  for (const [path, reference] of Object.entries(paths)) {
    const target = path.startsWith("x-") ? undefined : schemas.resolve(reference);
    if (target === undefined) continue;
    // A path may refer to another one, and say more beside.
    const item: Node = { ...target, ...(reference as Node) };
    for (const method of METHODS) {
      const operation = item[method];
      if (isRecord(operation)) yield { path, method: method.toUpperCase(), item, operation };
    }
  }
}

function readOperation(schemas: Schemas, found: Found, owned: Owned, words: Words): Read {
  const { path, method, item, operation } = found;
  const { parameters, idempotencyHeader } = readParameters(
    schemas,
    path,
    [item["parameters"], operation["parameters"]],
    owned,
  );
  const properties = new Map<string, Property>();
  const add = (wanted: string, place: string, property: Property): string => {
    const name = freeName(wanted, place, properties);
    properties.set(name, property);
    return name;
  };
  const planned = parameters.map(({ plan, schema, description, isRequired }) =>
    Object.assign({ input: add(plan.name, plan.in, { schema, description, isRequired }) }, plan),
  );
  const hasBody = method !== "GET" && method !== "HEAD";
  const body = hasBody ? readBody(schemas, operation["requestBody"], add) : undefined;
  const output = readOutput(schemas, operation["responses"], method);
  const security = securityOf(operation["security"]);
  const servers = [operation["servers"], item["servers"]].find((one) => Array.isArray(one) && one.length > 0);
  const plan: OperationPlan = {
    path,
    parameters: planned,
    ...(body === undefined ? {} : { body }),
    ...(output.accept === undefined ? {} : { accept: output.accept }),
    ...(idempotencyHeader === undefined ? {} : { idempotencyHeader }),
    ...(security === undefined ? {} : { security }),
  };
  return {
    found,
    servers: servers === undefined ? undefined : serversOf(servers),
    plan,
    input: inputOf(schemas, properties, words),
    output: "schema" in output ? schemas.read(output.schema) : undefined,
  };
}

/** `id`, or `query_id` if another parameter has the name, or `query_id_2`. */
function freeName(wanted: string, place: string, taken: ReadonlyMap<string, unknown>): string {
  if (!taken.has(wanted)) return wanted;
  const placed = `${place}_${wanted}`;
  let name = placed;
  for (let count = 2; taken.has(name); count++) name = `${placed}_${count}`;
  return name;
}

function inputOf(schemas: Schemas, properties: ReadonlyMap<string, Property>, words: Words): SchemaWithParts {
  const parts = new Set<number>();
  const entries = [...properties].map(([name, { schema, description }]) => {
    const read = schemas.read(schema);
    for (const part of read.parts) parts.add(part);
    return [name, withDescription(read.schema, description, words)] as const;
  });
  const required = [...properties].filter(([, { isRequired }]) => isRequired).map(([name]) => name);
  const schema = {
    type: "object",
    properties: Object.fromEntries(entries),
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
  };
  return { schema, parts: [...parts] };
}

function withDescription(schema: unknown, description: string | undefined, words: Words): unknown {
  if (description === undefined || !isRecord(schema) || schema["description"] !== undefined) return schema;
  return { ...schema, description: words.cut(description, LONGEST_TEXT) };
}

function operationText(
  { found, servers, plan, input, output }: Read,
  name: string,
  text: TextPieces,
  words: Words,
): OperationText {
  const { method, operation } = found;
  const [title, own] = [textOf(operation["summary"], words), textOf(operation["description"], words)];
  const description = own ?? title;
  const { tags } = operation;
  const named = Array.isArray(tags) ? tags.filter((tag): tag is string => typeof tag === "string") : [];
  return {
    name,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(named.length === 0 ? {} : { tags: named }),
    isDeprecated: operation["deprecated"] === true,
    method,
    plan: text.add(plan),
    input: text.addSchema(input),
    ...(output === undefined ? {} : { output: text.addSchema(output) }),
    ...(servers === undefined ? {} : { servers }),
  };
}

function textOf(value: unknown, words: Words): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? words.cut(value.trim(), LONGEST_TEXT) : undefined;
}

function serversOf(servers: unknown): readonly Server[] {
  if (!Array.isArray(servers)) return [];
  return servers.filter(isRecord).flatMap(({ url, variables }) => {
    if (typeof url !== "string") return [];
    const entries = Object.entries(isRecord(variables) ? variables : {}).filter(([, node]) => isRecord(node));
    return [
      { url, variables: Object.fromEntries(entries.map(([name, node]) => [name, variableOf(node as Node)])) },
    ];
  });
}

function variableOf(node: Node): Server["variables"][string] {
  const { enum: values } = node;
  const named = Array.isArray(values) ? values.map(String) : [];
  return { default: scalarOf(node["default"]), ...(named.length === 0 ? {} : { values: named }) };
}

/** YAML makes numbers of ports and versions. */
function scalarOf(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

function securityOf(security: unknown): Security | undefined {
  return Array.isArray(security) ? security.filter(isRecord).map((one) => Object.keys(one)) : undefined;
}

function schemesOf(schemas: Schemas, schemes: unknown): Readonly<Record<string, Scheme>> {
  if (!isRecord(schemes)) return {};
  const found = Object.entries(schemes).map(
    ([name, node]) => [name, schemeOf(schemas.resolve(node) ?? {})] as const,
  );
  return Object.fromEntries(found.filter((one): one is [string, Scheme] => one[1] !== undefined));
}

function schemeOf({ type, in: place, name, scheme }: Node): Scheme | undefined {
  if (
    type === "apiKey" &&
    typeof name === "string" &&
    (place === "header" || place === "query" || place === "cookie")
  ) {
    return { type, in: place, name };
  }
  // Whoever has an access token can use it, wherever it came from.
  if (type === "oauth2" || type === "openIdConnect") return { type: "bearer" };
  const lower = type === "http" && typeof scheme === "string" ? scheme.toLowerCase() : "";
  return lower === "basic" || lower === "bearer" ? { type: lower } : undefined;
}
