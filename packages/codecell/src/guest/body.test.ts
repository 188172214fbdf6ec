/** Blob, File, FormData, Request and Response compared with those of Node.js. */
import { runInThisContext } from "node:vm";
import {
  array,
  assert,
  asyncProperty,
  constantFrom,
  integer,
  option,
  record,
  string,
  tuple,
  uint8Array,
} from "fast-check";
import { describe, expect, test } from "vitest";
import { openGuest } from "./inside/testing/open-guest.ts";

const CASES: readonly string[] = [
  "[new Blob().size, new Blob([]).type, Blob.name, Blob.length, String(new Blob()), File.name, File.length]",
  "new Blob(['a', new Blob(['b']), new Uint8Array([99]), new Uint8Array([1, 100, 2]).subarray(1, 2), new Uint16Array([0x6665]).buffer, 5, null]).text()",
  "new Blob(new Set(['x', 'y'])).text()",
  "new Blob(['\\ud800']).bytes().then((bytes) => [...bytes])",
  "new Blob(['\\ufeffx']).text()",
  "[new Blob([], { type: 'TEXT/Html;Charset=X' }).type, new Blob([], { type: 'a\\u0100' }).type, new Blob([], { type: null }).type]",
  "new Blob(['a\\r\\nb\\rc\\n'], { endings: 'native' }).text()",
  "[() => new Blob(5), () => new Blob([], 5), () => new Blob([], { endings: 'x' }), () => Blob(), () => new Blob({}), () => Blob.prototype.size, () => new Blob([Symbol()])].map((make) => { try { make(); return 'made' } catch (error) { return error.name } })",
  "[[0, 2], [-2], [1, -1], [3, 1], [NaN, 2], [0, 99], [-99], ['1', '3'], [1.5, 3.5], [undefined, undefined], [null, 2]].map(([a, b]) => new Blob(['hello']).slice(a, b).size)",
  "new Blob(['hello'], { type: 'a/b' }).slice(1, 3, 'C/D').text().then((text) => text)",
  "[new Blob(['x'], { type: 'a/b' }).slice().type, new Blob(['x']).slice(0, 1, 'C/D').type]",
  "new Blob(['abc']).arrayBuffer().then((buffer) => [buffer instanceof ArrayBuffer, buffer.byteLength])",
  "(() => { const bytes = new Uint8Array([97, 98]); const blob = new Blob([bytes]); bytes[0] = 120; return blob.text() })()",
  "(async () => { const blob = new Blob(['ab']); (await blob.bytes())[0] = 120; return blob.text() })()",
  "(async () => { const parts = []; for await (const chunk of new Blob(['ab', 'c']).stream()) parts.push(...chunk); return parts })()",
  "(() => { const file = new File(['x', 'y'], 'n.txt', { type: 'T/X', lastModified: 5 }); return [file.name, file.size, file.type, file.lastModified, file instanceof Blob, String(file)] })()",
  "[() => new File(['x']), () => new File(), () => new File('x', 'y'), () => File(['x'], 'y')].map((make) => { try { make(); return 'made' } catch (error) { return error.name } })",
  "[new File([], 'a/b').name, new File([], 5).name, new File([], 'x', { lastModified: 'y' }).lastModified, new File([], '\\ud800').name]",
  "(() => { const form = new FormData(); form.append('a', '1'); form.append('b', 2); form.append('a', '\\ud800'); form.set('b', 'x'); form.set('c', null); return [[...form], form.get('a'), form.getAll('a'), form.get('none'), form.has('b'), String(form)] })()",
  "(() => { const form = new FormData(); for (const name of ['a', 'b', 'a', 'c', 'a']) form.append(name, name); form.set('a', 'z'); form.delete('b'); return [[...form.keys()], [...form.values()], [...form.entries()]] })()",
  "(() => { const form = new FormData(); form.append('f', new Blob(['x'], { type: 'a/b' })); form.append('g', new Blob(['x']), 'n'); form.append('h', new File(['y'], 'o', { lastModified: 3 }), 'p'); const file = new File(['z'], 'q'); form.append('i', file); return [...form].map(([key, { name, type, size }]) => [key, name, type, size]).concat([[form.get('i') === file, form.get('h').lastModified]]) })()",
  "[() => new FormData(5), () => new FormData().append('a'), () => new FormData().append('a', 'b', 'c'), () => FormData(), () => new FormData().get(), () => new FormData().forEach()].map((make) => { try { make(); return 'made' } catch (error) { return error.name } })",
  "(() => { const form = new FormData(); form.append('a', '1'); form.append('b', '2'); const seen = []; form.forEach(function (value, key, whole) { seen.push(value, key, whole === form, this.x) }, { x: 9 }); return seen })()",
  "(() => { const made = new Response('x'); return [made.status, made.ok, made.statusText, made.type, made.url, made.redirected, made.bodyUsed, made.headers.get('content-type'), String(made), Response.length, made.body instanceof ReadableStream] })()",
  "(() => { const made = new Response(); return [made.body, made.headers.get('content-type'), made.bodyUsed] })()",
  "(() => { const made = new Response(null, { status: 404, statusText: 'No', headers: { a: 'b' } }); return [made.status, made.ok, made.statusText, [...made.headers]] })()",
  "[() => new Response('', { status: 99 }), () => new Response('', { status: 600 }), () => new Response('x', { status: 204 }), () => new Response('', { statusText: 'a\\n' }), () => new Response('', 5), () => Response('x'), () => new Response('', { headers: 5 }), () => Response.json(), () => Response.json(Symbol()), () => Response.redirect('x', 200), () => Response.redirect('http://a', 200)].map((make) => { try { make(); return 'made' } catch (error) { return error.name } })",
  "[[200], [404], [503], [599]].map(([status]) => new Response(null, { status }).ok)",
  "(() => { const made = Response.error(); return [made.type, made.status, made.ok, made.body] })()",
  "(() => { const made = Response.redirect('http://a/b c', 301); return [made.status, made.headers.get('location')] })()",
  "Response.json({ a: [1] }, { status: 201, headers: { x: 'y' } }).json().then((value) => value)",
  "[Response.json(1).headers.get('content-type'), Response.json(1, { headers: { 'content-type': 'x/y' } }).headers.get('content-type')]",
  "new Response('{\"a\":1}').json()",
  "new Response('\\ufeff{}').json()",
  "new Response('nonsense').json().catch((error) => error.name)",
  "new Response('é').bytes().then((bytes) => [...bytes])",
  "new Response(new Uint8Array([0xef, 0xbb, 0xbf, 0xff])).text()",
  "new Response('x').arrayBuffer().then((buffer) => buffer.byteLength)",
  "new Response('x', { headers: { 'content-type': 'Text/X; a=B' } }).blob().then((blob) => [blob.size, blob.type])",
  "new Response(new Blob(['x'], { type: 'a/b' })).headers.get('content-type')",
  "new Response(new URLSearchParams('a=b c')).text()",
  "new Response(new URLSearchParams('a=b')).headers.get('content-type')",
  "new Response(new URLSearchParams('a=b+c&d=%C3%A9&a=')).formData().then((form) => [...form])",
  "new Response('x').formData().catch((error) => error.name)",
  "new Response('a=1', { headers: { 'content-type': 'application/x-www-form-urlencoded' } }).formData().then((form) => [...form])",
  "new Response('x', { headers: { 'content-type': 'multipart/form-data' } }).formData().catch((error) => error.name)",
  "new Response('x', { headers: { 'content-type': 'multipart/form-data; boundary=----------------------------x' } }).formData().catch((error) => error.name)",
  "(async () => { const made = new Response('x'); const first = await made.text(); const second = await made.text().catch((error) => error.name); let third; try { made.clone() } catch (error) { third = error.name } return [first, made.bodyUsed, second, third] })()",
  "(async () => { const made = new Response('x'); const copy = made.clone(); return [await made.text(), await copy.text(), copy === made, copy.headers === made.headers] })()",
  "(async () => { const made = new Response('x'); const { body } = made; const same = body === made.body; const text = await made.text(); return [same, text, body.locked, made.bodyUsed] })()",
  "(async () => { const made = new Response('x'); const reader = made.body.getReader(); const failed = await made.text().catch((error) => error.name); return [failed, made.bodyUsed, new TextDecoder().decode((await reader.read()).value), made.bodyUsed] })()",
  "(async () => { const made = new Response('x'); await made.text(); return [made.body.locked, made.bodyUsed, made.body === made.body] })()",
  "(async () => { const stream = new ReadableStream({ start(c) { c.enqueue(new Uint8Array([104])); c.enqueue(new Uint8Array([105])); c.close() } }); const made = new Response(stream); return [made.body === stream, await made.text(), made.bodyUsed] })()",
  "(async () => { const stream = new ReadableStream({ start(c) { c.enqueue('text'); c.close() } }); return new Response(stream).text().catch((error) => error.name) })()",
  "(async () => { const stream = new ReadableStream({ start(c) { c.error(new RangeError('mine')) } }); return new Response(stream).text().catch((error) => error.message) })()",
  "(async () => { const stream = new ReadableStream(); stream.getReader(); try { new Response(stream) } catch (error) { return error.name } })()",
  "(async () => { const stream = new ReadableStream({ start(c) { c.enqueue(new Uint8Array([97])); c.close() } }); const made = new Response(stream); const copy = made.clone(); return [await made.text(), await copy.text()] })()",
  "[() => Response.prototype.status, () => Response.prototype.text.call({}).catch((error) => error.name), () => Response.prototype.body].map((read) => { try { return typeof read() } catch (error) { return error.name } })",
  "(() => { const made = new Request('http://a/b?c#d'); return [made.url, made.method, made.body, made.redirect, made.mode, made.credentials, made.cache, made.referrer, made.integrity, made.keepalive, made.signal.aborted, made.destination, made.duplex, String(made), Request.length] })()",
  "(() => { const made = new Request(new URL('http://a/b'), { method: 'post', body: 'x', headers: { a: 'b' }, redirect: 'error', mode: 'no-cors', credentials: 'include', cache: 'no-store', keepalive: true }); return [made.url, made.method, made.redirect, made.mode, made.credentials, made.cache, made.keepalive] })()",
  "['get', 'patch', 'Delete', 'PUT', 'options', 'foo'].map((method) => new Request('http://a', { method }).method)",
  "[() => new Request('/x'), () => new Request('http://u:p@a'), () => new Request('http://a', { method: 'CONNECT' }), () => new Request('http://a', { method: 'a b' }), () => new Request('http://a', { body: 'x' }), () => new Request('http://a', { method: 'HEAD', body: 'x' }), () => new Request('http://a', { signal: 5 }), () => new Request('http://a', { redirect: 'x' }), () => new Request('http://a', { method: 'POST', body: new ReadableStream() }), () => Request('http://a'), () => new Request(), () => new Request('http://a', 5)].map((make) => { try { make(); return 'made' } catch (error) { return error.name } })",
  "(async () => { const one = new Request('http://a', { method: 'POST', body: 'x', headers: { a: 'b' } }); const two = new Request(one, { headers: { c: 'd' } }); return [one.bodyUsed, await two.text(), [...two.headers.keys()], two.method] })()",
  "(async () => { const one = new Request('http://a', { method: 'POST', body: 'x' }); const two = one.clone(); return [await one.text(), await two.text(), two.url, two.headers.get('content-type')] })()",
  "(async () => { const one = new Request('http://a', { method: 'POST', body: 'x' }); await one.text(); try { new Request(one) } catch (error) { return error.name } })()",
  "(() => { const abort = new AbortController(); const one = new Request('http://a', { signal: abort.signal }); const two = new Request(one); abort.abort('why'); return [one.signal.reason, two.signal.reason, one.signal === abort.signal] })()",
  "(() => { const form = new FormData(); form.append('a', 'b'); const type = new Request('http://a', { method: 'POST', body: form }).headers.get('content-type'); return type.slice(0, 31) })()",
  "(async () => { const blob = new Blob(['ab'], { type: 'x/y' }); const file = new File(['c'], 'n', { lastModified: 7 }); const copy = structuredClone({ blob, again: blob, file }); return [copy.blob !== blob, copy.blob === copy.again, copy.blob.type, await copy.blob.text(), copy.file instanceof File, copy.file.name, copy.file.lastModified] })()",
  "[() => new FormData(), () => new Response(), () => new Request('http://a')].map((make) => { try { structuredClone(make()); return 'cloned' } catch (error) { return [error.name, error.code] } })",
];

const IS_OLD = Number.parseInt(process.versions.node, 10) < 24;

describe("a program's blobs, forms, requests and responses [handles:103]", () => {
  // An older Node.js differs from the standard in some of these.
  test.skipIf(IS_OLD).each(CASES)("%s", async (expression) => {
    using guest = await openGuest({ withWeb: true });
    const expected = (await runInThisContext(`(async () => (${expression}))()`)) as unknown;
    expect(guest.settle(expression)).toEqual(JSON.parse(JSON.stringify(expected)));
  });

  test("slices of a blob equal those of Node.js", async () => {
    using guest = await openGuest({ withWeb: true });
    const index = option(integer({ min: -12, max: 12 }), { nil: undefined });
    await assert(
      asyncProperty(uint8Array({ maxLength: 10 }), index, index, async (bytes, start, end) => {
        const expected = [...(await new Blob([bytes]).slice(start, end).bytes())];
        const text = `new Blob([new Uint8Array([${[...bytes].join()}])]).slice(${start}, ${end}).bytes().then((bytes) => [...bytes])`;
        expect(guest.settle(text)).toEqual(expected);
      }),
      { numRuns: 60 },
    );
  });

  const name = string({ unit: "binary", maxLength: 8 });
  // Node.js reads a file without a name as a text; the standard does not.
  const filename = string({ unit: "binary", minLength: 1, maxLength: 8 });
  const entry = record({
    name,
    text: string({ unit: "binary", maxLength: 12 }),
    file: option(tuple(uint8Array({ maxLength: 12 }), filename, constantFrom("", "a/b", "text/plain")), {
      nil: undefined,
    }),
  });

  type Entry = { name: string; text: string; file: [Uint8Array, string, string] | undefined };

  function build(entries: readonly Entry[]): string {
    const lines = entries.map(({ name: key, text, file }) =>
      file === undefined
        ? `form.append(${JSON.stringify(key)}, ${JSON.stringify(text)});`
        : `form.append(${JSON.stringify(key)}, new File([new Uint8Array([${[...file[0]].join()}])], ${JSON.stringify(file[1])}, { type: ${JSON.stringify(file[2])} }));`,
    );
    return `const form = new FormData(); ${lines.join(" ")}`;
  }

  const SHOWN =
    "Promise.all([...read].map(async ([key, value]) => typeof value === 'string' ? [key, value] : [key, value.name, value.type, [...new Uint8Array(await value.arrayBuffer())]]))";

  test("a form that a program writes is what Node.js reads, and the other way round", async () => {
    using guest = await openGuest({ withWeb: true });
    await assert(
      asyncProperty(array(entry, { maxLength: 4 }), async (entries) => {
        const made = build(entries);
        const [type, bytes] = guest.settle(
          `(async () => { ${made} const made = new Response(form); return [made.headers.get("content-type"), [...await made.bytes()]] })()`,
        ) as [string, number[]];
        const read = await new Response(Uint8Array.from(bytes), {
          headers: { "content-type": type },
        }).formData();
        const seen = (await runInThisContext(`(async (read) => ${SHOWN})`)(read)) as unknown;
        const theirs = new Response(runInThisContext(`(() => { ${made} return form })()`) as FormData);
        const sent = `new Response(new Uint8Array([${[...(await theirs.clone().bytes())].join()}]), { headers: { "content-type": ${JSON.stringify(theirs.headers.get("content-type"))} } })`;
        const back = guest.settle(
          `(async () => { const read = await ${sent}.formData(); return ${SHOWN} })()`,
        );
        const own = (await runInThisContext(`(async (read) => ${SHOWN})`)(
          await theirs.formData(),
        )) as unknown;
        expect(seen).toEqual(own);
        expect(back).toEqual(own);
      }),
      { numRuns: 40 },
    );
  });

  test("a form in a URL's way of writing is read as Node.js reads it", async () => {
    using guest = await openGuest({ withWeb: true });
    await assert(
      asyncProperty(string({ unit: "binary", maxLength: 20 }), async (text) => {
        const headers = { "content-type": "application/x-www-form-urlencoded" };
        const expected = [...(await new Response(text, { headers }).formData())];
        const script = `new Response(${JSON.stringify(text)}, { headers: ${JSON.stringify(headers)} }).formData().then((form) => [...form])`;
        expect(guest.settle(script)).toEqual(expected);
      }),
      { numRuns: 60 },
    );
  });
});

describe("multipart bodies that others write", () => {
  const parse = (lines: readonly string[], boundary = "xy"): string =>
    `new Response(${JSON.stringify(lines.join("\r\n"))}, { headers: { "content-type": 'multipart/form-data; boundary="${boundary}"' } }).formData().then((form) => [...form].map(([key, value]) => typeof value === "string" ? [key, value] : [key, value.name, value.type, value.size]), (error) => error.message)`;

  test.each([
    [
      "a short boundary",
      ["--xy", 'content-disposition: form-data; name="a"', "", "b", "--xy--", ""],
      [["a", "b"]],
    ],
    [
      "names without quotes",
      ["--xy", "Content-Disposition: form-data; name=a; filename=f", "Content-Type: t/x", "", "b", "--xy--"],
      [["a", "f", "t/x", 1]],
    ],
    [
      "unknown headers",
      ["--xy", "X-Y: z", 'Content-Disposition: form-data; name="a"', "", "", "--xy--"],
      [["a", ""]],
    ],
    [
      "dashes in the content",
      ["--xy", 'Content-Disposition: form-data; name="a"', "", "--x", "-xy", "--xy--"],
      [["a", "--x\r\n-xy"]],
    ],
    ["no parts", ["--xy--", ""], []],
  ] as const)("are read with %s", async (_what, lines, expected) => {
    using guest = await openGuest({ withWeb: true });
    expect(guest.settle(parse(lines))).toEqual(expected);
  });

  test.each([
    ["no boundary", ["x"], "a boundary is missing"],
    ["no end", ["--xy", 'Content-Disposition: form-data; name="a"', "", "b"], "the last boundary is missing"],
    ["no content", ["--xy", 'Content-Disposition: form-data; name="a"'], "a part has no content"],
    ["no name", ["--xy", "Content-Disposition: form-data", "", "b", "--xy--"], "a part has no name"],
    [
      "another disposition",
      ["--xy", 'Content-Disposition: attachment; name="a"', "", "b", "--xy--"],
      "a part is not form-data",
    ],
    ["a header without a name", ["--xy", ": x", "", "b", "--xy--"], "a header has no name"],
    ["text behind a boundary", ["--xyz", "", "b", "--xy--"], "a boundary does not end its line"],
  ] as const)("are refused with %s", async (_what, lines, why) => {
    using guest = await openGuest({ withWeb: true });
    expect(guest.settle(parse(lines))).toContain(`Cannot read the form: ${why}`);
  });
});
