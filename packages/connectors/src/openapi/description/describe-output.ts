/** Reads what the answers of an operation are, and in which form to ask for them. Runs on a thread of its own. */
import { isRecord } from "../../web/text.ts";
import { isTextMedia, jsonMedia, type Media, mediaOf } from "./media-types.ts";
import type { Node, Schemas } from "../../description/schemas.ts";

export interface FoundOutput {
  /** Of the body of any success. Absent if one of them may be anything, or bytes. */
  readonly schema?: unknown;
  readonly accept?: string;
}

export function readOutput(schemas: Schemas, responses: unknown, method: string): FoundOutput {
  const successes = successesOf(responses).map((one) => mediaOf(schemas.resolve(one)?.["content"]));
  const accept = acceptOf(successes.flat());
  const asked = accept === undefined ? {} : { accept };
  if (method === "HEAD") return { ...asked, schema: { type: "null" } };
  const found = successes.map(schemaOf);
  if (found.length === 0 || found.includes(undefined)) return asked;
  const different = [...new Map(found.map((schema) => [JSON.stringify(schema), schema])).values()];
  return { ...asked, schema: different.length === 1 ? different[0] : { anyOf: different } };
}

function successesOf(responses: unknown): readonly unknown[] {
  if (!isRecord(responses)) return [];
  const successes = Object.entries(responses).filter(([status]) => /^2(?:\d\d|XX)$/iu.test(status));
  if (successes.length > 0) return successes.map(([, response]) => response);
  return Object.hasOwn(responses, "default") ? [responses["default"]] : [];
}

function schemaOf(media: readonly Media[]): unknown {
  if (media.length === 0) return { type: "null" };
  const json = jsonMedia(media) ?? media.find(isProbablyJson);
  if (json !== undefined) return json.object["schema"];
  return media.every(({ type }) => isTextMedia(type)) ? { type: "string" } : undefined;
}

/** Many descriptions say of JSON that it may be anything. */
function isProbablyJson({ type, object }: Media): boolean {
  const schema = object["schema"] as Node | undefined;
  return type === "*/*" && (schema?.["type"] === "object" || schema?.["type"] === "array");
}

const MOST_TYPES = 8;

/** JSON if there is any, and whatever else otherwise. */
function acceptOf(media: readonly Media[]): string | undefined {
  const types = [...new Set(media.map(({ type }) => type))].filter((type) =>
    /^[\w.+*-]+\/[\w.+*-]+(?:\s*;.*)?$/u.test(type),
  );
  if (types.length === 0) return undefined;
  const json = types.filter((type) => jsonMedia([{ type, object: {} }]) !== undefined);
  const wanted = (json.length > 0 ? json : types).slice(0, MOST_TYPES);
  return [...wanted, ...(wanted.includes("*/*") ? [] : ["*/*;q=0.1"])].join(", ");
}
