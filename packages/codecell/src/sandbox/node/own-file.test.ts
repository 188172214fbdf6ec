/** Where this package finds its own files, and where it must not look. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ownFile } from "./own-file.ts";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(`${tmpdir()}/codecell own file-`);
  for (const name of ["worker", "sandbox/node"]) await mkdir(`${folder}/${name}`, { recursive: true });
  await writeFile(`${folder}/worker/node.js`, "");
});

afterAll(() => rm(folder, { recursive: true, force: true }));

test("files of the sources are found beside this one", () => {
  expect(ownFile("worker/node")?.href).toBe(new URL("../../worker/node.ts", import.meta.url).href);
  expect(ownFile("worker/nobody")).toBeUndefined();
});

test("a built file finds built files, whatever the folder is called", () => {
  const self = pathToFileURL(`${folder}/sandbox/node/own-file.js`).href;
  expect(ownFile("worker/node", self)?.href).toBe(pathToFileURL(`${folder}/worker/node.js`).href);
  expect(ownFile("worker/node", self.replace(/\.js$/u, ".ts"))).toBeUndefined();
});

test("code that has moved finds nothing, whatever files are around it", () => {
  const at = (path: string): string => pathToFileURL(`${folder}/${path}`).href;
  expect(ownFile("worker/node", "")).toBeUndefined();
  expect(ownFile("worker/node", at("sandbox/node/server.js"))).toBeUndefined();
  expect(ownFile("worker/node", `${at("sandbox/node/own-file.js")}?v=1`)).toBeUndefined();
  expect(ownFile("worker/node", at("sandbox/node/own-file.mjs"))).toBeUndefined();
  expect(ownFile("worker/node", "https://localhost/sandbox/node/own-file.js")).toBeUndefined();
});
