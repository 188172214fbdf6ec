/** The driver and the test file in the guide are complete: as they stand there, the driver passes the suite of all stores. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe } from "vitest";
import { ROOT } from "../sources.ts";

const page = readFileSync(`${ROOT}docs/guide/write-a-store.md`, "utf8");
const blocks = [...page.matchAll(/^```(?:ts|text)\n(.*?)^```$/gmsu)].map(([, code = ""]) => code);

function blockWith(code: string): string {
  const found = blocks.find((block) => block.includes(code));
  if (found === undefined) throw new Error(`The guide shows no ${code}`);
  return found;
}

// Inside the repository, where package names resolve as they do for users.
const folder = mkdtempSync(`${ROOT}test/.blocks-`);
afterAll(() => rmSync(folder, { recursive: true, force: true }));
writeFileSync(join(folder, "json-store.ts"), blockWith("export function openJsonStore"));
const suite = join(folder, "suite.ts");
writeFileSync(suite, blockWith('testStore("json"'));

describe("the driver of the guide is complete [store:driver]", async () => {
  await import(pathToFileURL(suite).href);
});
