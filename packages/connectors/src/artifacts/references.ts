/**
 * Runs on the host. Puts references in the place of the bytes in what a backend gave, so that it is JSON.
 *
 * - Data without bytes is given back as it is, and data with bytes is copied. However deep it is, no stack overflows.
 * - The bytes of one answer are kept together, or it is refused: no reference leads nowhere from the beginning.
 */
import { Bytes } from "../contract/connector.ts";
import type { Artifacts } from "./artifacts.ts";

/** `refuse` throws an error that ends with the problem. */
export async function withReferences(
  data: unknown,
  artifacts: Artifacts,
  refuse: (problem: string) => never,
): Promise<unknown> {
  const found = bytesIn(data);
  if (found.size === 0) return data;
  let sum = 0;
  for (const { bytes } of found) sum += bytes.byteLength;
  if (sum > artifacts.maxBytes || found.size > artifacts.maxCount) {
    refuse(
      `its ${found.size} files have ${sum} bytes, ${artifacts.maxCount} files with ${artifacts.maxBytes} bytes can be kept`,
    );
  }
  const references = new Map<object, unknown>();
  for (const bytes of found) references.set(bytes, await artifacts.keep(bytes));
  return copyWith(data, references);
}

function bytesIn(data: unknown): ReadonlySet<Bytes> {
  const found = new Set<Bytes>();
  const seen = new Set<unknown>();
  const left = [data];
  for (let value = left.pop(); value !== undefined || left.length > 0; value = left.pop()) {
    if (typeof value !== "object" || value === null || seen.has(value)) continue;
    seen.add(value);
    if (value instanceof Bytes) found.add(value);
    else for (const inner of Object.values(value)) left.push(inner);
  }
  return found;
}

/** `copies` has what stands for an object; all other objects are copied. */
function copyWith(data: unknown, copies: Map<object, unknown>): unknown {
  const left: (readonly [from: object, to: object])[] = [];
  const copyOf = (value: unknown): unknown => {
    if (typeof value !== "object" || value === null) return value;
    let copy = copies.get(value);
    if (copy === undefined) {
      const fresh = Array.isArray(value) ? [] : {};
      copies.set(value, fresh);
      left.push([value, fresh]);
      copy = fresh;
    }
    return copy;
  };
  const whole = copyOf(data);
  for (let pair = left.pop(); pair !== undefined; pair = left.pop()) {
    const [from, to] = pair;
    for (const [key, value] of Object.entries(from)) {
      // Not by assignment: a key may be `__proto__`.
      Object.defineProperty(to, key, {
        value: copyOf(value),
        configurable: true,
        enumerable: true,
        writable: true,
      });
    }
  }
  return whole;
}
