import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ROOT } from "./sources.ts";

test("tests run on the pinned Node.js, not on the machine's", () => {
  // When this fails, the install dropped optional dependencies: run `npm ci --include=optional`.
  expect(process.versions.node).toMatch(/^24\./u);
});

test("the pins of Node.js agree", () => {
  const { optionalDependencies } = JSON.parse(readFileSync(`${ROOT}package.json`, "utf8")) as {
    optionalDependencies: Record<string, string>;
  };
  const pinned = readFileSync(`${ROOT}.node-version`, "utf8").trim();
  const packages = Object.entries(optionalDependencies).filter(([name]) => name.startsWith("node-"));
  expect(packages.length).toBeGreaterThan(0);
  expect(new Set(packages.map(([, version]) => version))).toEqual(new Set([pinned]));
});
