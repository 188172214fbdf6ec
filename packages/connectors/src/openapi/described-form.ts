/** Of what form a description of OpenAPI is when it comes from a cache. Runs on the host. */
import {
  type EntryForm,
  isAbsentOr,
  isPartText,
  isPlainOfAll,
  isText,
  isTextList,
  isToolText,
} from "../description/cache/entry-form.ts";
import { isRecord } from "../web/text.ts";
import type { Described } from "./description/messages.ts";

export const DESCRIBED_FORM: EntryForm<Described> = {
  isPlain: (plain) => isPlainOfAll(plain) && isRecordOf(isScheme, plain["schemes"]),
  lists: {
    operations: (item, bounds) =>
      isToolText(item, bounds) && isRecord(item) && isAbsentOr(isServerList, item["servers"]),
    parts: isPartText,
    problems: isText,
    security: isTextList,
    servers: isServer,
  },
};

const PLACES: ReadonlySet<unknown> = new Set(["header", "query", "cookie"]);

function isScheme(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { type, name } = value;
  return (
    type === "basic" || type === "bearer" || (type === "apiKey" && isText(name) && PLACES.has(value["in"]))
  );
}

function isServerList(value: unknown): boolean {
  return Array.isArray(value) && value.every(isServer);
}

function isServer(value: unknown): boolean {
  return isRecord(value) && isText(value["url"]) && isRecordOf(isVariable, value["variables"]);
}

function isVariable(value: unknown): boolean {
  return isRecord(value) && isText(value["default"]) && isAbsentOr(isTextList, value["values"]);
}

function isRecordOf(is: (value: unknown) => boolean, value: unknown): boolean {
  return isRecord(value) && Object.values(value).every(is);
}
