/**
 * Readme: the contract's own blocks of code, word for word from the package that it is written in, run with our package
 * in place of theirs.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { ROOT } from "../../sources.ts";

const PACKAGE = "experimental-ai-sdk-code-mode";
const SCOPE = Symbol.for("codecell.test.contract");

interface Block {
  readonly section: string;
  readonly code: string;
}

export const BLOCKS: readonly Block[] = readBlocks();

function readBlocks(): readonly Block[] {
  const text = readFileSync(`${ROOT}node_modules/${PACKAGE}/README.md`, "utf8");
  const blocks: Block[] = [];
  let section = "";
  for (const [, heading, code] of text.matchAll(/^#{2,3} ([^\n]+)$|^```ts\n(.*?)^```$/gmsu)) {
    if (heading !== undefined) section = heading;
    else blocks.push({ section, code: code ?? "" });
  }
  return blocks;
}

/** The nth block of a section. */
export function blockOf(section: string, index = 0): string {
  const found = BLOCKS.filter((one) => one.section === section)[index];
  if (found === undefined) throw new Error(`The contract has no block ${index} in "${section}"`);
  return found.code;
}

export interface Surroundings {
  /** Import statements that the block leaves to its reader. */
  readonly imports?: string;
  /** Names that the block leaves to its reader, with their values. */
  readonly free?: Readonly<Record<string, unknown>>;
  /** What the block declares that is wanted, and code behind it. */
  readonly gives?: readonly string[];
}

let count = 0;

/** Runs a block as a module beside its test, so that packages are found as they are there. */
export async function runBlock(
  block: string,
  { imports = "", free = {}, gives = [] }: Surroundings = {},
): Promise<Readonly<Record<string, unknown>>> {
  // Inside the repository, where package names resolve.
  const folder = mkdtempSync(`${ROOT}test/ai-sdk/.contract-`);
  const file = `${folder}/block-${process.pid}-${++count}.ts`;
  const names = Object.keys(free);
  const code = [
    imports,
    names.length > 0
      ? `let { ${names.join(", ")} } = (globalThis as any)[Symbol.for("codecell.test.contract")];`
      : "",
    block,
    `export { ${gives.join(", ")} };`,
  ].join("\n");
  writeFileSync(file, code.replaceAll(`"${PACKAGE}"`, '"codecell/ai"'));
  Object.assign(globalThis, { [SCOPE]: free });
  try {
    return (await import(/* @vite-ignore */ file)) as Record<string, unknown>;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
