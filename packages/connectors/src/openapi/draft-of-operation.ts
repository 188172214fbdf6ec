/** Turns an operation's input into its request. Runs on the host. */
import { formBody, jsonBody, multipartBody, type Part, rawBody } from "../web/body.ts";
import { type Body, createDraft, type Draft, setHeader } from "../web/draft.ts";
import { InputRefused } from "../web/input-refused.ts";
import { encodePathText, fillPath } from "../web/path-text.ts";
import { isRecord, ownOf } from "../web/text.ts";
import type { BodyPlan, FieldPlan, OperationPlan, ParameterPlan, Writing } from "./description/messages.ts";
import { writeHeader, writePairs, writePath } from "./write-value.ts";

type Input = Readonly<Record<string, unknown>>;

const FORM: Writing = { style: "form", explode: true, allowsReserved: false, isJson: false };

export function draftOfOperation(method: string, plan: OperationPlan, input: Input): Draft {
  refuseUnknown(plan, input);
  const [template = "", search] = plan.path.split("?", 2);
  const inPath = new Map(plan.parameters.filter((one) => one.in === "path").map((one) => [one.name, one]));
  const path = fillPath(template, ({ name }) => pathText(name, inPath.get(name), input));
  const draft = createDraft(method, path);
  if (search !== undefined) draft.query.push(search.replace(/#.*$/su, ""));
  for (const parameter of plan.parameters) place(draft, parameter, input);
  if (plan.accept !== undefined) draft.headers.set("accept", plan.accept);
  const body = plan.body === undefined ? undefined : bodyOf(plan.body, input);
  if (body !== undefined) draft.body = body;
  return draft;
}

/** An input that has no place would be lost without a word. */
function refuseUnknown({ parameters, body }: OperationPlan, input: Input): void {
  const known = new Set(parameters.map((parameter) => parameter.input));
  for (const field of body?.fields ?? []) known.add(field.input);
  if (body?.whole !== undefined) known.add(body.whole);
  const unknown = Object.keys(input).find((name) => !known.has(name));
  if (unknown !== undefined) throw new InputRefused(`it takes no "${unknown}"`);
}

function pathText(name: string, parameter: ParameterPlan | undefined, input: Input): string {
  const value = parameter === undefined ? undefined : ownOf(input, parameter.input);
  if (parameter === undefined || value === undefined || value === null) {
    throw new InputRefused(`"${parameter?.input ?? name}" is absent, and the path needs it`);
  }
  const text = writePath(name, value, parameter, (piece) =>
    encodePathText(name, piece, parameter.mayHaveSlashes),
  );
  if (text === "") throw new InputRefused(`"${parameter.input}" is empty, and the path needs it`);
  return text;
}

function place(draft: Draft, parameter: ParameterPlan, input: Input): void {
  const value = ownOf(input, parameter.input);
  if (value === undefined) return;
  const { name } = parameter;
  switch (parameter.in) {
    case "path":
      return;
    case "query":
      draft.query.push(...writePairs(name, value, parameter));
      return;
    case "header":
      if (value !== null || parameter.isJson) setHeader(draft, name, writeHeader(name, value, parameter));
      return;
    case "cookie":
      draft.cookies.push(...writePairs(name, value, parameter));
      return;
    default:
      parameter.in satisfies never;
  }
}

function bodyOf(plan: BodyPlan, input: Input): Body | undefined {
  const { format, mediaType, isRequired, fields, whole, writings = {} } = plan;
  if (fields === undefined) {
    const value = whole === undefined ? undefined : ownOf(input, whole);
    if (value === undefined) {
      if (isRequired) throw new InputRefused(`"${whole ?? "body"}" is absent, and the operation needs it`);
      return undefined;
    }
    const name = whole ?? "body";
    if (format === "json") return jsonBody(name, value, mediaType);
    if (format === "raw") return rawBody(name, value, mediaType);
    if (!isRecord(value)) throw new InputRefused(`"${name}" has to be an object`);
    const given = Object.entries(value).map(
      ([field, part]) =>
        [Object.assign({ input: field, name: field }, ownOf(writings, field)), part] as const,
    );
    return fieldsBody(format, given);
  }
  const given = fields
    .map((field) => [field, ownOf(input, field.input)] as const)
    .filter(([, value]) => value !== undefined);
  if (given.length === 0 && !isRequired) return undefined;
  if (format === "form" || format === "multipart") return fieldsBody(format, given);
  return jsonBody("body", Object.fromEntries(given.map(([{ name }, value]) => [name, value])), mediaType);
}

function fieldsBody(format: "form" | "multipart", given: readonly (readonly [FieldPlan, unknown])[]): Body {
  if (format === "multipart") return multipartBody(given.flatMap(([field, value]) => partsOf(field, value)));
  return formBody(given.flatMap(([field, value]) => formPairs(field, value)));
}

/** A field without a style of its own: a list is repeated, what is nested is JSON. */
function formPairs({ name, writing }: FieldPlan, value: unknown): readonly string[] {
  if (writing !== undefined) return writePairs(name, value, writing);
  return writePairs(name, value, isRecord(value) ? { ...FORM, isJson: true } : FORM);
}

function partsOf({ name, mediaType }: FieldPlan, value: unknown): readonly Part[] {
  if (value === null) return [];
  const isOne = !Array.isArray(value) || mediaType?.includes("json") === true;
  const values: readonly unknown[] = isOne ? [value] : value;
  return values.map((item) => ({ name, value: item, mediaType: typeFor(mediaType) }));
}

/** Where the description leaves a choice, bytes say what they are. */
function typeFor(mediaType: string | undefined): string | undefined {
  return mediaType?.includes("*") === true || mediaType?.includes(",") === true ? undefined : mediaType;
}
