import { afterEach, expect, test, vi } from "vitest";
import { createMemoryStore } from "../store/memory.ts";
import { createShapeMemory } from "./shape-memory.ts";

const sealKey = new Uint8Array(32).fill(3);
afterEach(() => vi.useRealTimers());

test("whoever has the key recalls what was remembered, for thirty days [handles:95]", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  await using store = createMemoryStore();
  await createShapeMemory({ store, sealKey }).remember("tool", "shape ü");
  const again = createShapeMemory({ store, sealKey });
  vi.setSystemTime(Date.now() + 29 * 24 * 3_600_000);
  expect(await again.recall("tool")).toBe("shape ü");
  expect(await again.recall("other")).toBeUndefined();
  expect(
    await createShapeMemory({ store, sealKey: new Uint8Array(32).fill(4) }).recall("tool"),
  ).toBeUndefined();
  vi.setSystemTime(Date.now() + 2 * 24 * 3_600_000);
  expect(await again.recall("tool")).toBeUndefined();
});

test("recalls no note that was altered or that belongs to another tool [suspend:tampered]", async () => {
  await using store = createMemoryStore();
  const memory = createShapeMemory({ store, sealKey });
  await memory.remember("tool", "shape");
  const note = await store.getNote("tool");
  if (note === undefined) throw new Error("No note");
  await store.putNote("other", note, Date.now() + 60_000);
  expect(await memory.recall("other")).toBeUndefined();
  await store.putNote("tool", note.with(20, (note[20] ?? 0) ^ 1), Date.now() + 60_000);
  expect(await memory.recall("tool")).toBeUndefined();
});
