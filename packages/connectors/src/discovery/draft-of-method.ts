/** Turns a method's input into its request. Runs on the host. */
import { Bytes } from "../contract/connector.ts";
import { jsonBody, rawBody, relatedBody } from "../web/body.ts";
import { type Body, createDraft, type Draft, isHeaderValue } from "../web/draft.ts";
import { InputRefused } from "../web/input-refused.ts";
import { encodePathText, fillPath } from "../web/path-text.ts";
import { encodeText, ownOf, toText } from "../web/text.ts";
import type { MediaPlan, MethodPlan, PlacedParameter } from "./description/messages.ts";

type Input = Readonly<Record<string, unknown>>;

const LONGEST_TYPE = 255;
const MEDIA_TYPE = /^[\w.!#$&^+-]+\/[\w.!#$&^+-]+(?:\s*;.*)?$/u;

export function draftOfMethod(method: string, plan: MethodPlan, input: Input): Draft {
  refuseUnknown(plan, input);
  const { parameters, media, alt, apiVersion } = plan;
  const uploaded = media === undefined ? undefined : mediaOf(media, input);
  const body = bodyOf(plan, input, uploaded !== undefined);
  const template = media === undefined || uploaded === undefined ? plan.path : media.path;
  const inPath = new Map(parameters.filter((one) => one.in === "path").map((one) => [one.name, one]));
  const filled = fillPath(template, ({ name, mayHaveSlashes }) =>
    pathText(name, inPath.get(name), input, mayHaveSlashes),
  );
  const draft = createDraft(method, filled);
  if (alt !== undefined) draft.query.push(`alt=${alt}`);
  if (uploaded !== undefined) draft.query.push(`uploadType=${body === undefined ? "media" : "multipart"}`);
  for (const parameter of parameters) {
    if (parameter.in === "query") draft.query.push(...pairsOf(parameter.name, ownOf(input, parameter.input)));
  }
  if (apiVersion !== undefined) draft.headers.set("x-goog-api-version", apiVersion);
  draft.body =
    body === undefined || uploaded === undefined ? (uploaded ?? body) : relatedBody(body, uploaded);
  return draft;
}

/** An input that has no place would be lost without a word. */
function refuseUnknown({ parameters, body, media }: MethodPlan, input: Input): void {
  const known = new Set<string | undefined>(parameters.map((parameter) => parameter.input));
  known.add(body).add(media?.input).add(media?.typeInput);
  const unknown = Object.keys(input).find((name) => !known.has(name));
  if (unknown !== undefined) throw new InputRefused(`it takes no "${unknown}"`);
}

function pathText(
  name: string,
  parameter: PlacedParameter | undefined,
  input: Input,
  mayHaveSlashes: boolean,
): string {
  const value = parameter === undefined ? undefined : ownOf(input, parameter.input);
  if (value === undefined || value === null) {
    throw new InputRefused(`"${parameter?.input ?? name}" is absent, and the path needs it`);
  }
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (values.length === 0) throw new InputRefused(`"${name}" is empty, and the path needs it`);
  return values.map((one) => encodePathText(name, toText(name, one), mayHaveSlashes)).join(",");
}

/** A list becomes a parameter that is repeated. */
function pairsOf(name: string, value: unknown): readonly string[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((item: unknown) => pairsOf(name, item));
  return [`${encodeText(name)}=${encodeText(toText(name, value))}`];
}

function bodyOf(
  { body: name, media, isWrapped }: MethodPlan,
  input: Input,
  hasMedia: boolean,
): Body | undefined {
  const value = name === undefined ? undefined : ownOf(input, name);
  if (name === undefined || value === undefined) return undefined;
  if (hasMedia && media?.takesBody !== true) {
    throw new InputRefused(`"${name}" cannot go together with what is uploaded, send one of them`);
  }
  const type = hasMedia ? "application/json; charset=UTF-8" : "application/json";
  return jsonBody(name, isWrapped ? { data: value } : value, type);
}

function mediaOf({ input: name, typeInput, accept, maxBytes }: MediaPlan, input: Input): Body | undefined {
  const value = ownOf(input, name);
  const said = ownOf(input, typeInput);
  if (value === undefined) {
    if (said !== undefined) throw new InputRefused(`"${typeInput}" is given, and "${name}" is absent`);
    return undefined;
  }
  const type = typeof said === "string" ? said : typeOf(value);
  if (type.length > LONGEST_TYPE || !MEDIA_TYPE.test(type) || !isHeaderValue(type)) {
    throw new InputRefused(`"${typeInput}" has to be a media type, such as "image/png"`);
  }
  const essence = type.replace(/;.*$/su, "").trim().toLowerCase();
  if (accept.length > 0 && !accept.some((range) => isWithin(essence, range.toLowerCase()))) {
    throw new InputRefused(`"${name}" is of type "${essence}", it has to be one of ${accept.join(", ")}`);
  }
  const { bytes } = rawBody(name, value, type);
  if (maxBytes !== undefined && bytes.byteLength > maxBytes) {
    throw new InputRefused(`"${name}" has ${bytes.byteLength} bytes, at most ${maxBytes} are taken`);
  }
  return { bytes, mediaType: type };
}

function typeOf(value: unknown): string {
  if (typeof value === "string") return "text/plain; charset=utf-8";
  return (value instanceof Bytes ? value.mediaType : undefined) ?? "application/octet-stream";
}

function isWithin(essence: string, range: string): boolean {
  if (range === "*/*") return true;
  return range.endsWith("/*") ? essence.startsWith(range.slice(0, -1)) : essence === range;
}
