import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { readFile } from "node:fs/promises";
import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { renderWorkerText } from "../../../../../scripts/build-embedded.ts";
import { cutEngineModule } from "../../worker/engine-module.ts";
import { Vm } from "../../worker/vm.ts";
import { callAsImports, holdImportWrappers, importedSignatures, type Signature } from "./import-wrappers.ts";

const engine = new Uint8Array(await readFile(new URL(import.meta.resolve("quickjs-wasi/quickjs.wasm"))));

const I32 = 0x7f;
const NUMBERS = [I32, 0x7e, 0x7d, 0x7c];
const AFFECTED = "13.6.233.17-node.53";

setFlagsFromString("--allow-natives-syntax");
setFlagsFromString("--expose-gc");
/** How many imports of an instance V8 still calls through code that is not compiled for their signature. */
const uncompiledImports = runInNewContext("(instance) => %CountUnoptimizedWasmToJSWrapper(instance)") as (
  instance: WebAssembly.Instance,
) => number;
const collectGarbage = runInNewContext("gc") as () => void;

const { Instance } = WebAssembly;
type Imports = Record<string, Record<string, (...args: never[]) => unknown>>;

/** Records the imports of new instances, and the instances themselves weakly. */
function watchInstances(): { readonly made: WeakRef<WebAssembly.Instance>[]; readonly imports: Imports[] } {
  const made: WeakRef<WebAssembly.Instance>[] = [];
  const imports: Imports[] = [];
  WebAssembly.Instance = class extends Instance {
    constructor(module: WebAssembly.Module, given: Record<string, Record<string, unknown>>) {
      super(module, given);
      made.push(new WeakRef(this));
      imports.push(given as Imports);
    }
  };
  return { made, imports };
}

afterEach(() => {
  WebAssembly.Instance = Instance;
});

/** Lets V8 drop what the current turn has touched, then collects it. */
async function collectAll(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) {
    await new Promise((resolve) => setImmediate(resolve));
    collectGarbage();
  }
}

const describeImports = (
  WebAssembly.Module as unknown as { imports: (module: WebAssembly.Module) => unknown }
).imports;

describe("import wrappers", () => {
  const cut = new WebAssembly.Module(cutEngineModule(engine));
  // In the order of the module's imports; the memory comes last.
  const asked = (describeImports(cut) as { module: string; name: string; kind: string }[]).filter(
    ({ kind }) => kind === "function",
  );
  const parameters = importedSignatures(engine).map(({ params }) => params.length);

  test("every function that the vm gives as an import has as many parameters as its signature", () => {
    const { imports } = watchInstances();
    void new Vm(cut);
    expect(asked.map((one) => imports[0]?.[one.module]?.[one.name]?.length)).toEqual(parameters);
  });

  test("the same holds in the embedded worker, which is minified", async () => {
    const text = await renderWorkerText();
    const found = asked.map(({ name }) =>
      new RegExp(`\\b${name}:(?:\\((?<list>[^()]*)\\)|(?<one>\\w+))=>`, "u").exec(text),
    );
    const lists = found.map((match) => match?.groups?.["list"] ?? match?.groups?.["one"]);
    expect(lists.map((list) => list?.split(",").filter(Boolean).length)).toEqual(parameters);
  });

  test("when the wrappers are held, V8 has compiled one for every signature of the engine", () => {
    const signatures = importedSignatures(engine);
    expect(signatures.length).toBeGreaterThan(0);
    expect(uncompiledImports(callAsImports(signatures))).toBe(0);
  });

  test("calls functions with parameters of any number types", () => {
    const valueTypes = fc.constantFrom(...NUMBERS);
    const signature = fc.record({
      params: fc.array(valueTypes, { maxLength: 6 }),
      results: fc.array(
        valueTypes.filter((type) => type !== 0x7e),
        { maxLength: 1 },
      ),
    });
    fc.assert(
      fc.property(fc.array(signature, { maxLength: 20 }), (signatures) => {
        expect(uncompiledImports(callAsImports(signatures))).toBe(0);
      }),
      { numRuns: 20 },
    );
  });

  test("the instance that holds the wrappers is never collected", async () => {
    const { made } = watchInstances();
    await holdImportWrappers(engine, AFFECTED);
    callAsImports(importedSignatures(engine));
    await collectAll();
    expect(made.map((instance) => instance.deref() !== undefined)).toEqual([true, false]);
  });

  test.each([
    ["12.4.254.21-node.27", 0],
    ["12.9.202.28-node.14", 0],
    ["13.6.233.8-node.10", 1],
    [AFFECTED, 1],
    ["14.1.146.11-node.10", 0],
    ["14.6.202.34-node.34", 0],
  ])("on V8 %s holding the wrappers takes %i instances", async (v8, expected) => {
    const { made } = watchInstances();
    await holdImportWrappers(engine, v8);
    expect(made).toHaveLength(expected);
  });

  test("loading the engine holds the wrappers, before a worker can get the engine", async () => {
    const { made } = watchInstances();
    vi.resetModules();
    const { loadEngine } = await import("./engine.ts");
    await loadEngine();
    expect(made).toHaveLength(process.versions.v8.startsWith("13.") ? 1 : 0);
  });

  test.each<[string, Signature]>([
    ["with too many parameters", { params: Array.from({ length: 7 }, () => I32), results: [] }],
    ["that gives a 64-bit integer", { params: [], results: [0x7e] }],
    ["takes what is not a number", { params: [0x6f], results: [] }],
  ])("an engine with an import that cannot be called here is refused: %s", (why, signature) => {
    expect(() => callAsImports([signature])).toThrow(`Cannot use this engine: `);
    expect(() => callAsImports([signature])).toThrow(why);
  });

  test("a module whose imports cannot be read is refused", () => {
    const header = engine.subarray(0, 8);
    const module = (...sections: number[]): Uint8Array => Uint8Array.from([...header, ...sections]);
    expect(importedSignatures(module())).toEqual([]);
    const group = module(1, 3, 1, 0x4e, 0);
    expect(() => importedSignatures(group)).toThrow("types that are not those of functions");
    const table = module(2, 8, 1, 1, 0x6d, 1, 0x74, 1, 0x70, 0, 1);
    expect(() => importedSignatures(table)).toThrow("imports what is not a function");
    const untyped = module(2, 7, 1, 1, 0x6d, 1, 0x66, 0, 5);
    expect(() => importedSignatures(untyped)).toThrow("imports a function of an unknown type");
  });
});
