/**
 * Reads a schema: its own language, or the answer to an introspection. Runs on a thread of its own.
 *
 * - A schema is not refused for a rule that nothing here depends on: GitHub's own breaks some.
 */
import { createHash } from "node:crypto";
import {
  buildClientSchema,
  buildSchema,
  GraphQLError,
  type GraphQLSchema,
  type IntrospectionQuery,
} from "graphql";
import { isRecord } from "../../web/text.ts";
import type { SchemaSetup } from "./messages.ts";

const LONGEST_WORDS = 300;

export class SchemaUnusable extends Error {
  override readonly name = "SchemaUnusable";
  /** Whether the backend was asked for its schema, and did not tell it. */
  readonly isRefused: boolean;

  constructor(message: string, options: ErrorOptions & { readonly isRefused?: boolean } = {}) {
    super(message, options);
    this.isRefused = options.isRefused ?? false;
  }
}

export interface ReadSchema {
  readonly schema: GraphQLSchema;
  /** Of what was read: equal if nothing has changed. */
  readonly hash: string;
}

export function readSchema({ bytes }: SchemaSetup): ReadSchema {
  // Also takes away a byte order mark.
  const text = new TextDecoder().decode(bytes);
  const schema = /^\s*\{/u.test(text.slice(0, 1000)) ? fromIntrospection(text) : fromLanguage(text);
  if (schema.getQueryType() == null) throw new SchemaUnusable("its schema has no type for queries");
  return { schema, hash: createHash("sha256").update(bytes).digest("hex") };
}

function fromLanguage(text: string): GraphQLSchema {
  try {
    return buildSchema(text, { assumeValid: true });
  } catch (cause) {
    throw new SchemaUnusable(`its schema does not parse: ${wordsOf(cause)}`, { cause });
  }
}

function fromIntrospection(text: string): GraphQLSchema {
  const introspection = introspectionIn(text);
  try {
    return buildClientSchema(introspection, { assumeValid: true });
  } catch (cause) {
    throw new SchemaUnusable(`its schema cannot be used: ${wordsOf(cause)}`, { cause });
  }
}

/** Of a response, or of what tools save of one. */
function introspectionIn(text: string): IntrospectionQuery {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new SchemaUnusable("its schema does not parse: it looks like JSON, and is none", { cause });
  }
  const data = isRecord(value) && isRecord(value["data"]) ? value["data"] : value;
  // What else it has, `buildClientSchema` looks at.
  if (isRecord(data) && isRecord(data["__schema"])) return data as unknown as IntrospectionQuery;
  const said =
    isRecord(value) && Array.isArray(value["errors"]) ? (value["errors"] as unknown[])[0] : undefined;
  const words = isRecord(said) && typeof said["message"] === "string" ? `: ${cut(said["message"])}` : "";
  throw new SchemaUnusable(`its backend does not tell its schema${words}`, { isRefused: true });
}

function wordsOf(cause: unknown): string {
  if (cause instanceof RangeError) return "it is nested too deeply";
  if (!(cause instanceof Error)) return "it is no schema";
  const [at] = cause instanceof GraphQLError ? (cause.locations ?? []) : [];
  const [line = ""] = cause.message.split("\n", 1);
  return at === undefined ? cut(line) : `line ${at.line}, column ${at.column}: ${cut(line)}`;
}

function cut(text: string): string {
  return text.length > LONGEST_WORDS ? `${text.slice(0, LONGEST_WORDS).toWellFormed()}…` : text;
}
