/**
 * Runs on the host. Puts references in the place of the bytes in what a backend gave, so that it is JSON.
 *
 * - Data without bytes is given back as it is, and data with bytes is copied. However deep it is, no stack overflows;
 *   however large it is, the event loop gets its turns.
 * - The bytes of one answer are kept together, or it is refused: no reference leads nowhere from the beginning.
 */
import { setImmediate } from "node:timers/promises";
import { Bytes } from "../contract/connector.ts";
import type { Artifacts } from "./artifacts.ts";

/** `refuse` throws an error that ends with the problem. */
export async function withReferences(
  data: unknown,
  artifacts: Artifacts,
  refuse: (problem: string) => never,
): Promise<unknown> {
  const found = await inTurns(findBytes(data));
  if (found.size === 0) return data;
  let sum = 0;
  for (const { bytes } of found) sum += bytes.byteLength;
  if (sum > artifacts.maxBytes || found.size > artifacts.maxCount) {
    refuse(
      `its ${found.size} files have ${sum} bytes, ${artifacts.maxCount} files with ${artifacts.maxBytes} bytes can be kept`,
    );
  }
  const references = new Map<object, object>();
  for (const bytes of found) references.set(bytes, await artifacts.keep(bytes));
  return inTurns(copyWith(data, references));
}

/** Work that gives up the thread at each step. */
type Steps<T> = Generator<undefined, T, undefined>;

/** About two milliseconds. */
const VALUES_PER_STEP = 20_000;

async function inTurns<T>(steps: Steps<T>): Promise<T> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    await setImmediate();
  }
}

function* findBytes(data: unknown): Steps<ReadonlySet<Bytes>> {
  const found = new Set<Bytes>();
  const seen = new Set<object>();
  const open = [{ values: [data] as readonly unknown[], at: 0 }];
  for (let top = open.at(-1), steps = 1; top !== undefined; top = open.at(-1), steps++) {
    if (steps % VALUES_PER_STEP === 0) yield;
    if (top.at === top.values.length) {
      open.pop();
      continue;
    }
    const value = top.values[top.at++];
    if (typeof value !== "object" || value === null || seen.has(value)) continue;
    seen.add(value);
    if (value instanceof Bytes) found.add(value);
    else open.push({ values: Array.isArray(value) ? value : Object.values(value), at: 0 });
  }
  return found;
}

/** `copies` has what stands for an object; all other objects are copied. */
function* copyWith(data: unknown, copies: Map<object, object>): Steps<unknown> {
  const left: (readonly [from: object, to: object])[] = [];
  const copyOf = (value: unknown): unknown => {
    if (typeof value !== "object" || value === null) return value;
    let copy = copies.get(value);
    if (copy === undefined) {
      copy = Array.isArray(value) ? [] : {};
      copies.set(value, copy);
      left.push([value, copy]);
    }
    return copy;
  };
  const whole = copyOf(data);
  let steps = 1;
  for (let pair = left.pop(); pair !== undefined; pair = left.pop()) {
    const [from, to] = pair;
    for (const key of Array.isArray(from) ? from.keys() : Object.keys(from)) {
      if (steps++ % VALUES_PER_STEP === 0) yield;
      const value = copyOf((from as Readonly<Record<string | number, unknown>>)[key]);
      // Not by assignment: a key may be `__proto__`.
      Object.defineProperty(to, key, { value, configurable: true, enumerable: true, writable: true });
    }
  }
  return whole;
}
