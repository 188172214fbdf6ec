/** Runs on the host. Says whether the programs of a connector are there. */
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { delimiter, resolve } from "node:path";
import type { ResolvedCommand } from "./options.ts";

/** What a command lacks; undefined if it can run. */
export async function lackOf(command: ResolvedCommand): Promise<"cwd" | "program" | undefined> {
  const { cwd } = command;
  const isFolder = await stat(cwd).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isFolder) return "cwd";
  for (const path of pathsOf(command)) if (await isProgram(path)) return undefined;
  return "program";
}

/** Where the system looks for the program, in this order. */
function pathsOf({ program, cwd, env }: ResolvedCommand): string[] {
  if (program.includes("/") || (IS_WINDOWS && program.includes("\\")))
    return withEndings(resolve(cwd, program), env);
  const { PATH = "" } = env;
  return PATH.split(delimiter).flatMap((folder) => withEndings(resolve(cwd, folder, program), env));
}

const IS_WINDOWS = process.platform === "win32";

function withEndings(path: string, { PATHEXT = ".EXE;.COM" }: Readonly<Record<string, string>>): string[] {
  return IS_WINDOWS ? [path, ...PATHEXT.split(";").map((ending) => `${path}${ending}`)] : [path];
}

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}
