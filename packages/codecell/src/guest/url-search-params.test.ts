/** URLSearchParams compared with that of Node.js. */
import { array, assert, constantFrom, property } from "fast-check";
import { runInThisContext } from "node:vm";
import { expect, test } from "vitest";
import { openGuest } from "./inside/testing/open-guest.ts";
import { isReference } from "./inside/testing/reference.ts";

test
  .skipIf(!isReference)
  .each([
    "['', '?', 'a', 'a=', '=a', '=', '&&', 'a=1&a=2', '?a=b&c', 'a+b=c%20d', '%zz=%', '%ff=%E2%98%83', 'a=b=c', 'é=ü', '??x=1'].map((text) => [[...new URLSearchParams(text)], String(new URLSearchParams(text))])",
    "[[['a', 'b'], ['c', 'd']], { a: 1, b: null }, new Map([['x', 'y']]), new URLSearchParams('q=1'), 5, null, undefined, new Set([['s', 't']])].map((init) => String(new URLSearchParams(init)))",
    "[[['a']], [1], [['a', 'b', 'c']]].map((init) => { try { new URLSearchParams(init) } catch (e) { return e.name } })",
    "(() => { const p = new URLSearchParams('a=1&b=2&a=3'); return [p.get('a'), p.getAll('a'), p.get('z'), p.has('a', '3'), p.has('a', '4'), p.size] })()",
    "(() => { const p = new URLSearchParams('a=1&b=2&a=3&a=1'); p.delete('a', '1'); p.set('b', 'x'); p.set('new', 'y'); p.append('b', 'z'); return String(p) })()",
    "(() => { const p = new URLSearchParams('a=1&a=2&b=3&a=4'); p.set('a', '9'); return String(p) })()",
    "(() => { const p = new URLSearchParams('z=1&a=2&z=0&\\u{1F600}=x&\\uFFFD=y&b=3'); p.sort(); return String(p) })()",
    "(() => { const p = new URLSearchParams('a=1&b=2&c=3'); const seen = []; for (const [k] of p) { seen.push(k); p.delete(k) } return [seen, String(p)] })()",
    "(() => { const p = new URLSearchParams('a=1'); const seen = []; p.forEach((v, k, o) => seen.push(v, k, o === p)); return [seen, [...p.keys()], [...p.values()], Object.prototype.toString.call(p.entries())] })()",
    "String(new URLSearchParams({ \"*-._~!'()\": ' +&=?#%/é\\ud800\\n' }))",
    "(() => { const u = new URL('http://a/?x=1#f'); u.searchParams.append('y', '2 3'); const one = u.href; u.search = '?z=9'; const two = u.searchParams.get('z'); u.searchParams.delete('z'); return [one, two, u.href, u.search] })()",
    "(() => { const u = new URL('http://a/?x=%41~'); const before = u.href; u.searchParams.sort(); const p = u.searchParams; u.href = 'http://b/?q=1'; return [before, p === u.searchParams, p.get('q'), u.href] })()",
    "(() => { const u = new URL('data:x y #f'); u.hash = ''; u.searchParams.append('a', 'b'); return u.href })()",
    "[new URL('http://a/b?c').toJSON(), JSON.stringify({ u: new URL('http://a') }), String(new URL('HTTP://A')), URL.canParse('x'), URL.canParse('x', 'http://a'), URL.parse('x'), URL.name, URL.length, URLSearchParams.length, Object.prototype.toString.call(new URL('http://a'))]",
    "['', 'x', '//'].map((text) => { try { new URL(text) } catch (e) { return e.name } })",
  ])("%s", async (expression) => {
  using guest = await openGuest();
  expect(guest.evaluate(expression)).toEqual(JSON.parse(JSON.stringify(runInThisContext(expression))));
});

test("a cut sequence does not swallow the next character, unlike in Node.js", async () => {
  using guest = await openGuest();
  expect(guest.evaluate("[...new URLSearchParams('%E2%98é=%ffü')]")).toEqual([["\uFFFDé", "\uFFFDü"]]);
});

test("random queries parse and render like Node's", async () => {
  using guest = await openGuest();
  const piece = constantFrom(
    "a",
    "b",
    "=",
    "&",
    "+",
    "%",
    "%2",
    "%41",
    "%E2%98",
    "%E2%98%83",
    "%ff",
    " ",
    "?",
    "#",
    "~",
    "'",
    "\0",
  );
  assert(
    property(array(array(piece, { maxLength: 10 }), { minLength: 50, maxLength: 50 }), (soups) => {
      const texts = soups.map((parts) => parts.join(""));
      expect(
        guest.evaluate(
          `${JSON.stringify(texts)}.map((text) => [[...new URLSearchParams(text)], String(new URLSearchParams(text))])`,
        ),
      ).toEqual(texts.map((text) => [[...new URLSearchParams(text)], String(new URLSearchParams(text))]));
    }),
    { numRuns: 40, seed: 13 },
  );
});
