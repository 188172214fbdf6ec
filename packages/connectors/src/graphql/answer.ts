/**
 * Reads the response of a GraphQL backend. Runs on the host.
 *
 * - Data that the backend gave is given, and beside it why parts of it are null. Only where there is no data at all does
 *   a call fail, in the backend's words.
 */
import type { Json } from "codecell";
import { hideInData } from "../backend/hide-in-data.ts";
import type { HiddenTexts } from "../backend/hidden-texts.ts";
import type { BackendOutput } from "../contract/connector.ts";
import { ConnectorError } from "../contract/connector-error.ts";
import { isRecord } from "../web/text.ts";

const MOST_ERRORS = 20;
const MOST_SAID = 3;
const LONGEST_WORDS = 300;
const LONGEST_MESSAGE = 1000;
const LONGEST_MORE = 2000;

export interface Asked {
  readonly connector: string;
  readonly what: string;
  /** Of a generated operation: its only field. */
  readonly field: string | undefined;
  /** Taken out of errors before they are cut: afterwards the part of one would be unknown. */
  readonly hidden: HiddenTexts;
}

export async function readAnswer(asked: Asked, { data: body, meta }: BackendOutput): Promise<BackendOutput> {
  const { connector, what, field } = asked;
  if (!isRecord(body) || !("data" in body || "errors" in body)) {
    const message = `Stopped ${what}: "${connector}" answered what is no response of GraphQL, check its endpoint`;
    throw new ConnectorError(connector, "DOWNSTREAM_PROTOCOL_ERROR", message);
  }
  const errors = await errorsIn(body["errors"], asked.hidden);
  const data = dataIn(body["data"], field);
  if (errors.length > 0 && (data === undefined || data === null)) {
    throw new ConnectorError(connector, "DOWNSTREAM_TOOL_ERROR", messageOf(asked, errors), {
      details: { errors },
    });
  }
  if (data === undefined) {
    const message = `Stopped ${what}: "${connector}" answered neither data nor errors`;
    throw new ConnectorError(connector, "DOWNSTREAM_PROTOCOL_ERROR", message);
  }
  const { extensions } = body;
  return {
    data: errors.length === 0 ? { data } : { data, errors },
    meta: { ...meta, ...(isRecord(extensions) ? { extensions: extensions as Json } : {}) },
  };
}

type Failure = Readonly<Record<string, Json>> & { readonly message: string };

/** All of them; those behind the first are counted. */
async function errorsIn(value: unknown, hidden: HiddenTexts): Promise<readonly Failure[]> {
  if (!Array.isArray(value)) return [];
  const errors = value as readonly unknown[];
  const first = (await hideInData(errors.slice(0, MOST_ERRORS), hidden)) as readonly unknown[];
  const shown = first.map(failureOf);
  const rest = errors.length - shown.length;
  return rest === 0 ? shown : [...shown, { message: `There are ${rest} more errors` }];
}

function failureOf(error: unknown): Failure {
  if (!isRecord(error)) return { message: cut(JSON.stringify(error), LONGEST_MESSAGE) };
  const { message, path, extensions, ...more } = error;
  // The code is what programs decide by, however much else there is.
  const said = isRecord(extensions) && !isShort(extensions) ? { code: extensions["code"] } : extensions;
  const all = Object.entries({ ...more, extensions: said });
  const rest = all.filter(([, part]) => part !== undefined && isShort(part)) as [string, Json][];
  return {
    message: typeof message === "string" ? cut(message, LONGEST_MESSAGE) : "The backend does not say why",
    ...(Array.isArray(path) && isShort(path) ? { path: path as Json } : {}),
    ...Object.fromEntries(rest),
  };
}

/** Stack traces and the like are nothing that a program works with. */
function isShort(value: unknown): boolean {
  return JSON.stringify(value).length <= LONGEST_MORE;
}

function messageOf({ connector, what }: Asked, errors: readonly Failure[]): string {
  const words = errors.slice(0, MOST_SAID).map(({ message }) => cut(message, LONGEST_WORDS));
  const rest = errors.length - words.length;
  return `"${connector}" answered with errors to ${what}: ${words.join("; ")}${rest > 0 ? `; and ${rest} more` : ""}`;
}

/** Undefined if there is none, which is not what a field has that is null. */
function dataIn(data: unknown, field: string | undefined): unknown {
  if (!isRecord(data)) return undefined;
  if (field === undefined) return data;
  return Object.hasOwn(data, field) ? data[field] : undefined;
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most).toWellFormed()}…` : text.toWellFormed();
}
