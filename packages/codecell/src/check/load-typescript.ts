/**
 * Runs in the check's thread. Finds a compiler with a JavaScript API. TypeScript 7 has no such API, so a project that
 * builds with it needs an older compiler beside it.
 */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type ts from "@typescript/typescript6";

export type TypeScript = typeof ts;

export interface LoadedTypeScript {
  readonly ts: TypeScript;
  /** The folder of the compiler's `lib.*.d.ts` files. */
  readonly libFolder: string;
}

/** The packages that are tried, in this order, when no option names one. */
export const TYPESCRIPT_PACKAGES: readonly string[] = ["typescript", "@typescript/typescript6"];

const ADVICE = "install one with: npm install @typescript/typescript6";

/** Throws an Error that says what to install. */
export function loadTypeScript(names: readonly string[], from: readonly string[]): LoadedTypeScript {
  const tried: string[] = [];
  for (const name of names) {
    for (const folder of from) {
      const require = createRequire(join(folder, "noop.js"));
      let found: unknown;
      try {
        found = require(name);
      } catch {
        continue;
      }
      if (isCompiler(found)) return { ts: found, libFolder: libFolderOf(found) };
      tried.push(`${name} ${versionOf(found)}`);
    }
  }
  const found = tried.length === 0 ? "none was found" : `found ${[...new Set(tried)].join(", ")}`;
  throw new Error(
    `Cannot check programs: a TypeScript compiler of version 5.9 or 6 is needed, ${found}, ${ADVICE}`,
  );
}

function isCompiler(value: unknown): value is TypeScript {
  if (typeof value !== "object" || value === null) return false;
  const { createProgram, versionMajorMinor } = value as Partial<TypeScript>;
  if (typeof createProgram !== "function" || typeof versionMajorMinor !== "string") return false;
  const [major = 0, minor = 0] = (versionMajorMinor as string).split(".").map(Number);
  return major === 6 || (major === 5 && minor >= 9);
}

function versionOf(value: unknown): string {
  const version =
    typeof value === "object" && value !== null ? (value as { version?: unknown }).version : undefined;
  return typeof version === "string" ? version : "without a compiler";
}

function libFolderOf(compiler: TypeScript): string {
  return dirname(compiler.getDefaultLibFilePath({}));
}
