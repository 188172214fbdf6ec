/** Streams compared with those of Node.js: what they give, when, and what is refused. */
import { runInThisContext } from "node:vm";
import { array, assert, asyncProperty, boolean, constantFrom, integer, oneof, string } from "fast-check";
import { describe, expect, test } from "vitest";
import { openGuest } from "./inside/testing/open-guest.ts";

/** Runs in both: turns, and a stream that notes what happens to it. */
const SETUP = `
  const turns = async (count) => { for (let i = 0; i < count; i++) await undefined };
  const all = async (stream) => { const got = []; for await (const chunk of stream) got.push(chunk); return got };
  const of = (...chunks) => new ReadableStream({ start(c) { for (const one of chunks) c.enqueue(one); c.close() } });
  const nameOf = (promise) => promise.then((value) => ["kept", value], (error) => ["failed", error?.name ?? error]);
  const tried = (action) => { try { action(); return "done" } catch (error) { return error.name } };
  const noting = (log, options = {}) => new WritableStream({
    start() { log.push("start") }, write(chunk) { log.push(["write", chunk]); if (chunk === options.failAt) throw new RangeError("bad") },
    close() { log.push("close") }, abort(reason) { log.push(["abort", reason?.name ?? reason]) } }, options.strategy);
`;

const CASES: readonly string[] = [
  // Reading
  "all(of(1, 2, 3))",
  "(async () => { const reader = of('a').getReader(); return [await reader.read(), await reader.read(), await reader.read(), await nameOf(reader.closed)] })()",
  "(async () => { const log = []; const stream = new ReadableStream({ start() { log.push('start') }, pull(c) { log.push('pull'); c.enqueue(log.length); if (log.length > 4) c.close() } }); log.push('made'); await turns(5); log.push('waited'); return [log, await all(stream)] })()",
  "(async () => { const log = []; new ReadableStream({ pull() { log.push('pull') } }, { highWaterMark: 0 }); await turns(5); return log })()",
  "(async () => { const log = []; const stream = new ReadableStream({ pull(c) { log.push(c.desiredSize); c.enqueue('x') } }, { highWaterMark: 3 }); await turns(20); return log })()",
  "(async () => { const stream = new ReadableStream({ start(c) { c.enqueue('ab'); c.enqueue('cde'); this.size = c.desiredSize; c.close() } }, { highWaterMark: 10, size: (chunk) => chunk.length }); return all(stream) })()",
  "(async () => { let controller; const stream = new ReadableStream({ start(c) { controller = c } }); const reader = stream.getReader(); const reads = [reader.read(), reader.read()]; controller.enqueue(1); controller.close(); return [await Promise.all(reads), controller.desiredSize] })()",
  "(async () => { let controller; const stream = new ReadableStream({ start(c) { controller = c } }); const reader = stream.getReader(); const read = nameOf(reader.read()); controller.error(new RangeError('x')); return [await read, await nameOf(reader.closed), await nameOf(reader.read()), controller.desiredSize] })()",
  "(async () => { let controller; const stream = new ReadableStream({ start(c) { controller = c } }); controller.close(); return [tried(() => controller.enqueue(1)), tried(() => controller.close()), tried(() => controller.error(1)), await all(stream)] })()",
  "(async () => { const stream = new ReadableStream({ start() { return Promise.reject(new RangeError('x')) } }); return nameOf(stream.getReader().read()) })()",
  "(async () => { const stream = new ReadableStream({ pull() { throw new RangeError('x') } }); return nameOf(stream.getReader().read()) })()",
  "tried(() => new ReadableStream({ start() { throw new RangeError('x') } }))",
  "tried(() => new ReadableStream({ get pull() { throw new RangeError('x') } }))",
  "(async () => { const log = []; const stream = new ReadableStream({ cancel(reason) { log.push(reason); return 'ignored' } }); return [await stream.cancel('why'), log, await nameOf(stream.cancel()), await all(stream)] })()",
  "(async () => { const stream = new ReadableStream({ cancel() { throw new RangeError('x') } }); return [await nameOf(stream.cancel()), await all(stream)] })()",
  "(async () => { const stream = of(1, 2); const reader = stream.getReader(); return [stream.locked, tried(() => stream.getReader()), await nameOf(stream.cancel()), await nameOf(stream.pipeTo(new WritableStream())), tried(() => stream.tee()), (reader.releaseLock(), stream.locked), await nameOf(reader.read()), await nameOf(reader.closed), await nameOf(reader.cancel()), await all(stream)] })()",
  "(async () => { const stream = new ReadableStream(); const reader = stream.getReader(); const read = nameOf(reader.read()); reader.releaseLock(); return [await read, stream.locked] })()",
  "(async () => { const stream = of(1, 2, 3); for await (const chunk of stream) break; return [stream.locked, await all(stream)] })()",
  "(async () => { const stream = of(1, 2, 3); for await (const chunk of stream.values({ preventCancel: true })) break; return [stream.locked, await all(stream)] })()",
  "(async () => { const log = []; const stream = new ReadableStream({ pull(c) { c.enqueue(1) }, cancel(reason) { log.push(['cancel', reason]) } }); try { for await (const chunk of stream) throw new RangeError('x') } catch (error) { log.push(error.name) } return log })()",
  "(async () => { const iterator = of(1, 2).values(); return [await Promise.all([iterator.next(), iterator.next(), iterator.next(), iterator.return(9)]), typeof iterator[Symbol.asyncIterator] ] })()",
  "(async () => { const iterator = of(1).values(); return [await iterator.return('r'), await iterator.next(), await iterator.return('s')] })()",
  "(async () => [await all(ReadableStream.from([1, 2])), await all(ReadableStream.from(new Set(['a']))), await all(ReadableStream.from((async function* () { yield 1; yield 2 })())), await all(ReadableStream.from([Promise.resolve(5)]))])()",
  "(async () => { const log = []; const stream = ReadableStream.from({ [Symbol.iterator]: () => ({ next: () => ({ value: 1, done: false }), return: (reason) => { log.push(reason); return {} } }) }); const reader = stream.getReader(); await reader.read(); await reader.cancel('why'); return log })()",
  "[tried(() => ReadableStream.from(5)), tried(() => ReadableStream.from(null)), tried(() => ReadableStream.from({}))]",
  "[tried(() => ReadableStream()), tried(() => new ReadableStream(null)), tried(() => new ReadableStream({ pull: 5 })), tried(() => new ReadableStream({}, { highWaterMark: -1 })), tried(() => new ReadableStream({}, { highWaterMark: NaN })), tried(() => new ReadableStream({}, { size: 5 })), tried(() => new ReadableStream({ type: 'x' })), tried(() => new ReadableStreamDefaultController()), tried(() => new ReadableStreamDefaultReader({})), tried(() => new ReadableStreamDefaultReader()), tried(() => ReadableStream.prototype.locked)]",
  "(async () => { const stream = new ReadableStream({ start(c) { this.tried = tried(() => c.enqueue(1)) } }, { size() { throw new RangeError('x') } }); return nameOf(stream.getReader().read()) })()",
  "(async () => { const stream = new ReadableStream({ start(c) { try { c.enqueue(1) } catch {} } }, { size: () => -1 }); return nameOf(stream.getReader().read()) })()",
  // Tee
  "(async () => { const [one, two] = of(1, 2).tee(); return [await all(one), await all(two)] })()",
  "(async () => { const log = []; const [one, two] = new ReadableStream({ cancel(reason) { log.push(reason) } }).tee(); const first = one.cancel('a'); await turns(5); log.push('between'); await Promise.all([first, two.cancel('b')]); return log })()",
  "(async () => { const [one, two] = of(1, 2, 3).tee(); await one.cancel === 0; const rest = all(two); const cancelled = one.cancel(); const got = await rest; return [got] })()",
  "(async () => { let controller; const [one, two] = new ReadableStream({ start(c) { controller = c } }).tee(); controller.error(new RangeError('x')); return [await nameOf(one.getReader().read()), await nameOf(two.getReader().closed)] })()",
  // Writing
  "(async () => { const log = []; const writer = noting(log).getWriter(); await writer.write(1); const second = writer.write(2); log.push(writer.desiredSize); await second; await writer.close(); await writer.closed; return [log, writer.desiredSize, await nameOf(writer.write(3)), await nameOf(writer.close())] })()",
  "(async () => { const log = []; const stream = new WritableStream({ write(chunk) { log.push(chunk); return new Promise(() => {}) } }, { highWaterMark: 2 }); const writer = stream.getWriter(); await writer.ready; writer.write('a'); log.push(writer.desiredSize); writer.write('b'); log.push(writer.desiredSize); let isReady = false; writer.ready.then(() => { isReady = true }); await turns(10); return [log, isReady] })()",
  "(async () => { const log = []; const stream = noting(log, { failAt: 2 }); const writer = stream.getWriter(); const writes = [1, 2, 3].map((chunk) => nameOf(writer.write(chunk))); return [await Promise.all(writes), await nameOf(writer.closed), await nameOf(writer.ready), await nameOf(writer.close()), log, writer.desiredSize] })()",
  "(async () => { const log = []; const stream = noting(log); const writer = stream.getWriter(); writer.write(1).catch(() => {}); const aborted = nameOf(writer.abort(new RangeError('x'))); return [await aborted, await nameOf(writer.closed), log] })()",
  "(async () => { const log = []; const stream = noting(log); const aborted = await nameOf(stream.abort('why')); return [aborted, log, await nameOf(stream.abort('again')), await nameOf(stream.close())] })()",
  "(async () => { let signal; const stream = new WritableStream({ start(c) { signal = c.signal }, write: () => new Promise(() => {}) }); const writer = stream.getWriter(); writer.write(1).catch(() => {}); writer.closed.catch(() => {}); await turns(3); writer.abort('why'); return [signal.aborted, signal.reason] })()",
  "(async () => { let controller; const stream = new WritableStream({ start(c) { controller = c } }); const writer = stream.getWriter(); await turns(3); controller.error(new RangeError('x')); return [await nameOf(writer.closed), await nameOf(writer.write(1)), tried(() => controller.error(1))] })()",
  "(async () => { const stream = new WritableStream({ close() { throw new RangeError('x') } }); const writer = stream.getWriter(); return [await nameOf(writer.close()), await nameOf(writer.closed)] })()",
  "(async () => { const stream = new WritableStream({ start: () => Promise.reject(new RangeError('x')) }); const writer = stream.getWriter(); return [await nameOf(writer.ready), await nameOf(writer.closed)] })()",
  "(async () => { const stream = new WritableStream(); const writer = stream.getWriter(); const held = [stream.locked, tried(() => stream.getWriter()), await nameOf(stream.close()), await nameOf(stream.abort())]; writer.releaseLock(); return [held, stream.locked, await nameOf(writer.closed), await nameOf(writer.ready), tried(() => writer.desiredSize), await nameOf(writer.write(1)), await nameOf(stream.close())] })()",
  "[tried(() => WritableStream()), tried(() => new WritableStream(null)), tried(() => new WritableStream({ type: 'x' })), tried(() => new WritableStream({ write: 5 })), tried(() => new WritableStreamDefaultController()), tried(() => new WritableStreamDefaultWriter({})), tried(() => new WritableStream({}, { highWaterMark: -1 }))]",
  "(async () => { const stream = new WritableStream({}, { size() { throw new RangeError('x') } }); const writer = stream.getWriter(); return [await nameOf(writer.write(1)), await nameOf(writer.closed)] })()",
  // Pipes
  "(async () => { const log = []; await of(1, 2, 3).pipeTo(noting(log)); return log })()",
  "(async () => { const log = []; const target = noting(log); await of(1).pipeTo(target, { preventClose: true }); return [log, target.locked] })()",
  "(async () => { const log = []; const source = new ReadableStream({ start(c) { c.enqueue(1) }, pull(c) { c.error(new RangeError('x')) } }); return [await nameOf(source.pipeTo(noting(log))), log] })()",
  "(async () => { const log = []; const source = new ReadableStream({ pull(c) { c.error(new RangeError('x')) } }); const target = noting(log); return [await nameOf(source.pipeTo(target, { preventAbort: true })), log, await nameOf(target.close())] })()",
  "(async () => { const log = []; const source = new ReadableStream({ start(c) { c.enqueue(1); c.enqueue(2); c.enqueue(3) }, cancel(reason) { log.push(['cancel', reason.name]) } }); return [await nameOf(source.pipeTo(noting(log, { failAt: 2 }))), log] })()",
  "(async () => { const log = []; const abort = new AbortController(); const source = new ReadableStream({ start(c) { c.enqueue(1) }, cancel(reason) { log.push(['cancel', reason]) } }); const piped = nameOf(source.pipeTo(noting(log), { signal: abort.signal })); await turns(10); abort.abort('stop'); return [await piped, log, source.locked] })()",
  "(async () => { const log = []; const abort = new AbortController(); abort.abort('stop'); return [await nameOf(of(1).pipeTo(noting(log), { signal: abort.signal })), log] })()",
  "(async () => { const log = []; const target = noting(log); await target.close(); const source = new ReadableStream({ cancel(reason) { log.push(['cancel', reason.name]) } }); return [await nameOf(source.pipeTo(target)), log] })()",
  "(async () => { const log = []; const source = new ReadableStream({ pull(c) { log.push('pull'); c.enqueue('x') } }, { highWaterMark: 0 }); source.pipeTo(new WritableStream({ write: () => new Promise(() => {}) }, { highWaterMark: 2 })).catch(() => {}); await turns(60); return log.length })()",
  "(async () => [await nameOf(of(1).pipeTo({})), await nameOf(of(1).pipeTo(new WritableStream(), { signal: 5 })), tried(() => of(1).pipeThrough({})), tried(() => of(1).pipeThrough({ readable: of(2), writable: 5 }))])()",
  // Transforms
  "all(of(1, 2).pipeThrough(new TransformStream()))",
  "all(of(1, 2).pipeThrough(new TransformStream({ start(c) { c.enqueue('s') }, transform(chunk, c) { c.enqueue(chunk * 2); c.enqueue(chunk * 3) }, flush(c) { c.enqueue('f') } })))",
  "(async () => nameOf(all(of(1).pipeThrough(new TransformStream({ transform() { throw new RangeError('x') } })))))()",
  "(async () => { const through = new TransformStream({ transform(chunk, c) { c.enqueue(chunk); if (chunk === 2) c.terminate() } }); const log = []; const source = new ReadableStream({ start(c) { for (let i = 1; i < 5; i++) c.enqueue(i) }, cancel(reason) { log.push(reason.name) } }); const got = await all(source.pipeThrough(through)); await turns(20); return [got, log] })()",
  "(async () => { const log = []; const through = new TransformStream({ cancel(reason) { log.push(['cancel', reason]) }, flush() { log.push('flush') } }); const writer = through.writable.getWriter(); writer.closed.catch(() => {}); await through.readable.cancel('why'); return [log, await nameOf(writer.write(1))] })()",
  "(async () => { const log = []; const through = new TransformStream({ cancel(reason) { log.push(['cancel', reason]) } }); await through.writable.abort('why'); return [log, await nameOf(through.readable.getReader().read())] })()",
  "(async () => { const through = new TransformStream({ flush(c) { c.error(new RangeError('x')) } }); const writer = through.writable.getWriter(); const closed = nameOf(writer.close()); return [await nameOf(through.readable.getReader().read()), await closed] })()",
  "(async () => { const through = new TransformStream(); const writer = through.writable.getWriter(); const log = [writer.desiredSize]; writer.write('a'); log.push(writer.desiredSize); let isReady = false; writer.ready.then(() => { isReady = true }); await turns(10); log.push(isReady); const reader = through.readable.getReader(); log.push(await reader.read()); await turns(10); log.push(isReady); return log })()",
  "(async () => { let controller; const through = new TransformStream({ start(c) { controller = c } }, undefined, { highWaterMark: 2 }); const log = [controller.desiredSize]; controller.enqueue(1); log.push(controller.desiredSize); controller.error(new RangeError('x')); return [log, controller.desiredSize, tried(() => controller.enqueue(2)), await nameOf(through.writable.getWriter().closed)] })()",
  "[tried(() => TransformStream()), tried(() => new TransformStream({ readableType: 'x' })), tried(() => new TransformStream({ start() { throw new RangeError('x') } })), tried(() => new TransformStreamDefaultController()), tried(() => new TransformStream({ transform: 5 }))]",
  // Texts
  "(async () => (await all(of('é', '', '\\ud83d', '\\ude00', 'x', '\\ud800').pipeThrough(new TextEncoderStream()))).map((chunk) => [...chunk]))()",
  "(async () => (await all(of(new Uint8Array([0xef, 0xbb, 0xbf, 0xc3]), new Uint8Array([0xa9]).buffer, new Uint8Array([0xf0, 0x9f])).pipeThrough(new TextDecoderStream()))).join('|'))()",
  "nameOf(all(of(new Uint8Array([0xff])).pipeThrough(new TextDecoderStream('utf-8', { fatal: true }))))",
  "nameOf(all(of('text').pipeThrough(new TextDecoderStream())))",
  "(() => { const one = new TextDecoderStream('UTF-16LE', { ignoreBOM: true }); return [one.encoding, one.fatal, one.ignoreBOM, new TextEncoderStream().encoding, tried(() => new TextDecoderStream('nonsense'))] })()",
  // Strategies
  "(() => { const one = new ByteLengthQueuingStrategy({ highWaterMark: 5 }); const two = new CountQueuingStrategy({ highWaterMark: '7' }); return [one.highWaterMark, one.size({ byteLength: 3 }), two.highWaterMark, two.size('x'), one.size === new ByteLengthQueuingStrategy({ highWaterMark: 1 }).size, tried(() => new CountQueuingStrategy()), tried(() => new CountQueuingStrategy({})), one.size.name, two.size.length] })()",
  "[ReadableStream, WritableStream, TransformStream, ReadableStreamDefaultReader, WritableStreamDefaultWriter].map((one) => [one.name, one.length, Object.prototype.toString.call(one.prototype)])",
];

describe("a program's streams [handles:103]", () => {
  test.each(CASES)("%s", async (expression) => {
    using guest = await openGuest({ withWeb: true });
    const expected = (await runInThisContext(
      `(async () => { ${SETUP} return await (${expression}) })()`,
    )) as unknown;
    const shown = JSON.parse(JSON.stringify(expected)) as unknown;
    expect(guest.settle(`(async () => { ${SETUP} return await (${expression}) })()`)).toEqual(shown);
  });

  test("text in any pieces, encoded and decoded, is the same text", async () => {
    using guest = await openGuest({ withWeb: true });
    const pieces = array(string({ unit: "binary", maxLength: 4 }), { maxLength: 6 });
    await assert(
      asyncProperty(pieces, async (texts) => {
        const script = `(async () => { ${SETUP} return (await all(of(...${JSON.stringify(texts)}).pipeThrough(new TextEncoderStream()).pipeThrough(new TextDecoderStream("utf-8", { ignoreBOM: true })))).join("") })()`;
        expect(guest.settle(script)).toBe(texts.join("").toWellFormed());
      }),
      { numRuns: 40 },
    );
  });

  // An older Node.js differs from the standard here.
  const isOld = Number.parseInt(process.versions.node, 10) < 24;
  test.skipIf(isOld)(
    "any program of reads, writes, errors and aborts sees the same as in Node.js",
    async () => {
      using guest = await openGuest({ withWeb: true });
      const common = [
        "note(() => writer.write(log.length))",
        "note(() => reader.read())",
        "note(() => writer.ready)",
        "note(() => reader.closed)",
        "note(() => writer.closed)",
        "log.push(writer.desiredSize)",
        "await turns(8)",
      ];
      // Not both: after an error or terminate, Node.js calls functions of the transformer that it has forgotten.
      const step = oneof(
        array(
          constantFrom(
            ...common,
            "note(() => writer.close())",
            "note(() => writer.abort('a'))",
            "note(() => reader.cancel('c'))",
          ),
          { maxLength: 12 },
        ),
        array(constantFrom(...common, "control.error('e')", "control.terminate()"), { maxLength: 12 }),
      );
      await assert(
        asyncProperty(
          step,
          integer({ min: 0, max: 3 }),
          integer({ min: 0, max: 3 }),
          boolean(),
          async (steps, writable, readable, isSlow) => {
            const script = `(async () => { ${SETUP}
            const log = []; let control; let count = 0;
            const note = (action) => { const id = count++; try { action().then((value) => log.push([id, "kept", value]), (error) => log.push([id, "failed", error?.name ?? error])) } catch (error) { log.push([id, "threw", error.name]) } };
            const through = new TransformStream({ start(c) { control = c }, ${isSlow ? "async" : ""} transform(chunk, c) { ${isSlow ? "await turns(3);" : ""} log.push(["transform", chunk]); c.enqueue(chunk) }, flush() { log.push("flush") }, cancel(reason) { log.push(["cancel", reason]) } }, { highWaterMark: ${writable} }, { highWaterMark: ${readable} });
            const writer = through.writable.getWriter(), reader = through.readable.getReader();
            for (const one of [writer.closed, writer.ready, reader.closed]) one.catch(() => {});
            ${steps.map((one) => `try { ${one} } catch (error) { log.push(error?.name ?? error) }`).join(";\n")};
            await turns(60);
            return log })()`;
            const expected = (await runInThisContext(script)) as unknown;
            expect(guest.settle(script)).toEqual(JSON.parse(JSON.stringify(expected)));
          },
        ),
        { numRuns: 150 },
      );
    },
  );
});
