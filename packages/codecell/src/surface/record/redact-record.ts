/**
 * Runs on the host. Asks the host's `redact` hook about a record before the record leaves.
 *
 * - The hook decides on values alone: ids, times and states stay as they were.
 * - If the hook throws or gives no record, the values are left out. No value leaves that the hook did not give back.
 */
import type { Json } from "../../contract/value.ts";
import { isRecord } from "../../value/shape.ts";
import type { CallRecord, EntryRecord, TrajectoryRecord } from "./trajectory-record.ts";

/**
 * Gets a copy of the record. Gives back a record, from which only `input`, `result` and `error` are taken. Must not be
 * asynchronous.
 */
export type Redact = (record: TrajectoryRecord) => TrajectoryRecord | undefined;

export function redactEntry(record: EntryRecord, redact: Redact): EntryRecord {
  const { input, result, ...rest } = record;
  const given = ask(record, redact);
  if (given === undefined) return { ...rest, withheld: true };
  const values = {
    ...(typeof given["input"] === "string" ? { input: given["input"] } : {}),
    ...(typeof given["result"] === "string" ? { result: given["result"] } : {}),
  };
  const isSame = values.input === input && values.result === result;
  return { ...rest, ...values, ...(isSame ? {} : { redacted: true as const }) };
}

export function redactCall(record: CallRecord, redact: Redact): CallRecord {
  const { input, result, error, ...rest } = record;
  const before = JSON.stringify([input, result, error]);
  const given = ask(record, redact);
  if (given === undefined) return { ...rest, withheld: true };
  const values = {
    ...(given["input"] === undefined ? {} : { input: given["input"] }),
    ...(given["result"] === undefined ? {} : { result: given["result"] }),
    ...(given["error"] === undefined ? {} : { error: given["error"] }),
  };
  const isSame = JSON.stringify([values.input, values.result, values.error]) === before;
  return { ...rest, ...values, ...(isSame ? {} : { redacted: true as const }) };
}

/** What the hook gives, as plain JSON. */
function ask(
  record: TrajectoryRecord,
  redact: Redact,
): Readonly<Record<string, Json | undefined>> | undefined {
  try {
    const given: unknown = redact(structuredClone(record));
    // A hook that is asynchronous all the same must not take the process down when it fails.
    if (given instanceof Promise) given.catch(() => undefined);
    if (!isRecord(given) || given instanceof Promise) return undefined;
    const { input, result, error } = given;
    return JSON.parse(JSON.stringify({ input, result, error })) as Record<string, Json>;
  } catch {
    return undefined;
  }
}
