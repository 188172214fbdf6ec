/**
 * Bundles: the built package, inlined into a server's bundle, which is run where nothing but its output folder is.
 *
 * - Built into a folder of its own: test/package.test.ts removes `dist` while it runs.
 */
import { execFile } from "node:child_process";
import {
  copyFile,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { promisify } from "node:util";
import type * as forBundles from "codecell/bundle";
import { build as bundle, type BuildOptions } from "esbuild";
import { build as viteBuild } from "vite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { renderWorkerText } from "../scripts/build-embedded.ts";
import { linkDependencies, PACKAGE } from "./installed.ts";
import { ROOT } from "./sources.ts";

const execute = promisify(execFile);

/** Has the package installed, and the server's source. */
let project: string;
/** Has nothing; a folder for each bundle. */
let elsewhere: string;
let installed: string;

beforeAll(async () => {
  const base = await realpath(tmpdir());
  project = await mkdtemp(`${base}/codecell-project-`);
  elsewhere = await mkdtemp(`${base}/codecell-bundles-`);
  installed = `${project}/node_modules/codecell`;
  await mkdir(installed, { recursive: true });
  const output = ["--outDir", `${installed}/dist`, "--tsBuildInfoFile", `${project}/.tsbuildinfo`];
  await execute(`${ROOT}node_modules/.bin/tsc`, ["-p", PACKAGE, ...output]);
  await copyFile(`${PACKAGE}/package.json`, `${installed}/package.json`);
  await linkDependencies(project);
  for (const name of ["ai", "zod"])
    await symlink(`${ROOT}node_modules/${name}`, `${project}/node_modules/${name}`);
  await copyFile(`${ROOT}test/bundled-server.fixture.ts`, `${project}/server.ts`);
  await copyFile(`${ROOT}test/bundled-quick-start.fixture.ts`, `${project}/quick-start.ts`);
}, 120_000);

afterAll(async () => {
  await rm(project, { recursive: true, force: true });
  await rm(elsewhere, { recursive: true, force: true });
});

/** Bundles as said, and gives the folder with what there is to ship. */
async function esbuilt(name: string, options: BuildOptions): Promise<string> {
  const { warnings } = await bundle({
    entryPoints: [`${project}/server.ts`],
    outdir: `${elsewhere}/${name}`,
    bundle: true,
    platform: "node",
    target: "node22",
    minify: true,
    logLevel: "error",
    ...options,
  });
  expect(warnings.map(({ text }) => text)).toEqual([]);
  return `${elsewhere}/${name}`;
}

async function viteBuilt(name: string, entry = "server.ts"): Promise<string> {
  await viteBuild({
    configFile: false,
    root: project,
    logLevel: "error",
    build: { ssr: entry, outDir: `${elsewhere}/${name}`, minify: true },
    ssr: { noExternal: true },
  });
  return `${elsewhere}/${name}`;
}

/** Runs it as it was shipped, without a variable of this process; it has to end by itself, before any timeout of ours. */
async function serve(folder: string, file: string, flags: readonly string[] = []): Promise<unknown> {
  const options = { cwd: folder, env: {}, timeout: 25_000 };
  const { stdout, stderr } = await execute(process.execPath, [...flags, file], options);
  expect(stderr.replaceAll(/.*(Experimental|Security)Warning.*\n|^\(Use .*--trace-warnings.*\n/gmu, "")).toBe(
    "",
  );
  return JSON.parse(stdout);
}

const SAID = {
  first: 42,
  protocol: "data:",
  again: "completed",
  text: true,
  resumed: [8, '8 by "ana"'],
  stored: '3 by "bo"',
  hostile: ["timeout", "timeout", "completed"],
  checked: [expect.stringMatching(/^Cannot check programs: .*bundle.*external/u), "unchecked"],
};

describe("a server's bundle", () => {
  test("by esbuild, as an ES module, runs elsewhere and ends by itself [package:bundles]", async () => {
    const folder = await esbuilt("esm", { format: "esm", outExtension: { ".js": ".mjs" } });
    expect(await readdir(folder)).toEqual(["server.mjs"]);
    expect(await serve(folder, "server.mjs")).toEqual(SAID);
  });

  test("by esbuild, as CommonJS, runs elsewhere and ends by itself [package:bundles]", async () => {
    const folder = await esbuilt("cjs", { format: "cjs", outExtension: { ".js": ".cjs" } });
    expect(await readdir(folder)).toEqual(["server.cjs"]);
    expect(await serve(folder, "server.cjs")).toEqual(SAID);
  });

  test("by esbuild, split, has the embedded parts in a chunk of their own", async () => {
    const folder = await esbuilt("split", {
      format: "esm",
      splitting: true,
      outExtension: { ".js": ".mjs" },
    });
    expect((await readFile(`${folder}/server.mjs`)).length).toBeLessThan(600_000);
    expect(await serve(folder, "server.mjs")).toEqual(SAID);
  });

  test("by Vite runs elsewhere and ends by itself [package:bundles]", async () => {
    const folder = await viteBuilt("vite");
    expect(await serve(folder, "server.mjs")).toEqual(SAID);
  });

  test("does not load files that lie around it", async () => {
    const shipped = await esbuilt("plain", { format: "esm" });
    const folder = `${elsewhere}/crowded/sandbox`;
    await cp(shipped, folder, { recursive: true });
    const impostor = 'throw new Error("Started what is not ours");';
    const engine = `${folder}/node_modules/quickjs-wasi`;
    await mkdir(`${elsewhere}/crowded/worker`, { recursive: true });
    await mkdir(`${elsewhere}/crowded/check`, { recursive: true });
    await mkdir(engine, { recursive: true });
    await writeFile(`${folder}/package.json`, '{ "type": "module" }');
    await writeFile(`${elsewhere}/crowded/worker/node.js`, impostor);
    await writeFile(`${elsewhere}/crowded/check/worker.js`, impostor);
    await writeFile(`${engine}/package.json`, '{ "name": "quickjs-wasi", "version": "0.0.1" }');
    await writeFile(`${engine}/quickjs.wasm`, impostor);
    expect(await serve(folder, "server.js")).toEqual(SAID);
  });

  test("with module paths fixed at build time runs whether or not the modules are there", async () => {
    const fixed = (url: string): BuildOptions => ({
      format: "cjs",
      outExtension: { ".js": ".cjs" },
      define: { "import.meta.url": JSON.stringify(url), "import.meta.resolve": "undefined" },
    });
    const gone = await esbuilt("gone", fixed("file:///gone/codecell/dist/sandbox/node/own-file.js"));
    expect(await serve(gone, "server.cjs")).toEqual(SAID);
    const here = await esbuilt("here", fixed(`file://${installed}/dist/sandbox/node/own-file.js`));
    const checked: unknown = [expect.stringMatching(/TypeScript compiler/u), "unchecked"];
    expect(await serve(here, "server.cjs")).toEqual({ ...SAID, protocol: "file:", checked });
  });

  test("needs no file but itself", async () => {
    const folder = await esbuilt("permitted", { format: "esm", outExtension: { ".js": ".mjs" } });
    const flags = [
      "--permission",
      "--allow-worker",
      `--allow-fs-read=${folder}`,
      `--allow-fs-write=${folder}`,
    ];
    expect(await serve(folder, "server.mjs", flags)).toEqual(SAID);
  });

  test("needs no code from strings in its process", async () => {
    const folder = await esbuilt("strict", { format: "esm", outExtension: { ".js": ".mjs" } });
    const flags = ["--disallow-code-generation-from-strings"];
    expect(await serve(folder, "server.mjs", flags)).toEqual(SAID);
  });
});

const REQUIRE =
  'import { createRequire as makeRequire } from "node:module"; const require = makeRequire(import.meta.url);';

/** Two steps, and what the second one was told. */
const QUICK = [2, { type: "json", value: ["Notes on QuickJS"] }];

describe("a server's bundle of codecell/ai runs the quick start elsewhere", () => {
  // OpenTelemetry and undici are not installed there: nobody asked for them.
  test.each(["esm", "cjs"] as const)("by esbuild, %s [package:bundles]", async (format) => {
    const extension = format === "esm" ? ".mjs" : ".cjs";
    const folder = await esbuilt(`quick-${format}`, {
      entryPoints: [`${project}/quick-start.ts`],
      format,
      outExtension: { ".js": extension },
      // A dependency of the AI SDK itself is CommonJS: what its users put into such bundles.
      ...(format === "esm" ? { banner: { js: REQUIRE } } : {}),
    });
    expect(await readdir(folder)).toEqual([`quick-start${extension}`]);
    expect(await serve(folder, `quick-start${extension}`)).toEqual(QUICK);
  });

  test("by Vite [package:bundles]", async () => {
    const folder = await viteBuilt("quick-vite", "quick-start.ts");
    expect(await serve(folder, "quick-start.mjs")).toEqual(QUICK);
  });
});

describe("an installation", () => {
  test("with all its files loads nothing that is embedded", async () => {
    await writeFile(
      `${project}/lean.mjs`,
      `import { createRequire, registerHooks } from "node:module";
       const loaded = [];
       registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
       const { run } = await import("codecell");
       const { defaultWorkerUrl } = await import("codecell/bundle");
       const { value } = await run({ source: "return 1" });
       console.log(JSON.stringify([value, defaultWorkerUrl().href, loaded.filter((url) => /embedded/.test(url))]));`,
    );
    const { stdout } = await execute(process.execPath, ["lean.mjs"], { cwd: project, env: {} });
    const file = `file://${installed}/dist/worker/node.js`;
    expect(JSON.parse(stdout)).toEqual([1, file, [`file://${installed}/dist/sandbox/node/embedded.js`]]);
  });

  test("thinned out to what is imported runs like a bundle", async () => {
    const folder = `${elsewhere}/thinned`;
    await cp(installed, `${folder}/node_modules/codecell`, { recursive: true });
    await rm(`${folder}/node_modules/codecell/dist/worker/node.js`);
    await writeFile(
      `${folder}/main.mjs`,
      `import { createHost } from "codecell";
       import { defaultWorkerUrl } from "codecell/bundle";
       const host = createHost({ workers: 1 });
       const { value } = await host.start({ source: "return 6 * 7" }).result;
       console.log(JSON.stringify([value, defaultWorkerUrl().protocol]));`,
    );
    const { stdout } = await execute(process.execPath, ["main.mjs"], { cwd: folder, env: {} });
    expect(JSON.parse(stdout)).toEqual([42, "data:"]);
  });

  test("embeds the worker of its sources", async () => {
    const built = (await import(`${installed}/dist/sandbox/node/index.js`)) as Pick<
      typeof forBundles,
      "loadWorkerText"
    >;
    expect((await built.loadWorkerText()) === (await renderWorkerText())).toBe(true);
  });
});
