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
import { positionOf } from "../../backend/parse-position.ts";
import { Words } from "../../description/words.ts";
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
  /** How the schema is told. */
  readonly words: Words;
  /** Of what was read: equal if nothing has changed. */
  readonly hash: string;
}

export function readSchema({ bytes, hidden }: SchemaSetup): ReadSchema {
  const words = new Words(hidden);
  // Also takes away a byte order mark.
  const text = new TextDecoder().decode(bytes);
  const schema = /^\s*\{/u.test(text.slice(0, 1000))
    ? fromIntrospection(text, words)
    : fromLanguage(text, words);
  if (schema.getQueryType() == null) throw new SchemaUnusable("its schema has no type for queries");
  return { schema, words, hash: createHash("sha256").update(bytes).digest("hex") };
}

function fromLanguage(text: string, words: Words): GraphQLSchema {
  try {
    return buildSchema(text, { assumeValid: true });
  } catch (cause) {
    throw new SchemaUnusable(`its schema does not parse: ${wordsOf(cause, words)}`, { cause });
  }
}

function fromIntrospection(text: string, words: Words): GraphQLSchema {
  const introspection = introspectionIn(text, words);
  try {
    return buildClientSchema(introspection, { assumeValid: true });
  } catch (cause) {
    throw new SchemaUnusable(`its schema cannot be used: ${wordsOf(cause, words)}`, { cause });
  }
}

/** Of a response, or of what tools save of one. */
function introspectionIn(text: string, words: Words): IntrospectionQuery {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const problem = `its schema does not parse: it looks like JSON, and is none${positionOf(error)}`;
    throw new SchemaUnusable(problem);
  }
  const data = isRecord(value) && isRecord(value["data"]) ? value["data"] : value;
  // What else it has, `buildClientSchema` looks at.
  if (isRecord(data) && isRecord(data["__schema"])) return data as unknown as IntrospectionQuery;
  const said =
    isRecord(value) && Array.isArray(value["errors"]) ? (value["errors"] as unknown[])[0] : undefined;
  const why = isRecord(said) && typeof said["message"] === "string" ? `: ${cut(said["message"], words)}` : "";
  throw new SchemaUnusable(`its backend does not tell its schema${why}`, { isRefused: true });
}

function wordsOf(cause: unknown, words: Words): string {
  if (cause instanceof RangeError) return "it is nested too deeply";
  if (!(cause instanceof Error)) return "it is no schema";
  const [at] = cause instanceof GraphQLError ? (cause.locations ?? []) : [];
  const [line = ""] = cause.message.split("\n", 1);
  const said = cut(line, words);
  return at === undefined ? said : `line ${at.line}, column ${at.column}: ${said}`;
}

function cut(text: string, words: Words): string {
  return words.cut(text, LONGEST_WORDS, "…");
}
