/**
 * Bundles sources into one script, for processes and threads that tests start by the hundred. Otherwise Node.js
 * strips the types of every file in each of them, which takes longer than most of them live.
 *
 * The script is kept below `node_modules/.cache`, where it finds packages, and is replaced in one step, since others
 * may be reading it.
 */
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type BuildOptions, type Plugin } from "esbuild";
import { SOURCE_CONDITION } from "./source-flags.ts";

const FOLDER = new URL("../node_modules/.cache/codecell-tests/", import.meta.url);

export async function bundleText(entry: URL, options: BuildOptions): Promise<string> {
  const result = await build({
    entryPoints: [fileURLToPath(entry)],
    bundle: true,
    write: false,
    platform: "node",
    target: "node22",
    legalComments: "none",
    logLevel: "error",
    ...options,
  });
  const [file] = result.outputFiles ?? [];
  if (file === undefined) throw new Error(`Cannot bundle ${entry.href}: esbuild gave no output`);
  return file.text;
}

/** Bundles our own packages; all others are loaded at run time. */
const packages: Plugin = {
  name: "packages",
  setup: (bundling) => {
    bundling.onResolve({ filter: /^[^./]/ }, ({ path, kind }) =>
      kind === "entry-point" || /^@?codecell(\/|$)/u.test(path) ? undefined : { path, external: true },
    );
  },
};

/** The path of a script that does the same as this file. */
export async function bundleFixture(entry: URL): Promise<string> {
  const text = await bundleText(entry, {
    format: "esm",
    conditions: [SOURCE_CONDITION],
    plugins: [packages],
  });
  return fileURLToPath(await keepBundle(basename(entry.pathname, ".ts"), text));
}

export function bundleUrl(name: string): URL {
  return new URL(`${name}.mjs`, FOLDER);
}

export async function keepBundle(name: string, text: string): Promise<URL> {
  const file = bundleUrl(name);
  await mkdir(FOLDER, { recursive: true });
  await replaceFile(file, text);
  return file;
}

/** Writes a file only if its text changed. */
export async function replaceFile(file: URL, text: string): Promise<void> {
  if ((await readFile(file, "utf8").catch(() => undefined)) === text) return;
  const draft = new URL(`${file.href}.${process.pid}`);
  await writeFile(draft, text);
  await rename(draft, file);
}
