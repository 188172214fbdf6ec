/**
 * A snapshot is raw memory. Whoever stores one authenticates it; this is what holds if that fails: whatever a tampered
 * snapshot makes of its guest, only its own run suffers. The process goes on and so do other runs.
 */
import { constants, deflateRawSync, inflateRawSync, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { Progress } from "../../packages/codecell/src/contract/ledger.ts";
import { createPool, DrivenCell, toStart } from "../sandbox/cell-driver.ts";
import { effort, TIMES } from "./effort.ts";

vi.setConfig({ testTimeout: 120_000 * TIMES });

/** Digest, length of the body, method of compression. */
const HEAD_BYTES = 40;
const LENGTH_AT = 32;

const pool = createPool();
const uncaught: unknown[] = [];
const note = (error: unknown): void => void uncaught.push(error);
process.on("uncaughtException", note);
process.on("unhandledRejection", note);
afterAll(async () => {
  await pool[Symbol.asyncDispose]();
  process.off("uncaughtException", note);
  process.off("unhandledRejection", note);
  expect(uncaught).toEqual([]);
});

const ZSTD = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

const PACKINGS = [
  {
    compression: "zstd",
    pack: (bytes: Uint8Array) => zstdCompressSync(bytes, ZSTD),
    unpack: zstdDecompressSync,
  },
  {
    compression: "deflate",
    pack: (bytes: Uint8Array) => deflateRawSync(bytes, { level: 1 }),
    unpack: inflateRawSync,
  },
] as const;

const waiting = toStart(
  `const seen: any[] = []; const names = new Map<string, number>();
   setTimeout(() => console.log("tick", seen.length), 5);
   for (let i = 0; i < 6; i++) {
     const [a, b] = await Promise.all([tools.turn({ v: i }), tools.now({ v: "x" + i })]);
     names.set(b.v, a.v); seen.push({ a, b, at: Date.now(), r: Math.random() });
     console.log(i, seen.at(-1));
     try { await tools.fail({}) } catch (error) { console.warn((error as Error).message) }
   }
   return [seen, [...names]];`,
  { cpuTimeMs: 100, memoryBytes: 16 * 1024 * 1024 },
);

describe.each(PACKINGS)(
  "a tampered snapshot, compressed by $compression",
  ({ compression, pack, unpack }) => {
    const start = { ...waiting, compression };
    let whole: Uint8Array;
    let body: Buffer;
    let progress: Progress;

    beforeAll(async () => {
      const cell = new DrivenCell(pool, start);
      await cell.reports(1);
      for (let step = 0; step < 5; step++) await cell.step(0);
      const bytes = await cell.placement.snapshot();
      if (bytes === undefined) throw new Error("No snapshot");
      whole = bytes;
      progress = cell.progress;
      body = unpack(bytes.subarray(HEAD_BYTES));
      cell.placement.drop();
    });

    /** The same snapshot with another body. */
    function withBody(altered: Uint8Array): Uint8Array<ArrayBuffer> {
      const packed = pack(altered);
      const bytes = new Uint8Array(HEAD_BYTES + packed.length);
      bytes.set(whole.subarray(0, HEAD_BYTES));
      new DataView(bytes.buffer).setUint32(LENGTH_AT, altered.length, true);
      bytes.set(packed, HEAD_BYTES);
      return bytes;
    }

    /** Takes a snapshot up and goes on to some end; its loss is one. */
    async function goOn(bytes: Uint8Array<ArrayBuffer>, from: Progress = progress): Promise<DrivenCell> {
      const cell = new DrivenCell(pool, { ...start, snapshot: { bytes, progress: from } });
      await cell.reports(1);
      // What was pending is not in the reports of this placement.
      for (let call = 0; call < from.calls && !cell.isOver; call++) {
        await cell.deliver({ clock: start.clock + 99, items: [{ kind: "output", call, output: '{"v":1}' }] });
      }
      for (let step = 0; step < 40; step++) if (!(await cell.step(step))) break;
      cell.placement.drop();
      return cell;
    }

    async function expectSound(): Promise<void> {
      for (;;) {
        const cell = new DrivenCell(pool, toStart("return (await tools.now({ v: 41 })).v + 1"));
        await cell.reports(1);
        await cell.step(0);
        // A neighbour's crash moves it away; then it is placed again, as a run would be.
        if (cell.loss === "displaced") continue;
        expect(cell.last?.end).toEqual({ status: "returned", result: "42" });
        return;
      }
    }

    test("as it is, it goes on", async () => {
      const cell = await goOn(withBody(body));
      expect(cell.loss).toBeUndefined();
      expect(cell.said.length).toBeGreaterThan(3);
    });

    test("with bits flipped anywhere it fails alone, or is refused", async () => {
      const stateEnd = 16 + body.readUInt32LE(0) + body.readUInt32LE(4);
      const flip = fc.record({
        // Memory is most of it, and what matters here.
        at: fc.oneof(
          { weight: 400, arbitrary: fc.integer({ min: stateEnd, max: body.length - 1 }) },
          fc.nat(body.length - 1),
        ),
        mask: fc.integer({ min: 1, max: 255 }),
      });
      const ends = { fine: 0, refused: 0, failed: 0, lost: 0 };
      // What is compressed is the same for both.
      const times = compression === "zstd" ? 250 : 25;
      await fc.assert(
        fc.asyncProperty(fc.array(flip, { minLength: 1, maxLength: 200, size: "max" }), async (flips) => {
          const altered = Buffer.from(body);
          for (const { at, mask } of flips) altered[at] = (altered[at] ?? 0) ^ mask;
          const cell = await goOn(withBody(altered));
          if (cell.loss === "snapshot_refused") ends.refused++;
          else if (cell.loss !== undefined) ends.lost++;
          else if (cell.last?.end?.status === "failed") ends.failed++;
          else ends.fine++;
          await expectSound();
        }),
        effort(times),
      );
      expect(ends.failed).toBeGreaterThan(times / 5);
    });

    test("in the compressed bytes it is refused or the same", async () => {
      await fc.assert(
        fc.asyncProperty(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }), async (at, mask) => {
          const altered = Uint8Array.from(whole);
          altered[at] = (altered[at] ?? 0) ^ mask;
          const cell = await goOn(altered);
          if (at < HEAD_BYTES) expect(cell.loss).toBe("snapshot_refused");
          await expectSound();
        }),
        effort(100),
      );
    });

    test("random bytes in its place are refused", async () => {
      await fc.assert(
        fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (bytes) => {
          for (const given of [bytes, Buffer.concat([whole.subarray(0, LENGTH_AT), bytes])]) {
            expect((await goOn(new Uint8Array(given))).loss).toBe("snapshot_refused");
          }
        }),
        effort(40),
      );
      expect((await goOn(withBody(Buffer.alloc(20 * 1024 * 1024)))).loss).toBe("snapshot_refused");
      // Far more than it says.
      const bomb = withBody(Buffer.alloc(200 * 1024 * 1024));
      for (const length of [16, 1000, 0xffff_ffff]) {
        new DataView(bomb.buffer).setUint32(LENGTH_AT, length, true);
        expect((await goOn(bomb)).loss).toBe("snapshot_refused");
      }
      await expectSound();
    });
  },
);
