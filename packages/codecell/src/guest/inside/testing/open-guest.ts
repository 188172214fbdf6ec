/**
 * A guest for tests: the real engine and the real web globals, with a stub core and without a worker. Runs on Node.js.
 */
import { readFile } from "node:fs/promises";
import { CompileFlags, type JSValueHandle, QuickJS } from "quickjs-wasi";
import { bundleParts, bundlePrelude } from "../../../../../../scripts/build-guest.ts";
import { HOST, PART_NAMES } from "../../abi.ts";

export const SEED: string = "0123456789abcdef".repeat(4);
const MiB = 1024 * 1024;

export type LogLine = { readonly level: string; readonly text: string };

export type Guest = {
  readonly vm: QuickJS;
  readonly log: LogLine[];
  /** Evaluates a script and returns its value through JSON; a thrown error becomes "Name: message". */
  readonly evaluate: (script: string) => unknown;
  /** Runs all jobs and returns what a promise came to, as `evaluate` does. */
  readonly settle: (script: string) => unknown;
  readonly drain: () => void;
  readonly fireTimers: () => void;
  readonly isOutOfMemory: (script: string) => boolean;
  /** Watches a promise like the promise of a call; one at a time. */
  readonly watch: (script: string) => void;
  readonly isObserved: () => boolean;
  readonly [Symbol.dispose]: () => void;
};

const { WebAssembly: compiler } = globalThis as unknown as {
  readonly WebAssembly: { compile(bytes: Uint8Array): Promise<WebAssembly.Module> };
};

const engine = (async () => {
  const wasm = await readFile(new URL(import.meta.resolve("quickjs-wasi/quickjs.wasm")));
  const prelude = await bundlePrelude(new URL("main.ts", import.meta.url));
  return { module: await compiler.compile(wasm), prelude, parts: await bundleParts() };
})();

export type GuestOptions = {
  readonly isSeeded?: boolean;
  readonly memoryBytes?: number;
  /** Keeps the prelude's source text, so that toString shows which functions are not native. */
  readonly withSource?: boolean;
  /** Gives the globals of the feature `web`. */
  readonly withWeb?: boolean;
};

export async function openGuest(options: GuestOptions = {}): Promise<Guest> {
  const { module, prelude, parts } = await engine;
  const vm = await QuickJS.create({
    wasm: module,
    memoryLimit: options.memoryBytes ?? 64 * MiB,
    maxStackSize: 256 * 1024,
  });
  const log: LogLine[] = [];
  const flags = options.withSource === true ? 0 : CompileFlags.STRIP_SOURCE;
  const host = vm.newFunction("host", (kind, level, text) => {
    if (kind?.toNumber() === HOST.part) {
      const name = PART_NAMES[level?.toNumber() ?? 0] ?? PART_NAMES[0];
      return vm.evalBytecode(vm.compile(parts[name], "prelude.js", 0, flags));
    }
    log.push({ level: level?.toString() ?? "", text: text?.toString() ?? "" });
    return vm.undefined;
  });
  const stringify = vm.evalCode(
    "(v => { try { return JSON.stringify(v()) ?? 'null' } catch (e) { return JSON.stringify(e === null ? 'null' : e.name + ': ' + e.message) } })",
  );
  const settle = vm.evalCode(
    "((stringify) => (v) => { const box = { text: '\"pending\"' }; (async () => { try { box.text = stringify(await v()) ?? 'null' } catch (e) { box.text = stringify(e === null ? 'null' : e.name + ': ' + e.message) } })(); return box })(JSON.stringify)",
  );
  const bytecode = vm.compile(prelude, "prelude.js", 0, flags);
  const kept = vm.callFunction(vm.evalBytecode(bytecode), vm.undefined, host);
  const call = (index: number, ...args: JSValueHandle[]): JSValueHandle =>
    vm.callFunction(kept.getProp(String(index)), vm.undefined, ...args);
  if (options.isSeeded !== false) call(0, vm.newString(SEED));
  if (options.withWeb === true) call(5);
  return {
    vm,
    log,
    evaluate: (script) => {
      const thunk = vm.evalCode(`(() => (${script}\n))`, "guest.js");
      return JSON.parse(vm.callFunction(stringify, vm.undefined, thunk).toString()) as unknown;
    },
    settle: (script) => {
      const thunk = vm.evalCode(`(() => (${script}\n))`, "guest.js");
      const box = vm.callFunction(settle, vm.undefined, thunk);
      vm.executePendingJobs();
      return JSON.parse(box.getProp("text").toString()) as unknown;
    },
    drain: () => {
      vm.executePendingJobs();
    },
    fireTimers: () => {
      call(1);
    },
    isOutOfMemory: (script) => call(2, vm.evalCode(script)).toBoolean(),
    watch: (script) => {
      call(3, vm.evalCode(script));
    },
    isObserved: () => call(4).toBoolean(),
    [Symbol.dispose]: () => {
      vm.dispose();
    },
  };
}
