/** What an install of the package leaves behind, without the network an install needs. */
import { access, mkdir, readFile, symlink } from "node:fs/promises";
import { ROOT } from "./sources.ts";

export const PACKAGE: string = `${ROOT}packages/codecell`;

export interface Manifest {
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly dependencies: Readonly<Record<string, string>>;
}

export async function manifestOf(folder: string): Promise<Manifest> {
  return JSON.parse(await readFile(`${folder}/package.json`, "utf8")) as Manifest;
}

/** Puts the package's dependencies, and others of the repository, into a project. */
export async function linkDependencies(project: string, others: readonly string[] = []): Promise<void> {
  for (const name of [...Object.keys((await manifestOf(PACKAGE)).dependencies), ...others]) {
    const target = `${project}/node_modules/${name}`;
    await mkdir(target.slice(0, target.lastIndexOf("/")), { recursive: true });
    const own = `${PACKAGE}/node_modules/${name}`;
    const found = await access(own).then(
      () => own,
      () => `${ROOT}node_modules/${name}`,
    );
    await symlink(found, target, "dir");
  }
}
