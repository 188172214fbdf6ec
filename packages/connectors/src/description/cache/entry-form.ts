/**
 * EntryForm: of what form everything is that a description of one kind becomes. Runs on the host.
 *
 * - Whoever can write into a cache can say which tools there are. Nothing that he says is used in a form in which no
 *   description could say it.
 */
import { isRecord } from "../../web/text.ts";
import type { DescribedApi } from "../messages.ts";

export interface Bounds {
  readonly textBytes: number;
  readonly parts: number;
}

export interface EntryForm<Described extends DescribedApi> {
  /** All that is no list, but for the text. */
  readonly isPlain: (plain: Readonly<Record<string, unknown>>) => boolean;
  /** What each item of each list has to be. */
  readonly lists: Readonly<Record<ListName<Described>, IsItem>> & Readonly<Record<string, IsItem>>;
}

type IsItem = (item: unknown, bounds: Bounds) => boolean;

type ListName<Described> = {
  readonly [Name in keyof Described & string]: Described[Name] extends readonly unknown[] ? Name : never;
}[keyof Described & string];

/** What is plain in every description. */
export function isPlainOfAll({ title, version, hash }: Readonly<Record<string, unknown>>): boolean {
  return isText(title) && isText(version) && isText(hash);
}

export function isText(value: unknown): value is string {
  return typeof value === "string";
}

export function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isText);
}

export const isToolText: IsItem = (item, bounds) => {
  if (!isRecord(item)) return false;
  const { name, title, description, tags, isDeprecated, method, plan, input, output } = item;
  return (
    isText(name) &&
    name !== "" &&
    isAbsentOr(isText, title) &&
    isAbsentOr(isText, description) &&
    isAbsentOr(isTextList, tags) &&
    typeof isDeprecated === "boolean" &&
    isText(method) &&
    /^[A-Z]+$/u.test(method) &&
    isRange(plan, bounds) &&
    isSchemaText(input, bounds) &&
    (output === undefined || isSchemaText(output, bounds))
  );
};

export const isPartText: IsItem = (item, bounds) =>
  isRecord(item) && isText(item["name"]) && isSchemaText(item, bounds);

export function isAbsentOr(is: (value: unknown) => boolean, value: unknown): boolean {
  return value === undefined || is(value);
}

function isSchemaText(value: unknown, bounds: Bounds): boolean {
  if (!isRecord(value)) return false;
  const { range, parts } = value;
  return isRange(range, bounds) && Array.isArray(parts) && parts.every((part) => isBelow(part, bounds.parts));
}

function isRange(value: unknown, { textBytes }: Bounds): boolean {
  if (!Array.isArray(value) || value.length !== 2) return false;
  const [from, to] = value as readonly unknown[];
  return isBelow(from, textBytes + 1) && isBelow(to, textBytes + 1) && (from as number) <= (to as number);
}

function isBelow(value: unknown, end: number): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) < end;
}
