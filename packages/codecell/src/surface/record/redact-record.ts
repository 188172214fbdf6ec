/**
 * Runs on the host. Builds a record that leaves, after it asked the host's `redact` hook about it.
 *
 * - The hook decides on values alone: ids, times and states stay as they were.
 * - If the hook throws or gives no record, the values are left out. No value leaves that the hook did not give back.
 * - A hook gets a copy of its own. What leaves is another copy.
 */
import type { Json } from "../../contract/value.ts";
import { buildJson } from "../../value/parse-json.ts";
import { printJson } from "../../value/print-json.ts";
import { isRecord } from "../../value/shape.ts";
import {
  type CallRecord,
  type UnbuiltCall,
  type EntryRecord,
  type TrajectoryRecord,
  valuesText,
} from "./trajectory-record.ts";

/**
 * Gets a copy of the record. Gives back a record, from which only `input`, `result` and `error` are taken. Must not be
 * asynchronous.
 */
export type Redact = (record: TrajectoryRecord) => TrajectoryRecord | undefined;

type Values = Readonly<Partial<Record<"input" | "result" | "error", Json>>>;

export async function exportEntry(record: EntryRecord, redact: Redact | undefined): Promise<EntryRecord> {
  if (redact === undefined) return record;
  const { input, result, ...facts } = record;
  const text = await ask({ ...record }, redact);
  if (text === undefined) return { ...facts, withheld: true };
  const given = await buildValues(text);
  const values = {
    ...(typeof given.input === "string" ? { input: given.input } : {}),
    ...(typeof given.result === "string" ? { result: given.result } : {}),
  };
  const isSame = values.input === input && values.result === result;
  return { ...facts, ...values, ...(isSame ? {} : { redacted: true as const }) };
}

export async function exportCall(
  { facts, texts }: UnbuiltCall,
  redact: Redact | undefined,
): Promise<CallRecord> {
  const before = valuesText(texts);
  const record = { ...facts, ...(await buildValues(before)) };
  if (redact === undefined) return record;
  const text = await ask(record, redact);
  if (text === undefined) return { ...facts, withheld: true };
  return { ...facts, ...(await buildValues(text)), ...(text === before ? {} : { redacted: true as const }) };
}

/** The values that the hook gives, as JSON text; undefined if it gives none. */
async function ask(record: TrajectoryRecord, redact: Redact): Promise<string | undefined> {
  try {
    const given: unknown = redact(record);
    // A hook that is asynchronous all the same must not take the process down when it fails.
    if (given instanceof Promise) given.catch(() => undefined);
    if (!isRecord(given) || given instanceof Promise) return undefined;
    const { input, result, error } = given;
    return await printJson({ input, result, error });
  } catch {
    return undefined;
  }
}

async function buildValues(text: string): Promise<Values> {
  return (await buildJson(text)) as Values;
}
