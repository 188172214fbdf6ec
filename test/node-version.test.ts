import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { SOURCE_CONDITION, SOURCE_FLAGS } from "../scripts/source-flags.ts";
import { filesBelow, ROOT } from "./sources.ts";

const pinned = readFileSync(`${ROOT}.node-version`, "utf8").trim();

test("tests run on the pinned Node.js, or the one they were asked to run on, not on the machine's", () => {
  // When this fails, the install dropped optional dependencies: run `npm ci --include=optional`.
  expect(process.versions.node).toBe(process.env["NODE_UNDER_TEST"] ?? pinned);
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
  const isRunAsItIs = /^examples\/|\.fixture\.ts$|^test\/attacks\/(?!.*\.test\.ts$)/u;
  // Those are bundled first.
  const isCompiled = /^test\/bundled-/u;
  const files = ["test", "examples"].flatMap((folder) => filesBelow(folder));
  const run = files.filter((path) => isRunAsItIs.test(path) && !isCompiled.test(path));
  expect(run.length).toBeGreaterThan(20);
  const documents = ["README.md", "packages/codecell/README.md", "docs/ai-sdk.md"];
  const tooNew = [...run, ...documents].filter((path) =>
    /^\s*(await )?using \w+(: \w+)? =/mu.test(readFileSync(`${ROOT}${path}`, "utf8")),
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
  const { scripts } = JSON.parse(readFileSync(`${ROOT}package.json`, "utf8")) as {
    scripts: Record<string, string>;
  };
  const started = Object.values(scripts).filter((script) => script.includes(SOURCE_CONDITION));
  expect(started.filter((script) => !script.startsWith(`node ${SOURCE_FLAGS.join(" ")}`))).toEqual([]);
});
