/** The test file that docs/guide/write-a-store.md shows: its driver is a whole store. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createHost } from "codecell";
import { testStore } from "codecell/testing";
import { afterAll, expect, test } from "vitest";
import { openJsonStore } from "./json-store.ts";

const folder = mkdtempSync(join(tmpdir(), "stores-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

testStore("json", async (place) => openJsonStore(join(folder, `${place}.json`)));

test("a host keeps a run that has ended", async () => {
  const store = openJsonStore(join(folder, "runs.json"));
  const sealKey = new Uint8Array(32).fill(1);
  const host = createHost({ workers: 1, store, sealKey, keepEnded: { forMs: 60_000 } });
  const { runId, result } = host.start({ source: "return 1 + 1" });
  expect(await result).toMatchObject({ status: "completed", value: 2 });
  expect(await store.list({ status: "completed" })).toMatchObject([{ id: runId }]);
  expect((await host.readEnded({ id: runId }))?.result).toEqual(await result);
  await host[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});
