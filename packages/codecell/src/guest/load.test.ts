/** Megabytes through the guest's classes: linear time and bounded memory, or a catchable error. */
import { expect, test } from "vitest";
import { openGuest } from "./inside/testing/open-guest.ts";

const CASES: readonly (readonly [string, string, unknown])[] = [
  [
    "1 MB of ASCII encoded and decoded",
    "(() => { const t = 'x'.repeat(1e6); return new TextDecoder().decode(new TextEncoder().encode(t)) === t })()",
    true,
  ],
  [
    "1 MB of mixed text encoded and decoded",
    "(() => { const t = 'aé€\u{1F600}'.repeat(2e5); return new TextDecoder().decode(new TextEncoder().encode(t)) === t })()",
    true,
  ],
  [
    "1 MB of malformed bytes decoded",
    "new TextDecoder().decode(new Uint8Array(1e6).fill(0xff)).length",
    1_000_000,
  ],
  [
    "20,000 params appended to a URL, read once",
    "(() => { const u = new URL('http://a/'); for (let i = 0; i < 20000; i++) u.searchParams.append('k' + i, 'v'); return u.href.length })()",
    168_899,
  ],
  [
    "20,000 params parsed, sorted and rendered",
    "(() => { const p = new URLSearchParams(Array.from({ length: 20000 }, (_, i) => 'k' + (i * 7919) % 20000 + '=%41').join('&')); p.sort(); return [p.size, String(p).length] })()",
    [20_000, 168_889],
  ],
  ["a URL with a 1 MB path of dots", "new URL('http://a/' + 'b/../'.repeat(2e5)).pathname", "/"],
  ["a URL with 1 MB of segments", "new URL('http://a/' + 'b/'.repeat(5e5)).pathname.length", 1_000_001],
  [
    "a URL with a 1 MB query of non-ASCII",
    "new URL('http://a/?' + 'é'.repeat(5e5)).search.length",
    3_000_001,
  ],
  [
    "a URL with 1 MB of spaces to encode",
    "new URL('http://a/' + ' x'.repeat(5e5)).pathname.length",
    2_000_001,
  ],
  ["a URL with 1 MB of tabs", "new URL('http://a/' + '\\t'.repeat(1e6) + 'x').pathname", "/x"],
  ["a URL with a 1 MB userinfo", "new URL('http://' + '@'.repeat(1e6) + 'h/').username.length", 2_999_997],
  ["a URL with a 1 MB host", "URL.canParse('http://' + 'a'.repeat(1e6) + '/')", true],
  ["a URL with a 1 MB numeric host", "URL.canParse('http://' + '1'.repeat(1e6) + '/')", false],
  ["a URL with a 100 KB Unicode host", "URL.canParse('http://' + 'é'.repeat(1e5) + '/')", false],
  ["a URL with a 1 MB port", "URL.canParse('http://a:' + '0'.repeat(1e6) + '80/')", true],
  ["a URL with 1 MB of brackets", "URL.canParse('http://' + '['.repeat(1e6) + '/')", false],
  [
    "20,000 headers appended",
    "(() => { const h = new Headers(); for (let i = 0; i < 20000; i++) h.append('n' + i % 500, 'v' + i); return [...h].length })()",
    500,
  ],
  [
    "a structuredClone of 20,000 objects",
    "structuredClone(Array.from({ length: 20000 }, (_, i) => ({ i, s: 'x' }))).length",
    20_000,
  ],
  [
    "console.log of a million items",
    "console.log(Array.from({ length: 1e6 }, (_, i) => i)) ?? 'done'",
    "done",
  ],
  [
    "console.log of 100,000 keys",
    "console.log(Object.fromEntries(Array.from({ length: 1e5 }, (_, i) => ['k' + i, i]))) ?? 'done'",
    "done",
  ],
];

test.each(CASES)("%s", { timeout: 20_000 }, async (_name, script, expected) => {
  using guest = await openGuest();
  expect(guest.evaluate(script)).toEqual(expected);
});

test.each([
  "new TextEncoder().encode('é'.repeat(2e7))",
  "structuredClone(Array.from({ length: 200 }, () => new Uint8Array(1e5)))",
  "new URL('http://a/?' + 'é'.repeat(1e7))",
  "(() => { const p = new URLSearchParams(); for (;;) p.append('k'.repeat(1e5), 'v') })()",
  "(() => { const h = new Headers(); for (let i = 0; ; i++) h.append('k' + i, 'v'.repeat(1e5) + i) })()",
])("%s stays inside the memory limit, and the guest goes on", { timeout: 20_000 }, async (script) => {
  using guest = await openGuest({ memoryBytes: 24 * 1024 * 1024 });
  expect(guest.evaluate(`void (${script})`)).toMatch(/out of memory|^null$/);
  expect(guest.evaluate("new URL('http://a/b').pathname")).toBe("/b");
});

test.each([
  "(function f() { try { new URL('http://a/'); } catch {} f() })()",
  "(function f() { console.log({ a: [1, { b: 2 }] }); f() })()",
  "(function f() { structuredClone({ a: [1] }); f() })()",
])("%s ends as a catchable RangeError", async (script) => {
  using guest = await openGuest();
  expect(guest.evaluate(script)).toMatch(/^RangeError/);
  expect(guest.evaluate("1 + 1")).toBe(2);
});
