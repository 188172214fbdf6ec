/** The script of the check's thread: loads the compiler once, then checks one program after the other. */
import { parentPort, workerData } from "node:worker_threads";
import { checkProgram } from "./check-program.ts";
import { Compiler } from "./compiler.ts";
import { toAnything } from "./declare-tools.ts";
import { type LoadedTypeScript, loadTypeScript } from "./load-typescript.ts";
import type { CheckCommand, Declared, ThreadAnswer, ThreadCommand, ThreadSetup } from "./messages.ts";

/** Uses what most programs use, so that the compiler is warm for the first real program. */
const FIRST_PROGRAM =
  "const all = await Promise.all([1, 2].map(async (each) => tools.warm({ each })));\n" +
  'return all.filter(Boolean).map(String).join(", ");';

function answer(message: ThreadAnswer): void {
  parentPort?.postMessage(message);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : "The check failed";
}

let awaited: ((declared: Declared) => void) | undefined;

async function check(compiler: Compiler, command: CheckCommand): Promise<void> {
  const { id } = command;
  try {
    const findings = await checkProgram(compiler, command, (names) => {
      if (names.length === 0) return Promise.resolve({ tools: new Map(), names: [] });
      answer({ kind: "wanted", id, names });
      return new Promise((resolve) => {
        awaited = resolve;
      });
    });
    answer({ kind: "checked", id, findings });
  } catch (error) {
    answer({ kind: "failed", id, reason: messageOf(error) });
  }
}

function load({ typescript, from }: ThreadSetup): LoadedTypeScript | undefined {
  try {
    return loadTypeScript(typescript, from);
  } catch (error) {
    answer({ kind: "broken", reason: messageOf(error) });
    return undefined;
  }
}

const loaded = load(workerData as ThreadSetup);
if (loaded !== undefined) {
  const compiler = new Compiler(loaded);
  await checkProgram(
    compiler,
    { kind: "check", id: 0, source: FIRST_PROGRAM, language: "typescript", globals: "" },
    (names) => Promise.resolve({ tools: new Map(names.map((name) => [name, toAnything(name)])), names: [] }),
  );
  parentPort?.on("message", (command: ThreadCommand) => {
    if (command.kind === "declare") awaited?.(command.declared);
    else void check(compiler, command);
  });
  answer({ kind: "ready", version: loaded.ts.version });
}
