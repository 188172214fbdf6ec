/** Compiles many small texts as one TypeScript program. TypeScript 7 is a binary: files go in, diagnostics come out. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "../sources.ts";

const TSC = `${ROOT}node_modules/typescript/bin/tsc`;

const CONFIG = {
  compilerOptions: {
    strict: true,
    noEmit: true,
    target: "es2022",
    lib: ["es2022"],
    module: "esnext",
    moduleDetection: "force",
    types: [],
  },
  include: ["*.ts"],
};

/** For each text the first error of each line that has one, by line from 1 on. */
export async function compile(texts: readonly string[]): Promise<ReadonlyMap<number, string>[]> {
  const folder = await mkdtemp(join(tmpdir(), "codecell-schemas-"));
  try {
    await writeFile(join(folder, "tsconfig.json"), JSON.stringify(CONFIG));
    await Promise.all(texts.map((text, index) => writeFile(join(folder, `${index}.ts`), text)));
    const output = await runCompiler(folder);
    const errors = texts.map(() => new Map<number, string>());
    for (const [, index, line, message = ""] of output.matchAll(/^(\d+)\.ts\((\d+),\d+\): error (.*)$/gmu)) {
      const found = errors[Number(index)];
      if (found !== undefined && !found.has(Number(line))) found.set(Number(line), message);
    }
    const isOdd = output.trim() !== "" && errors.every((found) => found.size === 0);
    if (isOdd) throw new Error(`The compiler said something else: ${output.slice(0, 500)}`);
    return errors;
  } finally {
    await rm(folder, { recursive: true });
  }
}

function runCompiler(folder: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const args = [TSC, "-p", folder, "--pretty", "false"];
    execFile(process.execPath, args, { cwd: folder, maxBuffer: 2 ** 28 }, (error, stdout, stderr) => {
      // 1 and 2 say that there are errors, which is what we want to know.
      if (error !== null && typeof error.code !== "number") reject(error);
      else if (stderr !== "") reject(new Error(stderr));
      else resolve(stdout);
    });
  });
}
