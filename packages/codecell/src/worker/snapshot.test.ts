import { deflateRawSync, inflateRawSync, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { STATUS_BYTES } from "../protocol/messages.ts";
import { PRELUDE_BYTECODE } from "../guest/prelude.generated.ts";
import { loadEngine } from "../sandbox/node/engine.ts";
import { GRANULE_WORDS, Image } from "./image.ts";
import type { Compression } from "../contract/compression.ts";
import { createNodePlatform } from "./node-platform.ts";
import type { Eventual, WorkerPlatform } from "./platform.ts";
import { type CellState, type Snapshot, SnapshotCodec } from "./snapshot.ts";
import type { GuestStart, Vm } from "./vm.ts";

const START: GuestStart = {
  seed: "ab".repeat(32),
  toolNames: '["step"]',
  flags: 0,
  texts: [],
};

const prelude = Buffer.from(PRELUDE_BYTECODE, "base64");
const engine = await loadEngine();
const platform = createNodePlatform(new Int32Array(new SharedArrayBuffer(STATUS_BYTES)));
const image = new Image(engine, prelude, platform.equal);
const codec = new SnapshotCodec(image, platform);
const MEMORY_BYTES = 64 * 1024 * 1024;
const LENGTH_AT = 32;
const METHOD_AT = 36;
const HEAD_BYTES = 40;
const FIRST_GRANULE = image.addresses.stackPointer / 64;
const END_GRANULE = image.bytes.length / 64;

const state: CellState = {
  progress: { deliveries: 3, calls: 4, timers: 2, logs: 5 },
  settledCalls: 2,
  timers: [1, 7],
  clock: 1_700_000_000_000,
  cpuTimeMs: 1.25,
  logBytes: 99,
  logsDropped: 1,
  returned: '"ü"',
  unhandled: { failure: { code: "guest_error", message: "Error: x" }, call: null },
};

function memoryOf(
  granules: readonly number[],
  fill = 7,
  byteLength = image.bytes.length,
): Snapshot["memory"] {
  const words = Int32Array.from({ length: granules.length * GRANULE_WORDS }, (_, index) => index * fill);
  return { byteLength, granules: Uint32Array.from(granules), words };
}

/** The value of a platform that must answer at once. */
function atOnce<T>(value: Eventual<T>): T {
  if (value instanceof Promise) throw new Error("Cost a promise");
  return value;
}

function encode(snapshot: Snapshot, origin = "o", method?: Compression): Uint8Array<ArrayBuffer> {
  const bytes = atOnce(codec.encode(snapshot, origin, method));
  if (bytes === undefined) throw new Error("Too large");
  return bytes;
}

const memory = memoryOf([FIRST_GRANULE, FIRST_GRANULE + 1, FIRST_GRANULE + 9]);
const good = encode({ state, memory });
const METHODS = ["none", "zstd", "deflate"] as const;

/** The same snapshot with its body altered, compressed with `method`. */
function alter(
  change: (body: Buffer) => Uint8Array,
  method: (typeof METHODS)[number] = "zstd",
): Uint8Array<ArrayBuffer> {
  const body = change(zstdDecompressSync(good.subarray(HEAD_BYTES)));
  const packed = { none: body, zstd: zstdCompressSync(body), deflate: deflateRawSync(body) }[method];
  const bytes = Buffer.concat([good.subarray(0, HEAD_BYTES), packed]);
  bytes.writeUInt32LE(body.length, LENGTH_AT);
  bytes.writeUInt32LE(METHODS.indexOf(method), METHOD_AT);
  return new Uint8Array(bytes);
}

function withMethod(number: number): Uint8Array {
  const bytes = Uint8Array.from(good);
  new DataView(bytes.buffer).setUint32(METHOD_AT, number, true);
  return bytes;
}

/** A snapshot with its state altered. All lengths in it are right, so a reader can refuse only the state. */
function withState(change: Partial<Record<keyof CellState, unknown>>): Uint8Array {
  return encode({ state: { ...state, ...change } as CellState, memory: memoryOf([]) });
}

const decode = (bytes: Uint8Array, origin = "o"): Snapshot | undefined =>
  atOnce(codec.decode(bytes, origin, MEMORY_BYTES));

describe("a snapshot", () => {
  test("gives back the state and every byte of the memory", () => {
    const beyond = image.bytes.length + 65_536 * 4;
    const granules = fc
      .uniqueArray(fc.integer({ min: FIRST_GRANULE, max: beyond / 64 - 1 }), { maxLength: 300 })
      .map((numbers) => numbers.sort((a, b) => a - b));
    fc.assert(
      fc.property(granules, fc.integer(), fc.string({ unit: "binary" }), (numbers, fill, returned) => {
        const snapshot = {
          state: { ...state, returned: JSON.stringify(returned) },
          memory: memoryOf(numbers, fill, beyond),
        };
        const bytes = encode(snapshot);
        expect(decode(bytes)).toEqual(snapshot);
        expect(Buffer.compare(encode(snapshot), bytes)).toBe(0);
      }),
    );
  });

  test("brings a vm back byte for byte, but for what the allocator holds free", () => {
    const begin = (vm: Vm): void => {
      vm.owner = { clock: 1, interrupt: () => false, hostCall: () => undefined };
      vm.limit(MEMORY_BYTES, 256 * 1024);
      const script =
        "(async()=>{ globalThis.big = new Uint8Array(3e6).fill(5); await tools.step('x'.repeat(50000)) })";
      expect(vm.start(script, START, () => {})).toBe("ok");
      expect(vm.runJobs()).toBe("ok");
    };
    const vm = image.createVm(2048);
    begin(vm);
    const parked = image.park(vm);
    const restored = image.createVm(2048);
    const found = decode(encode({ state, memory: parked }));
    if (found === undefined) throw new Error("Refused");
    image.unpark(restored, found.memory);
    expect(found.memory).toEqual(parked);
    // Everything that the scan calls live is the same. The rest is as in the image.
    expect(image.park(restored)).toEqual(parked);
    restored.limitAgain(MEMORY_BYTES, 256 * 1024);
    expect(image.park(restored)).toEqual(parked);
  });

  test("is small where a program dropped large data", () => {
    const vm = image.createVm(2048);
    vm.owner = { clock: 1, interrupt: () => false, hostCall: () => undefined };
    vm.limit(MEMORY_BYTES, 256 * 1024);
    const script =
      "(async()=>{ for (let i = 0; i < 9; i++) { const r = await tools.step(i); globalThis.n = r.length } })";
    vm.start(script, START, () => {});
    vm.runJobs();
    for (let call = 0; call < 5; call++) {
      const rows = Array.from({ length: 50 }, (_, n) =>
        Math.sin(call * 1000 + n)
          .toString()
          .repeat(500),
      );
      vm.settle("resolve", call, JSON.stringify(rows));
      vm.runJobs();
    }
    expect(encode({ state, memory: image.park(vm) }).length).toBeLessThan(24 * 1024);
  });

  test("that would be larger than allowed is not made", () => {
    const granules = Array.from({ length: 24 * 16_384 }, (_, index) => FIRST_GRANULE + index);
    expect(codec.encode({ state, memory: memoryOf(granules, 1, MEMORY_BYTES) }, "o")).toBeUndefined();
  });
});

describe("the compression of a snapshot", () => {
  const snapshot = { state, memory };
  const methodOf = (bytes: Uint8Array): string | undefined => METHODS[bytes[METHOD_AT] ?? 9];

  test("a snapshot uses the best method of the platform, or the one that was asked for", () => {
    expect(methodOf(good)).toBe("zstd");
    expect(methodOf(encode(snapshot, "o", "zstd"))).toBe("zstd");
    const deflated = encode(snapshot, "o", "deflate");
    expect(methodOf(deflated)).toBe("deflate");
    expect(inflateRawSync(deflated.subarray(HEAD_BYTES))).toEqual(
      zstdDecompressSync(good.subarray(HEAD_BYTES)),
    );
    expect(decode(deflated)).toEqual(decode(good));
  });

  test("a snapshot stays uncompressed if compressing saves nothing", () => {
    const noise = memoryOf(Array.from({ length: 100 }, (_, n) => FIRST_GRANULE + n));
    crypto.getRandomValues(new Uint8Array(noise.words.buffer as ArrayBuffer));
    const bytes = encode({ state, memory: noise });
    expect(methodOf(bytes)).toBe("none");
    const before = Uint8Array.from(bytes);
    expect(decode(bytes)?.memory).toEqual(noise);
    expect(bytes).toEqual(before);
  });

  test.each(METHODS)("a snapshot can be read whatever its method: %s", (method) => {
    expect(decode(alter((body) => body, method))).toEqual(snapshot);
  });

  test("a platform without zstd writes deflate and refuses zstd", () => {
    const page: WorkerPlatform = { ...platform, compressions: ["deflate"] };
    const elsewhere = new SnapshotCodec(image, page);
    const bytes = atOnce(elsewhere.encode(snapshot, "o", "zstd"));
    expect(methodOf(bytes ?? good)).toBe("deflate");
    expect(decode(bytes ?? good)).toEqual(snapshot);
    expect(elsewhere.decode(good, "o", MEMORY_BYTES)).toBeUndefined();
    expect(
      elsewhere.decode(
        alter((body) => body, "none"),
        "o",
        MEMORY_BYTES,
      ),
    ).toEqual(snapshot);
  });

  test.each(["zstd", "deflate"] as const)(
    "a reader never unpacks more than a snapshot says: %s",
    (method) => {
      const bomb = alter(() => Buffer.alloc(64 << 20), method);
      expect(bomb.length).toBeLessThan(100_000);
      for (const length of [16, 1000, 20 << 20, 64 << 20, 0xffff_ffff]) {
        new DataView(bomb.buffer).setUint32(LENGTH_AT, length, true);
        const before = process.memoryUsage().arrayBuffers;
        expect(decode(bomb)).toBeUndefined();
        expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(24 << 20);
      }
    },
  );
});

describe("a snapshot is refused", () => {
  test("from another start, image, engine or format", () => {
    expect(decode(good, "other")).toBeUndefined();
    for (let at = 0; at < 32; at++) {
      const bytes = Uint8Array.from(good);
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      expect(decode(bytes)).toBeUndefined();
    }
    const twin = new SnapshotCodec(new Image(engine, prelude, platform.equal), platform);
    expect(twin.decode(good, "o", MEMORY_BYTES)).toEqual(decode(good));
    const changed = new Image(engine, prelude, platform.equal);
    changed.bytes[image.addresses.scratch] = 1;
    expect(new SnapshotCodec(changed, platform).decode(good, "o", MEMORY_BYTES)).toBeUndefined();
  });

  test("when it needs more memory than there may be", () => {
    const large = encode({ state, memory: memoryOf([], 0, image.bytes.length + 65_536) });
    expect(decode(large)).toBeDefined();
    expect(codec.decode(large, "o", image.bytes.length)).toBeUndefined();
  });

  test.each([
    ["cut off", () => good.subarray(0, good.length - 3)],
    ["nothing but its head", () => good.subarray(0, HEAD_BYTES)],
    ["shorter than its head", () => good.subarray(0, HEAD_BYTES - 1)],
    ["empty", () => new Uint8Array()],
    ["of another method than it says", () => withMethod(2)],
    ["of no method there is", () => withMethod(3)],
    ["of a method beyond a byte", () => withMethod(257)],
    ["said to be not compressed", () => withMethod(0)],
    ["not compressed and cut off", () => alter((body) => body, "none").slice(0, -4)],
    ["deflated and cut off", () => alter((body) => body, "deflate").slice(0, -1)],
    ["longer than it says", () => alter((body) => Buffer.concat([body, Buffer.alloc(4)]))],
    ["shorter than it says", () => alter((body) => body.subarray(0, -64))],
    ["no body", () => alter(() => new Uint8Array(4))],
    ["a longer state than there is", () => alter((body) => (body.writeUInt32LE(0xffff_ffff, 0), body))],
    ["more runs than there are", () => alter((body) => (body.writeUInt32LE(0xffff_ffff, 4), body))],
    ["less memory than the image", () => alter((body) => (body.writeUInt32LE(1, 8), body))],
    ["far more memory", () => alter((body) => (body.writeUInt32LE(0xffff_ffff, 8), body))],
    ["more granules than there are", () => alter((body) => (body.writeUInt32LE(4, 12), body))],
    ["fewer granules than there are", () => alter((body) => (body.writeUInt32LE(2, 12), body))],
    ["a state that is not a text", () => alter((body) => (body.fill(0xff, 16, 20), body))],
    ["a state that is not JSON", () => alter((body) => (body.write("}", 16), body))],
  ])("when it is %s", (_name, make) => {
    expect(decode(good)).toBeDefined();
    expect(decode(make())).toBeUndefined();
  });

  test.each([
    ["in the stack", [FIRST_GRANULE - 1]],
    ["beyond the memory", [END_GRANULE]],
    ["not ascending", [FIRST_GRANULE + 5, FIRST_GRANULE + 3]],
    ["twice", [FIRST_GRANULE + 5, FIRST_GRANULE + 5]],
  ])("when it has a granule %s", (_name, granules) => {
    expect(decode(encode({ state, memory: memoryOf(granules) }))).toBeUndefined();
  });

  test.each(Object.keys(state) as (keyof CellState)[])("when %s is anything else", (name) => {
    for (const value of [undefined, -1, 0.5, "x", [], {}, true, [1, 1], [-1], { progress: 1 }]) {
      const isFine =
        (name === "returned" && value === "x") ||
        ((name === "clock" || name === "cpuTimeMs") && value === 0.5) ||
        (name === "timers" && Array.isArray(value) && value.length === 0);
      if (!isFine) expect(decode(withState({ [name]: value })), JSON.stringify(value)).toBeUndefined();
    }
  });

  test("when it counts so far that counting on would not be exact", () => {
    const far = Number.MAX_SAFE_INTEGER;
    expect(decode(withState({ logsDropped: far }))).toBeUndefined();
    expect(decode(withState({ logBytes: far }))).toBeUndefined();
    expect(decode(withState({ progress: { ...state.progress, logs: far } }))).toBeUndefined();
  });

  test("when more calls are settled than were made", () => {
    expect(decode(withState({ settledCalls: 4 }))).toBeDefined();
    expect(decode(withState({ settledCalls: 5 }))).toBeUndefined();
  });

  test("unless its memory is sound, whatever its bytes are", () => {
    const bodies = fc.uint8Array({ minLength: 16, maxLength: 300 });
    fc.assert(
      fc.property(bodies, fc.nat(3), fc.constantFrom(...METHODS), (body, kind, method) => {
        const bytes = alter((whole) => {
          if (kind === 0) return body;
          const copy = Buffer.from(whole);
          for (let at = 0; at + 1 < body.length; at += 2) {
            const where = ((body[at] ?? 0) * 7) % (kind === 1 ? 16 : copy.length);
            copy[where] = body[at + 1] ?? 0;
          }
          return copy;
        }, method);
        const found = decode(bytes);
        if (found !== undefined) expect(image.isParked(found.memory, MEMORY_BYTES)).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });
});
