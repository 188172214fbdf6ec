import { createHmac } from "node:crypto";
import { deflateRawSync, zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { resolveSealKeys, type SealKey } from "./seal-keys.ts";
import { type Opened, Sealer, type SealProblem } from "./seal.ts";

const MAX = 1 << 20;
const EMPTY = new Uint8Array();
const REFUSED: readonly SealProblem[] = ["format", "version", "key", "altered"];

const given = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);
const keysOf = (...bytes: number[]): ReturnType<typeof resolveSealKeys>["keys"] =>
  resolveSealKeys({ sealKeys: bytes.map(given) }, {}).keys;
const plain = new Sealer(keysOf(7), false);
const encrypting = new Sealer(keysOf(7), true);
const deflating = new Sealer(keysOf(7), false, "deflate");
const SEALERS = [
  ["authenticated", plain],
  ["encrypted", encrypting],
  ["deflated", deflating],
  ["deflated and encrypted", deflating.encrypting()],
] as const;
/** The flags of a seal that is not encrypted. */
const ZSTD = 1;
const DEFLATE = 4;
const FLAGS_AT = 7;

function contentOf(opened: Opened): Uint8Array | SealProblem | undefined {
  return opened.ok ? opened.content() : opened.problem;
}

function problemOf(opened: Opened): SealProblem | undefined {
  return opened.ok ? undefined : opened.problem;
}

/** Bytes with long repetitions, so that compression makes them smaller. */
const bytes = fc
  .tuple(fc.uint8Array({ maxLength: 600 }), fc.integer({ min: 1, max: 12 }))
  .map(([part, times]) => Buffer.concat(Array.from({ length: times }, () => part)));

const MAGIC = Buffer.from("codecell", "base64url");

/** Seals as the owner of a key can, with any flags and any body. */
function forge(flags: number, body: Uint8Array, purpose = "p"): Buffer {
  const [key] = keysOf(7) as readonly [SealKey];
  const start = Buffer.concat([MAGIC, Buffer.from([1, flags]), key.id, body]);
  const bound = Buffer.from(purpose, "utf16le");
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bound.length);
  return Buffer.concat([
    start,
    createHmac("sha256", key.mac).update(length).update(bound).update(start).digest(),
  ]);
}

function payload(headerLength: number, contentLength: number, rest: Uint8Array): Buffer {
  const lengths = Buffer.alloc(8);
  lengths.writeUInt32BE(headerLength, 0);
  lengths.writeUInt32BE(contentLength, 4);
  return Buffer.concat([lengths, rest]);
}

describe.each(SEALERS)("seal, %s", (_name, sealer) => {
  test("gives back what was sealed, as bytes and as text", () => {
    fc.assert(
      fc.property(bytes, fc.uint8Array(), fc.string({ unit: "binary" }), (content, header, purpose) => {
        const sealed = sealer.openBytes(sealer.sealBytes({ header, content }, purpose), purpose, MAX);
        const text = sealer.openText(sealer.sealText({ header, content }, purpose), purpose, MAX);
        for (const opened of [sealed, text]) {
          if (!opened.ok) throw new Error(opened.problem);
          expect(Buffer.from(opened.header).equals(header)).toBe(true);
          expect(content.equals(opened.content() ?? Buffer.from("nothing"))).toBe(true);
        }
      }),
    );
  });

  test.each([0, 40, 3000])("every flip of a single bit of %i bytes is refused", (size) => {
    const content = Buffer.alloc(size, "a ledger ");
    const sealed = sealer.sealBytes({ header: Buffer.from("head"), content }, "p");
    for (let bit = 0; bit < sealed.length * 8; bit++) {
      const flipped = Buffer.from(sealed);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      const place = bit >> 3;
      const expected = place < 6 ? "format" : place === 6 ? "version" : place < 8 ? "altered" : undefined;
      const problem = problemOf(sealer.openBytes(flipped, "p", MAX));
      expect(problem).toBe(expected ?? (place < 16 ? "key" : "altered"));
    }
  });

  test("refuses every truncated and every extended seal", () => {
    const sealed = sealer.sealBytes({ header: EMPTY, content: Buffer.from("state") }, "p");
    for (let length = 0; length < sealed.length; length++) {
      expect(REFUSED).toContain(problemOf(sealer.openBytes(sealed.subarray(0, length), "p", MAX)));
      expect(REFUSED).toContain(problemOf(sealer.openBytes(sealed.subarray(length + 1), "p", MAX)));
    }
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1 }), (more) => {
        expect(problemOf(sealer.openBytes(Buffer.concat([sealed, more]), "p", MAX))).toBe("altered");
        expect(REFUSED).toContain(problemOf(sealer.openBytes(Buffer.concat([more, sealed]), "p", MAX)));
      }),
    );
  });

  test("a seal does not open for another purpose", () => {
    const text = fc.string({ unit: "binary" });
    fc.assert(
      fc.property(text, text, (one, other) => {
        fc.pre(one !== other);
        const sealed = sealer.sealBytes({ header: EMPTY, content: Buffer.from("x") }, one);
        expect(problemOf(sealer.openBytes(sealed, other, MAX))).toBe("altered");
      }),
    );
    // In UTF-8 these two purposes would be the same.
    const sealed = sealer.sealBytes({ header: EMPTY, content: EMPTY }, "\ud800");
    expect(problemOf(sealer.openBytes(sealed, "\ud801", MAX))).toBe("altered");
  });

  test.each([100, 2_000_000, 4_000_000])(
    "a seal made in turns opens like a seal made at once: %i bytes",
    async (size) => {
      const content = Buffer.from(Array.from({ length: size / 4 }, (_, at) => at & 0xff));
      for (const one of [plain, encrypting, deflating]) {
        const sealed = await one.sealInTurns({ header: Buffer.from("head"), content }, "p");
        const opened = one.openBytes(sealed, "p", MAX);
        if (!opened.ok) throw new Error(opened.problem);
        expect(Buffer.from(opened.header).toString()).toBe("head");
        expect(content.equals(opened.content() ?? EMPTY)).toBe(true);
      }
    },
  );

  test("every other spelling of a text is refused", () => {
    const text = sealer.sealText({ header: EMPTY, content: Buffer.from([0xfb, 0xff, 0xfe, 1]) }, "p");
    expect(sealer.openText(text, "p", MAX).ok).toBe(true);
    for (let index = 0; index <= text.length; index++) {
      for (const put of ["A", "b", "0", "-", "_", "+", "/", "=", " ", "\n", "\u0141", ""]) {
        for (const rest of [text.slice(index), text.slice(index + 1)]) {
          const changed = text.slice(0, index) + put + rest;
          if (changed !== text) expect(REFUSED).toContain(problemOf(sealer.openText(changed, "p", MAX)));
        }
      }
    }
  });
});

describe("seal", () => {
  test("never throws, whatever bytes it gets", () => {
    const start = Buffer.concat([MAGIC, Buffer.from([1])]);
    fc.assert(
      fc.property(fc.uint8Array(), fc.string(), (junk, text) => {
        expect(problemOf(plain.openBytes(junk, "p", MAX))).toBe("format");
        expect(REFUSED).toContain(problemOf(plain.openBytes(Buffer.concat([start, junk]), "p", MAX)));
        expect(problemOf(plain.openText(text, "p", MAX))).toBe("format");
        expect(REFUSED).toContain(problemOf(plain.openText(`codecell${text}`, "p", MAX)));
      }),
    );
  });

  test("never throws on bytes that an owner of the key sealed badly", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 255 }), fc.uint8Array({ maxLength: 80 }), (flags, body) => {
        const opened = plain.openBytes(forge(flags, body), "p", MAX);
        // Bit 2 encrypts; beside it there is one method or none.
        if (![0, ZSTD, DEFLATE].includes(flags & ~2)) expect(problemOf(opened)).toBe("version");
        else expect(contentOf(opened)).toSatisfy((it) => it === undefined || it === "altered" || !!it);
      }),
    );
    expect(problemOf(plain.openBytes(forge(0, payload(9, 0, EMPTY)), "p", MAX))).toBe("altered");
    expect(problemOf(plain.openBytes(forge(0, payload(0, 9, EMPTY)), "p", MAX))).toBe("altered");
    expect(contentOf(plain.openBytes(forge(ZSTD, payload(0, 9, EMPTY)), "p", MAX))).toBeUndefined();
    expect(contentOf(plain.openBytes(forge(DEFLATE, payload(0, 9, EMPTY)), "p", MAX))).toBeUndefined();
    expect(problemOf(plain.openBytes(forge(ZSTD | DEFLATE, payload(0, 0, EMPTY)), "p", MAX))).toBe("version");
    expect(problemOf(plain.openBytes(forge(2, Buffer.alloc(27)), "p", MAX))).toBe("altered");
    expect(problemOf(plain.openBytes(forge(2, Buffer.alloc(28)), "p", MAX))).toBe("altered");
  });

  test.each([
    ["zstd", ZSTD, zstdCompressSync, 10_000],
    ["deflate", DEFLATE, deflateRawSync, 100_000],
  ] as const)(
    "content that would grow beyond its bound, or its stated length, is not unpacked: %s",
    async (_name, flags, compress, mostBytes) => {
      const bomb = compress(Buffer.alloc(64 << 20));
      expect(bomb.length).toBeLessThan(mostBytes);
      for (const length of [0, 1, 1000, MAX, 64 << 20, 2 ** 32 - 1]) {
        const opened = plain.openBytes(forge(flags, payload(0, length, bomb)), "p", MAX);
        const before = process.memoryUsage().arrayBuffers;
        expect(contentOf(opened)).toBeUndefined();
        expect(opened.ok && (await opened.contentAside())).toBeUndefined();
        expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 << 20);
      }
    },
  );

  test("content that is larger than its bound is not unpacked, compressed or not", () => {
    const large = plain.sealBytes({ header: EMPTY, content: Buffer.alloc(MAX + 1) }, "p");
    expect(contentOf(plain.openBytes(large, "p", MAX))).toBeUndefined();
    expect(contentOf(plain.openBytes(large, "p", MAX + 1))).toHaveLength(MAX + 1);
    const small = plain.sealBytes({ header: EMPTY, content: Buffer.alloc(11) }, "p");
    expect(contentOf(plain.openBytes(small, "p", 10))).toBeUndefined();
  });

  test("the first key seals and all keys open, so keys can be replaced without losing what was sealed", () => {
    const sealable = { header: EMPTY, content: Buffer.from("state") };
    const old = new Sealer(keysOf(1), false).sealText(sealable, "p");
    const both = new Sealer(keysOf(2, 1), false);
    const fresh = both.sealText(sealable, "p");
    expect(both.openText(old, "p", MAX).ok).toBe(true);
    expect(new Sealer(keysOf(2), false).openText(fresh, "p", MAX).ok).toBe(true);
    expect(problemOf(new Sealer(keysOf(2), false).openText(old, "p", MAX))).toBe("key");
    expect(problemOf(new Sealer(keysOf(1), false).openText(fresh, "p", MAX))).toBe("key");
  });

  test("the id of our key on a seal of another key does not open it", () => {
    const foreign = new Sealer(keysOf(8), false).sealBytes({ header: EMPTY, content: EMPTY }, "p");
    foreign.set(keysOf(7)[0].id, 8);
    expect(problemOf(plain.openBytes(foreign, "p", MAX))).toBe("altered");
  });

  test("an encrypting and a plain sealer open each other's seals", () => {
    const sealable = { header: Buffer.from("who"), content: Buffer.from("a secret ".repeat(200)) };
    expect(plain.openBytes(encrypting.sealBytes(sealable, "p"), "p", MAX).ok).toBe(true);
    expect(encrypting.openBytes(plain.sealBytes(sealable, "p"), "p", MAX).ok).toBe(true);
  });

  test("an encrypted seal shows neither header nor content, and no two seals are alike", () => {
    const sealable = { header: Buffer.from("whose run"), content: Buffer.from("a secret") };
    const [one, other] = [encrypting.sealBytes(sealable, "p"), encrypting.sealBytes(sealable, "p")];
    for (const word of ["whose", "secret"]) {
      expect(plain.sealBytes(sealable, "p").includes(word)).toBe(true);
      expect(one.includes(word)).toBe(false);
    }
    expect(one.subarray(16).equals(other.subarray(16))).toBe(false);
  });

  test("whatever compresses now, what either method compressed opens", async () => {
    const content = Buffer.alloc(600_000, "a ledger ");
    for (const one of [plain, deflating]) {
      const sealed = [
        one.sealBytes({ header: EMPTY, content }, "p"),
        await one.sealInTurns({ header: EMPTY, content }, "p"),
      ];
      for (const made of sealed) {
        expect(made[FLAGS_AT]).toBe(one === plain ? ZSTD : DEFLATE);
        for (const other of [plain, deflating]) {
          const opened = other.openBytes(made, "p", MAX);
          if (!opened.ok) throw new Error(opened.problem);
          expect(opened.isCurrent).toBe(other === one);
          expect(content.equals(opened.content() ?? EMPTY)).toBe(true);
          expect(content.equals((await opened.contentAside()) ?? EMPTY)).toBe(true);
        }
      }
    }
    const small = plain.sealBytes({ header: EMPTY, content: Buffer.from("state") }, "p");
    expect(deflating.openBytes(small, "p", MAX)).toMatchObject({ ok: true, isCurrent: true });
  });

  test.each([
    ["zstd", plain],
    ["deflate", deflating],
  ])("content is compressed when that pays: %s", (_name, sealer) => {
    const size = (content: Uint8Array): number => sealer.sealBytes({ header: EMPTY, content }, "p").length;
    const around = 16 + 8 + 32;
    expect(size(Buffer.alloc(1000))).toBe(1000 + around);
    expect(size(Buffer.alloc(10_000))).toBeLessThan(200);
    expect(size(crypto.getRandomValues(new Uint8Array(10_000)))).toBe(10_000 + around);
  });

  test("opens a seal that lies in the middle of other bytes", () => {
    const sealed = plain.sealBytes({ header: EMPTY, content: Buffer.from("state") }, "p");
    const around = new Uint8Array(sealed.length + 20);
    around.set(sealed, 9);
    expect(plain.openBytes(around.subarray(9, 9 + sealed.length), "p", MAX).ok).toBe(true);
  });

  test("version 1 stays readable: opens a seal that was made when version 1 was new", () => {
    const sealed = "codecellAQAiOIkY-P9MowAAAAQAAAAFaGVhZHN0YXRloYymjyVZNuIRo_rgPxMuRAsaJVzBzsaAN2fWJE4ZUvI";
    const opened = plain.openText(sealed, "p", MAX);
    expect(Buffer.from(contentOf(opened) as Uint8Array).toString()).toBe("state");
  });
});
