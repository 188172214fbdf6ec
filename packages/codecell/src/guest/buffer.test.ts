/** Buffer compared with that of Node.js. */
import { runInThisContext } from "node:vm";
import {
  array,
  assert,
  constantFrom,
  integer,
  oneof,
  option,
  property,
  string,
  uint8Array,
} from "fast-check";
import { describe, expect, test } from "vitest";
import { openGuest } from "./inside/testing/open-guest.ts";

/** The oracle has no Buffer of its own in its scope: it is that of Node.js. */
function inNode(expression: string): unknown {
  const found = (runInThisContext(`(Buffer) => (${expression})`) as (buffer: unknown) => unknown)(Buffer);
  return JSON.parse(JSON.stringify(found) ?? "null");
}

const SHOWN =
  "((make) => { try { const made = make(); return Buffer.isBuffer(made) ? ['buffer', ...made] : typeof made === 'bigint' ? String(made) : Object.is(made, -0) ? '-0' : made } catch { return 'refused' } })";

const CASES: readonly string[] = [
  "[Buffer.name, Buffer.prototype.constructor === Buffer, Object.getPrototypeOf(Buffer) === Uint8Array, Buffer.from('a') instanceof Uint8Array]",
  "[...Buffer.from('hé€\u{1F600}')]",
  "[...Buffer.from('\\ud800x')]",
  "[...Buffer.from([1, 257, -1, '5', 'x', 2.9])]",
  "[...Buffer.from(new Uint16Array([1, 257]))]",
  "(() => { const memory = new ArrayBuffer(4); const buffer = Buffer.from(memory, 1, 2); buffer[0] = 7; return [buffer.length, buffer.byteOffset, new Uint8Array(memory)[1]] })()",
  "(() => { const bytes = new Uint8Array([1, 2]); const buffer = Buffer.from(bytes); bytes[0] = 9; return [...buffer] })()",
  "[...Buffer.from(Buffer.from('ab').toJSON())]",
  "[...Buffer.from(new String('ab'))]",
  "[...Buffer.from({ length: 2, 0: 5, 1: 6 })]",
  "[null, undefined, 5, true, {}, Symbol()].map((value) => { try { Buffer.from(value); return 'made' } catch (error) { return error.name } })",
  "[() => Buffer.from('a', 'nonsense'), () => Buffer.from(new ArrayBuffer(2), 3), () => Buffer.from(new ArrayBuffer(2), 1, 2), () => Buffer.alloc(-1), () => Buffer.alloc('5'), () => Buffer.concat('x'), () => Buffer.concat(['x']), () => Buffer.byteLength(5), () => Buffer.compare('a', 'b'), () => Buffer.from('a').equals('a'), () => Buffer.from('a').write(5), () => Buffer.from('abc').swap16()].map((make) => { try { make(); return 'made' } catch (error) { return error.name } })",
  "[[...Buffer.alloc(3)], [...Buffer.alloc(5, 'ab')], [...Buffer.alloc(3, 300)], [...Buffer.alloc(4, 'YQ', 'base64')], [...Buffer.alloc(2, '')], [...Buffer.alloc(3, Buffer.from([1, 2]))], Buffer.allocUnsafe(3).length]",
  "[[...Buffer.concat([Buffer.from('ab'), new Uint8Array([1])])], [...Buffer.concat([Buffer.from('ab')], 4)], [...Buffer.concat([Buffer.from('ab'), Buffer.from('cd')], 3)], Buffer.concat([]).length]",
  "['utf8', 'UTF-8', 'hex', 'base64', 'base64url', 'latin1', 'binary', 'ascii', 'ucs2', 'utf16le', 'x', '', 5, undefined].map((name) => Buffer.isEncoding(name))",
  "[Buffer.isBuffer(Buffer.from('')), Buffer.isBuffer(new Uint8Array(1)), Buffer.isBuffer(null), Buffer.isBuffer(Buffer.from('ab').slice(1)), Buffer.isBuffer(Buffer.from('ab').subarray(1)), Buffer.isBuffer(Buffer.from('ab').map((x) => x))]",
  "[Buffer.byteLength('é'), Buffer.byteLength('é', 'latin1'), Buffer.byteLength('abc', 'utf16le'), Buffer.byteLength('YQ==', 'base64'), Buffer.byteLength('abc', 'hex'), Buffer.byteLength(new Uint16Array(2)), Buffer.byteLength(new ArrayBuffer(3)), Buffer.byteLength(new DataView(new ArrayBuffer(4), 1))]",
  "[Buffer.compare(Buffer.from('a'), Buffer.from('b')), Buffer.compare(Buffer.from('b'), Buffer.from('a')), Buffer.compare(Buffer.from('a'), Buffer.from('a')), [Buffer.from('c'), Buffer.from('a'), Buffer.from('b')].sort(Buffer.compare).join('')]",
  "(() => { const buffer = Buffer.from('hello'); const part = buffer.slice(1, -1); part[0] = 97; return [buffer.toString(), part.toString(), buffer.slice(-3).toString(), buffer.slice(3, 1).length, buffer.slice(9).length] })()",
  "[Buffer.from('hello').toString('utf8', 1, 3), Buffer.from('hello').toString(undefined, -5, 99), Buffer.from('hello').toString('hex', 3, 1), String(Buffer.from('x')), Buffer.from('x').toLocaleString()]",
  "JSON.stringify({ a: Buffer.from('ab') })",
  "(() => { const buffer = Buffer.alloc(6, '.'); return [buffer.write('é€', 1), buffer.write('zz', 5), buffer.write('6162', 0, 1, 'hex'), buffer.write('q', 'latin1'), [...buffer]] })()",
  "(() => { const buffer = Buffer.alloc(5); return [buffer.write('abc', 'utf16le'), buffer.write('x', 4, 'utf16le'), [...buffer]] })()",
  "(() => { const one = Buffer.from('abcdef'); const two = Buffer.alloc(4, '.'); return [one.copy(two, 1, 2), two.toString(), one.copy(two, 9), one.copy(one, 0, 3), one.toString(), one.copy(two, 0, 0, 2), two.toString()] })()",
  "[Buffer.from('abc').fill('xy').toString(), Buffer.from('abcd').fill(1, 1, 3).toString('hex'), Buffer.from('abc').fill('ff', 'hex').toString('hex'), Buffer.from('abc').fill('z', 1).toString(), Buffer.from('abc').fill().toString('hex')]",
  "[Buffer.from('0102030405060708', 'hex').swap16().toString('hex'), Buffer.from('0102030405060708', 'hex').swap32().toString('hex'), Buffer.from('0102030405060708', 'hex').swap64().toString('hex')]",
  "(() => { const buffer = Buffer.from('abcabc'); return [buffer.indexOf('b'), buffer.indexOf('b', 2), buffer.indexOf('b', -2), buffer.indexOf(99), buffer.indexOf(Buffer.from('ca')), buffer.indexOf('x'), buffer.indexOf(''), buffer.indexOf('', 9), buffer.lastIndexOf('b'), buffer.lastIndexOf('b', 3), buffer.lastIndexOf('b', -6), buffer.includes('bc'), buffer.includes('b', 5), buffer.indexOf('6263', 'hex'), buffer.indexOf(355)] })()",
  "[Buffer.from('abc', 'utf16le').indexOf('b', 0, 'utf16le'), Buffer.from([0, 97, 0, 98, 0]).indexOf('a', 0, 'utf16le')]",
  "[Buffer.from('abc').equals(new Uint8Array([97, 98, 99])), Buffer.from('abc').compare(Buffer.from('xabcx'), 1, 4), Buffer.from('abc').compare(Buffer.from('b'), 0, 1, 1, 2)]",
];

const NUMBERS = [
  ...["Int", "UInt", "Uint"].flatMap((kind) =>
    ["8", "16LE", "16BE", "32LE", "32BE"].map((size) => `${kind}${size}`),
  ),
  ...["Float", "Double", "BigInt64", "BigUInt64", "BigUint64"].flatMap((kind) => [`${kind}LE`, `${kind}BE`]),
];

describe("a program's Buffer [handles:103]", () => {
  test.each(CASES)("%s", async (expression) => {
    using guest = await openGuest({ withWeb: true });
    expect(guest.evaluate(expression)).toEqual(inNode(expression));
  });

  const encoding = constantFrom("utf8", "hex", "base64", "base64url", "latin1", "ascii", "utf16le");
  const nearly = array(constantFrom(..."A b Z 0 9 + / - _ = \n a F . é".split(" "), " "), {
    maxLength: 14,
  }).map((parts) => parts.join(""));
  const text = oneof(string({ unit: "binary", maxLength: 12 }), nearly);

  test("bytes of any text in any encoding are those of Node.js, and the text of them too", async () => {
    using guest = await openGuest({ withWeb: true });
    assert(
      property(text, encoding, encoding, (given, from, to) => {
        // Node.js takes the low bytes of other characters for digits; here they are skipped.
        const hasDigits = from === "hex" || from === "base64" || from === "base64url";
        const input = JSON.stringify(hasDigits ? given.replaceAll(/[^\0-\xff]/gu, "") : given);
        const made = `Buffer.from(${input}, "${from}")`;
        const script = `[[...${made}], ${made}.toString("${to}"), Buffer.byteLength(${input}, "${from}")]`;
        expect(guest.evaluate(script)).toEqual(inNode(script));
      }),
      { numRuns: 400 },
    );
  });

  test("text of any bytes in any encoding is that of Node.js, and comes back as these bytes", async () => {
    using guest = await openGuest({ withWeb: true });
    assert(
      property(uint8Array({ maxLength: 16 }), encoding, (bytes, name) => {
        const made = `Buffer.from([${[...bytes].join()}])`;
        expect(guest.evaluate(`${made}.toString("${name}")`)).toEqual(inNode(`${made}.toString("${name}")`));
        if (name === "hex" || name === "base64" || name === "base64url" || name === "latin1") {
          expect(guest.evaluate(`Buffer.from(${made}.toString("${name}"), "${name}").equals(${made})`)).toBe(
            true,
          );
        }
      }),
      { numRuns: 200 },
    );
  });

  test("numbers are read and written as in Node.js, also at places where they do not fit", async () => {
    using guest = await openGuest({ withWeb: true });
    const value = constantFrom(
      "0",
      "-1",
      "127",
      "128",
      "-129",
      "65535",
      "65536",
      "4294967295",
      "1.9",
      "-1.9",
      "1e300",
      "NaN",
      "'7'",
      "undefined",
      "5n",
      "-5n",
      "2n ** 63n",
      "2n ** 64n",
      "-(2n ** 63n)",
      "0.1",
    );
    const offset = constantFrom("undefined", "0", "1", "2", "5", "8", "-1", "1.5", "'1'");
    assert(
      property(
        constantFrom(...NUMBERS),
        value,
        offset,
        uint8Array({ minLength: 8, maxLength: 9 }),
        (name, given, at, bytes) => {
          const made = `Buffer.from([${[...bytes].join()}])`;
          const script = `(() => { const buffer = ${made}; return [${SHOWN}(() => buffer.read${name}(${at})), ${SHOWN}(() => buffer.write${name}(${given}, ${at})), [...buffer]] })()`;
          expect(guest.evaluate(script)).toEqual(inNode(script));
        },
      ),
      { numRuns: 500 },
    );
  });

  test("numbers of one to six bytes are read and written as in Node.js", async () => {
    using guest = await openGuest({ withWeb: true });
    const size = constantFrom("1", "2", "3", "4", "5", "6", "0", "7", "undefined");
    assert(
      property(
        constantFrom("IntLE", "IntBE", "UIntLE", "UIntBE"),
        size,
        integer({ min: -(2 ** 47), max: 2 ** 48 }),
        constantFrom("0", "1", "4", "undefined"),
        (name, byteLength, given, at) => {
          const script = `(() => { const buffer = Buffer.from([1, 130, 3, 200, 5, 6, 7]); return [${SHOWN}(() => buffer.read${name}(${at}, ${byteLength})), ${SHOWN}(() => buffer.write${name}(${given}, ${at}, ${byteLength})), [...buffer]] })()`;
          expect(guest.evaluate(script)).toEqual(inNode(script));
        },
      ),
      { numRuns: 200 },
    );
  });

  test("what is looked for is found where Node.js finds it", async () => {
    using guest = await openGuest({ withWeb: true });
    const few = array(constantFrom(0, 97, 98), { maxLength: 8 });
    const from = option(integer({ min: -10, max: 10 }), { nil: undefined });
    assert(
      property(
        few,
        array(constantFrom(97, 98), { maxLength: 2 }),
        from,
        from,
        (bytes, needle, start, end) => {
          const made = `Buffer.from([${bytes.join()}])`;
          const wanted = `Buffer.from([${needle.join()}])`;
          const script = `[${made}.indexOf(${wanted}, ${start}), ${made}.lastIndexOf(${wanted}, ${start}), ${made}.includes(${wanted}), ${made}.slice(${start}, ${end}).toString("hex"), ${made}.subarray(${start}, ${end}).toString("hex"), ${made}.toString("latin1", ${start}, ${end}), ${made}.compare(${wanted})]`;
          expect(guest.evaluate(script)).toEqual(inNode(script));
        },
      ),
      { numRuns: 300 },
    );
  });

  test("has no pool: the memory of a buffer is its own", async () => {
    using guest = await openGuest({ withWeb: true });
    expect(
      guest.evaluate(
        "(() => { const made = Buffer.from('ab'); return [made.buffer.byteLength, made.byteOffset, [...Buffer.allocUnsafe(2)]] })()",
      ),
    ).toEqual([2, 0, [0, 0]]);
  });

  test("cannot be made of a text with new, and says how instead", async () => {
    using guest = await openGuest({ withWeb: true });
    expect(guest.evaluate("new Buffer('x')")).toContain("use Buffer.from(text, encoding)");
    expect(guest.evaluate("[...new Buffer(2)]")).toEqual([0, 0]);
  });

  test("works on as before when a program has changed what it is made of", async () => {
    using guest = await openGuest({ withWeb: true });
    const script = `(() => {
      const { defineProperty } = Object, { ownKeys } = Reflect;
      const poison = { __proto__: null, get() { throw new Error("poison") }, configurable: true };
      const holders = [String.prototype, Array.prototype, Object.getPrototypeOf(Uint8Array.prototype), Uint8Array, Number.prototype, RegExp.prototype];
      for (let h = 0; h < holders.length; h++) {
        const keys = ownKeys(holders[h]);
        for (let i = 0; i < keys.length; i++) if (keys[i] !== "length" && keys[i] !== "prototype") try { defineProperty(holders[h], keys[i], poison) } catch {}
      }
      for (let i = 0; i < 8; i++) { defineProperty(Array.prototype, i, poison); defineProperty(Object.prototype, i, poison) }
      const made = Buffer.from("aGk=", "base64");
      made.writeUInt16BE(26984, 0);
      return made.toString() + made.toString("hex") + made.readInt8(1) + made.indexOf("i") + Buffer.byteLength("é") + Buffer.compare(made, made) + Buffer.isBuffer(made.slice(1)) + made.write("x");
    })()`;
    expect(guest.evaluate(script)).toBe("ih6968104020true1");
  });

  test.each([
    [
      "1 MB as base64 and back",
      "Buffer.from(Buffer.alloc(1e6, 'ab').toString('base64'), 'base64').length",
      1_000_000,
    ],
    ["1 MB of text that is nearly base64", "Buffer.from('a-'.repeat(2e5) + ' =', 'base64').length", 300_000],
    [
      "200 KB as hexadecimal and back",
      "Buffer.from(Buffer.alloc(2e5).toString('hex'), 'hex').length",
      200_000,
    ],
    ["1 MB searched", "Buffer.alloc(1e6, 'a').indexOf('b')", -1],
  ] as const)("%s", { timeout: 20_000 }, async (_name, script, expected) => {
    using guest = await openGuest({ withWeb: true });
    expect(guest.evaluate(script)).toBe(expected);
  });
});
