/**
 * Punycode: RFC 3492, without the prefix. Long labels are refused, because encoding takes quadratic time. Runs inside
 * the guest.
 */
import {
  append,
  at,
  floor,
  fromCharCode,
  type List,
  list,
  stringCharCodeAt,
  stringCodePointAt,
  stringLastIndexOf,
  stringSlice,
} from "../primordials.ts";

const BASE = 36;
const T_MIN = 1;
const T_MAX = 26;
const MAX_POINTS = 1000;
const MAX_DELTA = 0x7fffffff;

function adapt(delta: number, count: number, isFirst: boolean): number {
  let rest = isFirst ? floor(delta / 700) : delta >> 1;
  rest += floor(rest / count);
  let bias = 0;
  for (; rest > ((BASE - T_MIN) * T_MAX) >> 1; bias += BASE) rest = floor(rest / (BASE - T_MIN));
  return bias + floor(((BASE - T_MIN + 1) * rest) / (rest + 38));
}

function threshold(k: number, bias: number): number {
  return k <= bias ? T_MIN : k >= bias + T_MAX ? T_MAX : k - bias;
}

function digit(value: number): string {
  return fromCharCode(value < 26 ? value + 97 : value + 22);
}

function digitValue(unit: number): number {
  if (unit >= 48 && unit <= 57) return unit - 22;
  const lower = unit | 32;
  return lower >= 97 && lower <= 122 ? lower - 97 : BASE;
}

function pointsOf(text: string): List<number> {
  const points = list<number>();
  for (let i = 0; i < text.length; i += 1) {
    const point = stringCodePointAt(text, i);
    append(points, point);
    if (point > 0xffff) i += 1;
  }
  return points;
}

export function encodePunycode(text: string): string | undefined {
  const points = text.length > 2 * MAX_POINTS ? list<number>() : pointsOf(text);
  if (points.length === 0 || points.length > MAX_POINTS) return undefined;
  let output = "";
  for (let i = 0; i < points.length; i += 1) if (at(points, i) < 0x80) output += fromCharCode(at(points, i));
  const basic = output.length;
  let handled = basic;
  if (basic > 0) output += "-";
  let n = 0x80;
  let delta = 0;
  let bias = 72;
  while (handled < points.length) {
    let next = 0x110000;
    for (let i = 0; i < points.length; i += 1) {
      if (at(points, i) >= n && at(points, i) < next) next = at(points, i);
    }
    delta += (next - n) * (handled + 1);
    if (delta > MAX_DELTA) return undefined;
    n = next;
    for (let i = 0; i < points.length; i += 1) {
      if (at(points, i) < n) delta += 1;
      if (at(points, i) !== n) continue;
      let q = delta;
      for (let k = BASE; ; k += BASE) {
        const t = threshold(k, bias);
        if (q < t) break;
        output += digit(t + ((q - t) % (BASE - t)));
        q = floor((q - t) / (BASE - t));
      }
      output += digit(q);
      bias = adapt(delta, handled + 1, handled === basic);
      delta = 0;
      handled += 1;
    }
    delta += 1;
    n += 1;
  }
  return output;
}

export function decodePunycode(text: string): string | undefined {
  if (text.length > 2 * MAX_POINTS) return undefined;
  const cut = stringLastIndexOf(text, "-");
  const points = pointsOf(cut > 0 ? stringSlice(text, 0, cut) : "");
  let index = cut > 0 ? cut + 1 : 0;
  let n = 0x80;
  let i = 0;
  let bias = 72;
  while (index < text.length) {
    const start = i;
    for (let weight = 1, k = BASE; ; k += BASE) {
      if (index >= text.length) return undefined;
      const value = digitValue(stringCharCodeAt(text, index));
      index += 1;
      if (value >= BASE) return undefined;
      i += value * weight;
      if (i > MAX_DELTA) return undefined;
      const t = threshold(k, bias);
      if (value < t) break;
      weight *= BASE - t;
      if (weight > MAX_DELTA) return undefined;
    }
    const count = points.length + 1;
    bias = adapt(i - start, count, start === 0);
    n += floor(i / count);
    i %= count;
    if (n > 0x10ffff || (n >= 0xd800 && n <= 0xdfff)) return undefined;
    for (let j = points.length; j > i; j -= 1) points[j] = at(points, j - 1);
    points[i] = n;
    i += 1;
  }
  let output = "";
  for (let j = 0; j < points.length; j += 1) {
    const point = at(points, j);
    output +=
      point < 0x10000
        ? fromCharCode(point)
        : fromCharCode(0xd800 + ((point - 0x10000) >> 10), 0xdc00 + ((point - 0x10000) & 0x3ff));
  }
  return output;
}
