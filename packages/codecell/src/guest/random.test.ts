/** Random values are a function of the seed. */
import { createCipheriv } from "node:crypto";
import { expect, test } from "vitest";
import { openGuest, SEED } from "./inside/testing/open-guest.ts";

test("the same seed gives the same values, and without a seed asking for values throws", async () => {
  const script =
    "[Math.random(), Math.random(), crypto.randomUUID(), [...crypto.getRandomValues(new Uint8Array(100))], Math.random()]";
  using one = await openGuest();
  using two = await openGuest();
  expect(one.evaluate(script)).toEqual(two.evaluate(script));
  expect(one.evaluate(script)).not.toEqual(one.evaluate(script));
  using unseeded = await openGuest({ isSeeded: false });
  for (const ask of ["Math.random()", "crypto.randomUUID()", "crypto.getRandomValues(new Uint8Array(1))"]) {
    expect(unseeded.evaluate(ask)).toBe("Error: Cannot give random values: the run has no seed yet");
  }
});

test("crypto bytes are the ChaCha20 key stream of the seed", async () => {
  using guest = await openGuest();
  // The standard reads the key as little-endian words; the seed's words are written big-endian.
  const key = Buffer.from(SEED, "hex").swap32();
  const stream = createCipheriv("chacha20", key, Buffer.alloc(16)).update(Buffer.alloc(1000));
  expect(guest.evaluate("[...crypto.getRandomValues(new Uint8Array(1000))]")).toEqual([...stream]);
});

test("drawing from Math.random does not move the crypto stream", async () => {
  using one = await openGuest();
  using two = await openGuest();
  one.evaluate("Array.from({ length: 1000 }, Math.random)");
  expect(one.evaluate("crypto.randomUUID()")).toBe(two.evaluate("crypto.randomUUID()"));
});

test("Math.random is spread evenly over [0, 1)", async () => {
  using guest = await openGuest();
  const buckets = guest.evaluate(
    "(() => { const b = Array(10).fill(0); for (let i = 0; i < 20000; i++) b[Math.floor(Math.random() * 10)]++; return b })()",
  ) as number[];
  expect(buckets).toHaveLength(10);
  for (const count of buckets) expect(Math.abs(count - 2000)).toBeLessThan(250);
});

test("randomUUID is version 4", async () => {
  using guest = await openGuest();
  const ids = guest.evaluate("Array.from({ length: 50 }, () => crypto.randomUUID())") as string[];
  expect(new Set(ids).size).toBe(50);
  for (const id of ids)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

test("getRandomValues keeps to WHATWG's rules", async () => {
  using guest = await openGuest();
  const name = (call: string): unknown =>
    guest.evaluate(`(() => { try { ${call}; return "no error" } catch (error) { return error.name } })()`);
  expect(name("crypto.getRandomValues(new Float32Array(1))")).toBe("TypeMismatchError");
  expect(name("crypto.getRandomValues(new DataView(new ArrayBuffer(1)))")).toBe("TypeMismatchError");
  expect(name("crypto.getRandomValues([1])")).toBe("TypeMismatchError");
  expect(name("crypto.getRandomValues(new Uint8Array(65537))")).toBe("QuotaExceededError");
  expect(name("crypto.getRandomValues(new Uint32Array(16384))")).toBe("no error");
  expect(name("crypto.getRandomValues.call({}, new Uint8Array(1))")).toBe("TypeError");
  expect(name("new crypto.constructor()")).toBe("TypeError");
  expect(
    guest.evaluate(
      "(() => { const b = new Uint8Array(8); crypto.getRandomValues(new Uint8Array(b.buffer, 2, 3)); return [b[0], b[1], b[5], b[6], b[7]] })()",
    ),
  ).toEqual([0, 0, 0, 0, 0]);
});
