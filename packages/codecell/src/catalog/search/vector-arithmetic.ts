/**
 * Vector arithmetic: the loops in which a search spends its time. Runs anywhere.
 *
 * - Vectors lie one after the other in one array; `offset` is where a vector begins. Callers make sure that both arrays
 *   are long enough. Elements are not checked here: a check for each would cost several times the arithmetic.
 */

/** Keeps four sums, because each addition to one sum would wait for the addition before it. */
export function dot(a: Float32Array, offset: number, b: Float32Array): number {
  const { length } = b;
  let first = 0;
  let second = 0;
  let third = 0;
  let fourth = 0;
  let at = 0;
  for (; at + 3 < length; at += 4) {
    first += a[offset + at]! * b[at]!;
    second += a[offset + at + 1]! * b[at + 1]!;
    third += a[offset + at + 2]! * b[at + 2]!;
    fourth += a[offset + at + 3]! * b[at + 3]!;
  }
  for (; at < length; at += 1) first += a[offset + at]! * b[at]!;
  return first + second + third + fourth;
}

/** Adds `weight` times the vector at `offset` to `sum`. Fastest for doubles, because processors add in doubles. */
export function addTo(
  sum: Float64Array | Float32Array,
  vectors: Float32Array,
  offset: number,
  weight: number,
): void {
  const { length } = sum;
  for (let at = 0; at < length; at += 1) sum[at]! += weight * vectors[offset + at]!;
}

/** Scales a vector to length one, unless it is zero. Returns the length that it had. */
export function normalise(vector: Float32Array): number {
  const length = Math.sqrt(dot(vector, 0, vector));
  if (length > 0) for (let at = 0; at < vector.length; at += 1) vector[at]! /= length;
  return length;
}
