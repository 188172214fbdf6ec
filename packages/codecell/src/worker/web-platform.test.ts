import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { loadEngine } from "../sandbox/node/engine.ts";
import { engineDigestOf } from "./engine-module.ts";
import { compileEngine, WEB_PLATFORM } from "./web-platform.ts";

const { compress, decompress, digest } = WEB_PLATFORM;
const MAX = 1 << 20;

/** Bytes with long repetitions. */
const bytes = fc
  .tuple(fc.uint8Array({ maxLength: 600 }), fc.integer({ min: 1, max: 40 }))
  .map(([part, times]) => Buffer.concat(Array.from({ length: times }, () => part)));

describe("what a page gives the worker", () => {
  test("zlib of Node.js reads what it compressed, and the other way round", async () => {
    await fc.assert(
      fc.asyncProperty(bytes, async (content) => {
        const packed = await compress(content, "deflate");
        expect(content.equals(inflateRawSync(packed))).toBe(true);
        expect(content.equals((await decompress(packed, "deflate", content.length)) ?? packed)).toBe(true);
        const other = deflateRawSync(content, { level: 1 });
        expect(content.equals((await decompress(other, "deflate", content.length)) ?? other)).toBe(true);
      }),
    );
  });

  test("digests are those of Node.js", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array()), async (parts) => {
        const expected = createHash("sha256").update(Buffer.concat(parts)).digest();
        expect(expected.equals(await digest(parts))).toBe(true);
      }),
    );
  });

  test("its engine is that of Node.js", async () => {
    const wasm = await readFile(fileURLToPath(import.meta.resolve("quickjs-wasi/quickjs.wasm")));
    expect(engineDigestOf(await compileEngine(wasm))).toEqual(engineDigestOf(await loadEngine()));
  });

  test("bytes that are not compressed or were cut are refused, and altered bytes unpack to no more than allowed", async () => {
    const content = Buffer.from(Array.from({ length: 20_000 }, (_, n) => (n * n) & 0xff));
    const packed = deflateRawSync(content);
    expect(await decompress(new Uint8Array(), "deflate", MAX)).toBeUndefined();
    expect(await decompress(packed.subarray(0, -1), "deflate", MAX)).toBeUndefined();
    expect(await decompress(content, "deflate", MAX)).toBeUndefined();
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), fc.nat(packed.length - 1), async (junk, at) => {
        const altered = Buffer.from(packed);
        altered.set(junk.subarray(0, packed.length - at), at);
        for (const given of [junk, altered]) {
          const unpacked = await decompress(given, "deflate", content.length);
          expect(unpacked?.length ?? 0).toBeLessThanOrEqual(content.length);
        }
      }),
    );
  });

  test("content larger than allowed is refused before much of it is unpacked", async () => {
    const content = Buffer.alloc(128 << 20);
    const bomb = deflateRawSync(content);
    for (const maxBytes of [0, 1, 1000, MAX]) {
      const before = process.memoryUsage().arrayBuffers;
      expect(await decompress(bomb, "deflate", maxBytes)).toBeUndefined();
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(32 << 20);
    }
    const packed = deflateRawSync(content.subarray(0, MAX));
    expect(await decompress(packed, "deflate", MAX - 1)).toBeUndefined();
    expect(await decompress(packed, "deflate", MAX)).toHaveLength(MAX);
  });
});
