/** Events and abort signals compared with those of Node.js. */
import { runInThisContext } from "node:vm";
import { expect, test } from "vitest";
import { openGuest } from "./inside/testing/open-guest.ts";

test.each([
  `(() => { const c = new AbortController(), seen = [];
    c.signal.addEventListener('abort', (e) => seen.push(e.type, e.target === c.signal, e instanceof Event));
    c.signal.onabort = () => seen.push('on');
    c.abort(); c.abort('again');
    return [seen, c.signal.aborted, c.signal.reason.name, c.signal.reason.code, String(c.signal)] })()`,
  `(() => { const s = AbortSignal.abort('why'); try { s.throwIfAborted() } catch (e) { return [e, s.reason] } })()`,
  `(() => { const a = new AbortController(), b = new AbortController(), any = AbortSignal.any([a.signal, b.signal]), seen = [];
    const nested = AbortSignal.any([any]);
    a.signal.addEventListener('abort', () => seen.push('a', any.aborted, nested.aborted));
    any.addEventListener('abort', () => seen.push('any')); nested.addEventListener('abort', () => seen.push('nested'));
    b.abort(5); a.abort(6);
    return [seen, any.reason, nested.reason, AbortSignal.any([a.signal, b.signal]).reason, AbortSignal.any([]).aborted] })()`,
  `(() => { try { new AbortSignal() } catch (e) { return e.name } })()`,
  `(() => { try { AbortSignal.any([1]) } catch (e) { return e.name } })()`,
  `(() => { try { AbortSignal.prototype.aborted } catch (e) { return e.name } })()`,
  `(() => { const t = new EventTarget(), seen = [], f = (e) => seen.push('f');
    t.addEventListener('x', f); t.addEventListener('x', f); t.addEventListener('x', f, true);
    t.addEventListener('x', { handleEvent() { seen.push('object', this !== undefined) } });
    t.addEventListener('x', () => seen.push('once'), { once: true });
    t.dispatchEvent(new Event('x')); t.removeEventListener('x', f); t.dispatchEvent(new Event('x'));
    return seen.filter((s) => s !== 'f').concat(seen.filter((s) => s === 'f').length) })()`,
  `(() => { const t = new EventTarget(), c = new AbortController(), seen = [];
    t.addEventListener('x', () => seen.push(1), { signal: c.signal }); t.dispatchEvent(new Event('x')); c.abort(); t.dispatchEvent(new Event('x'));
    t.addEventListener('x', () => seen.push(2), { signal: c.signal }); t.dispatchEvent(new Event('x'));
    return seen })()`,
  `(() => { const t = new EventTarget(), seen = [];
    t.addEventListener('x', (e) => { seen.push(1); e.stopImmediatePropagation() }); t.addEventListener('x', () => seen.push(2));
    const e = new Event('x', { cancelable: true }); t.addEventListener('x', () => {});
    return [t.dispatchEvent(e), seen, e.defaultPrevented] })()`,
  `(() => { const t = new EventTarget(); t.addEventListener('x', (e) => e.preventDefault());
    const yes = new Event('x', { cancelable: true }), no = new Event('x');
    return [t.dispatchEvent(yes), t.dispatchEvent(no), yes.defaultPrevented, yes.currentTarget, yes.target === t, yes.eventPhase, yes.bubbles, yes.type] })()`,
  `(() => { class Bus extends EventTarget { ping() { return this.dispatchEvent(new Event('ping')) } }
    const b = new Bus(), seen = []; b.addEventListener('ping', (e) => seen.push(e.target === b)); b.ping(); return [seen, b instanceof EventTarget] })()`,
  `[Event.length, AbortSignal.abort.length, AbortController.name, Object.prototype.toString.call(new AbortController())]`,
])("%s", async (expression) => {
  using guest = await openGuest();
  expect(guest.evaluate(expression)).toEqual(JSON.parse(JSON.stringify(runInThisContext(expression))));
});

test("AbortSignal.timeout aborts with TimeoutError when the core's timer fires", async () => {
  using guest = await openGuest();
  guest.evaluate("void (globalThis.signal = AbortSignal.timeout(50))");
  expect(guest.evaluate("signal.aborted")).toBe(false);
  guest.fireTimers();
  expect(guest.evaluate("[signal.aborted, signal.reason.name, signal.reason.code]")).toEqual([
    true,
    "TimeoutError",
    23,
  ]);
  expect(guest.evaluate("AbortSignal.timeout(-1)")).toMatch(/^TypeError/);
});

test("a listener that throws does not stop the others", async () => {
  using guest = await openGuest();
  expect(
    guest.evaluate(
      "(() => { const t = new EventTarget(), seen = []; t.addEventListener('x', () => { throw new Error('mine') }); t.addEventListener('x', () => seen.push(1)); return [t.dispatchEvent(new Event('x')), seen] })()",
    ),
  ).toEqual([true, [1]]);
});
