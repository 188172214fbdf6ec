/**
 * Runs in the check's thread. Owns a TypeScript compiler that stays warm from one program to the next.
 *
 * - What all programs share (the language, the guest's globals) is parsed and bound once, most of it as one file.
 * - Each tool's declaration is a file of its own, kept as long as its text stays the same.
 * - After the start the compiler reads nothing from disk. It never writes a file and resolves no module.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type ts from "@typescript/typescript6";
import { GUEST_LIB, LIB_PARTS } from "./guest-lib.ts";
import type { LoadedTypeScript, TypeScript } from "./load-typescript.ts";

/** Most files of declarations that are kept for later programs. */
const MOST_KEPT = 2000;
const LIB_FILE = "/lib.d.ts";

export class Compiler {
  readonly ts: TypeScript;
  readonly #options: ts.CompilerOptions;
  readonly #libs: readonly ts.SourceFile[];
  readonly #kept = new Map<string, ts.SourceFile>();
  #last: ts.Program | undefined;

  constructor({ ts: compiler, libFolder }: LoadedTypeScript) {
    this.ts = compiler;
    this.#options = {
      target: compiler.ScriptTarget.ESNext,
      module: compiler.ModuleKind.ESNext,
      moduleDetection: compiler.ModuleDetectionKind.Auto,
      noLib: true,
      noResolve: true,
      types: [],
      noEmit: true,
      skipLibCheck: true,
      allowJs: true,
      checkJs: true,
      strict: true,
      noImplicitThis: false,
      useUnknownInCatchVariables: false,
      // With this setting the compiler says which code is dead.
      allowUnreachableCode: false,
    };
    const { script, modules } = readLibs(libFolder);
    this.#libs = [
      this.parse(LIB_FILE, `${script}\n${GUEST_LIB}`),
      ...modules.map((text, index) => this.parse(`/lib-${index}.d.ts`, text)),
    ];
  }

  parse(name: string, text: string): ts.SourceFile {
    return this.ts.createSourceFile(name, text, { languageVersion: this.ts.ScriptTarget.ESNext }, true);
  }

  /** As `parse`, but gives the file of the last time if the text is the same. */
  parseKept(name: string, text: string): ts.SourceFile {
    const known = this.#kept.get(name);
    if (known?.text === text) return known;
    if (this.#kept.size >= MOST_KEPT) this.#kept.clear();
    const parsed = this.parse(name, text);
    this.#kept.set(name, parsed);
    return parsed;
  }

  /** A program of these files and of what all programs share. */
  link(files: readonly ts.SourceFile[]): ts.Program {
    const byName = new Map([...this.#libs, ...files].map((file) => [file.fileName, file]));
    const host: ts.CompilerHost = {
      getSourceFile: (name) => byName.get(name),
      fileExists: (name) => byName.has(name),
      readFile: (name) => byName.get(name)?.text,
      getDefaultLibFileName: () => LIB_FILE,
      getCurrentDirectory: () => "/",
      getCanonicalFileName: (name) => name,
      useCaseSensitiveFileNames: () => true,
      getNewLine: () => "\n",
      writeFile: () => {},
    };
    this.#last = this.ts.createProgram({
      rootNames: [...byName.keys()],
      options: this.#options,
      host,
      ...(this.#last === undefined ? {} : { oldProgram: this.#last }),
    });
    return this.#last;
  }
}

interface LibTexts {
  readonly script: string;
  /** Parts that are modules, so that each has to be a file of its own. */
  readonly modules: readonly string[];
}

/** The parts of the language, joined to one text: merging them once costs less than merging them for every program. */
function readLibs(folder: string): LibTexts {
  const seen = new Set<string>();
  const texts: string[] = [];
  const add = (part: string): void => {
    if (seen.has(part)) return;
    seen.add(part);
    const text = readLib(join(folder, `lib.${part}.d.ts`));
    if (text === undefined) return;
    for (const [, needed = ""] of text.matchAll(/^\/\/\/\s*<reference\s+lib="([^"]+)"/gmu)) add(needed);
    texts.push(text.replaceAll(/^\/\/\/.*$/gmu, ""));
  };
  for (const part of LIB_PARTS) add(part);
  return {
    script: texts.filter((text) => !isModule(text)).join("\n"),
    modules: texts.filter(isModule),
  };
}

function isModule(text: string): boolean {
  return /^export \{\};?/mu.test(text);
}

function readLib(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
