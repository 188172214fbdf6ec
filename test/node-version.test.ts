import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { SOURCE_CONDITION, SOURCE_FLAGS } from "../scripts/source-flags.ts";
import { filesBelow, ROOT } from "./sources.ts";

const pinned = readFileSync(`${ROOT}.node-version`, "utf8").trim();

test("tests run on the pinned line of Node.js, or on the version they were asked to run on", () => {
  const { NODE_UNDER_TEST: asked } = process.env;
  if (asked !== undefined) expect(process.versions.node).toBe(asked);
  // When this fails, use the version of .node-version: `npm ci --include=optional` installs it on Linux and Windows.
  else expect(process.versions.node.split(".")[0]).toBe(pinned.split(".")[0]);
});

test("the pins of Node.js agree", () => {
  const { optionalDependencies } = JSON.parse(readFileSync(`${ROOT}package.json`, "utf8")) as {
    optionalDependencies: Record<string, string>;
  };
  const packages = Object.entries(optionalDependencies).filter(([name]) => name.startsWith("node-"));
  expect(packages.length).toBeGreaterThan(0);
  expect(new Set(packages.map(([, version]) => version))).toEqual(new Set([pinned]));
});

test("what Node.js runs as it is, without a compiler, runs on Node 22 too", () => {
  // Vitest compiles tests; bundlers compile what is bundled.
  const isCompiled = /\.(test|test-d)\.ts$|^test\/bundled-/u;
  const run = ["test", "examples", "packages"]
    .flatMap((folder) => filesBelow(folder))
    // What is public for tests is for Vitest too.
    .filter((path) => !isCompiled.test(path) && !/^packages\/\w+\/src\/testing\//u.test(path));
  expect(run).toContain("test/attacks/child.ts");
  const documents = ["README.md", ...filesBelow("docs", ".md")];
  const tooNew = [...run, ...documents].filter((path) =>
    /(^|\()\s*(await )?using \w+[^=\n]*=/mu.test(readFileSync(`${ROOT}${path}`, "utf8")),
  );
  expect(tooNew, "`using` is newer than Node 22").toEqual([]);
});

test("whatever runs the sources has the flags without which Node 24 may die", () => {
  expect(process.execArgv).toEqual(expect.arrayContaining([...SOURCE_FLAGS]));
  const files = ["test", "packages", "scripts", "bench", "examples"].flatMap((folder) => filesBelow(folder));
  const own = new Set(["scripts/source-flags.ts", "test/exports.test.ts"]);
  const withFlagsOfTheirOwn = [...files, "vitest.config.ts"].filter(
    (path) => !own.has(path) && readFileSync(`${ROOT}${path}`, "utf8").includes(`"${SOURCE_CONDITION}"`),
  );
  expect(withFlagsOfTheirOwn).toEqual([]);
  const manifests = ["packages", "examples", "bench"].flatMap((folder) => filesBelow(folder, "package.json"));
  const started = ["package.json", ...manifests].flatMap((path) => {
    const { scripts = {} } = JSON.parse(readFileSync(`${ROOT}${path}`, "utf8")) as {
      scripts?: Record<string, string>;
    };
    return Object.values(scripts).filter((script) => script.includes(SOURCE_CONDITION));
  });
  expect(started.length).toBeGreaterThan(10);
  expect(started.filter((script) => !script.startsWith(`node ${SOURCE_FLAGS.join(" ")}`))).toEqual([]);
});
