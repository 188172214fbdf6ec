/** The driver in the guide is complete: its text passes the suite of all stores. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Store } from "codecell/store";
import { testStore } from "codecell/testing";
import { afterAll, describe } from "vitest";
import { ROOT } from "../sources.ts";

const page = readFileSync(`${ROOT}docs/guide/write-a-store.md`, "utf8");
const blocks = [...page.matchAll(/^```ts\n(.*?)^```$/gmsu)].map(([, code = ""]) => code);
const code = blocks.find((block) => block.includes("export function openJsonStore")) ?? "";

// Inside the repository, where package names resolve as they do for users.
const folder = mkdtempSync(`${ROOT}test/.blocks-`);
const data = mkdtempSync(join(tmpdir(), "codecell-guide-"));
afterAll(() => {
  for (const one of [folder, data]) rmSync(one, { recursive: true, force: true });
});
const file = join(folder, "driver.ts");
writeFileSync(file, code);

const { openJsonStore } = (await import(pathToFileURL(file).href)) as {
  openJsonStore: (path: string) => Store;
};

describe("the driver of the guide is complete [store:driver]", () => {
  testStore("json", async (place) => openJsonStore(join(data, `${place}.json`)));
});
