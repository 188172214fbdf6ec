/** Headers compared with those of Node.js. */
import { runInThisContext } from "node:vm";
import { expect, test } from "vitest";
import { openGuest } from "./inside/testing/open-guest.ts";

test.each([
  "[...new Headers({ 'Content-Type': ' text/plain\\t', 'X-B': '2', 'x-a': '1' })]",
  "[...new Headers([['b', '1'], ['A', '2'], ['B', '3']])]",
  "[...new Headers(new Map([['q', '7']]))]",
  "[...new Headers(new Headers([['set-cookie', 'a'], ['set-cookie', 'b'], ['x', 'y']]))]",
  "(() => { const h = new Headers(); h.append('Set-Cookie', 'a=1'); h.append('set-cookie', 'b=2'); return [h.get('set-cookie'), h.getSetCookie(), [...h.keys()]] })()",
  "(() => { const h = new Headers({ a: '1' }); h.append('A', '2'); h.set('b', '3'); h.delete('none'); return [h.get('a'), h.has('B'), h.get('none'), [...h.values()]] })()",
  "(() => { const h = new Headers({ a: '1', b: '2' }); const seen = []; h.forEach(function (v, k, o) { seen.push(k, v, o === h, this.x) }, { x: 9 }); return seen })()",
  "(() => { const h = new Headers({ a: '1', c: '3' }); const seen = []; for (const [k] of h) { seen.push(k); if (k === 'a') h.append('b', '2') } return seen })()",
  "(() => { const h = new Headers({ a: '1' }); h.set('A', ''); return [...h.entries()] })()",
  "[Object.prototype.toString.call(new Headers()), Object.prototype.toString.call(new Headers().entries()), Headers.name, Headers.length]",
  "['a b', '', 'é', 'a:b', 'a\\n'].map((name) => { try { new Headers().append(name, 'x'); return 'ok' } catch (e) { return e.name } })",
  "['a\\nb', 'a\\0', '\\u0100', '\\n ok \\r', 'é'].map((value) => { try { const h = new Headers(); h.append('x', value); return h.get('x') } catch (e) { return e.name } })",
  "[null, 5, 'x', [['a']], [['a', 'b', 'c']], [1], { a: 1 }].map((init) => { try { return [...new Headers(init)] } catch (e) { return e.name } })",
  "(() => { try { Headers() } catch (e) { return e.name } })()",
  "(() => { try { Headers.prototype.get.call({}, 'a') } catch (e) { return e.name } })()",
])("%s", async (expression) => {
  using guest = await openGuest();
  expect(guest.evaluate(expression)).toEqual(JSON.parse(JSON.stringify(runInThisContext(expression))));
});
