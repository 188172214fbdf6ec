import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { cutEngineModule, ENGINE_EXPORTS, ENGINE_INITIAL_PAGES } from "./engine-module.ts";

const wasm = new Uint8Array(await readFile(new URL(import.meta.resolve("quickjs-wasi/quickjs.wasm"))));

interface Described {
  readonly module?: string;
  readonly name: string;
  readonly kind: string;
}
const { imports, exports } = WebAssembly.Module as unknown as {
  imports: (module: WebAssembly.Module) => Described[];
  exports: (module: WebAssembly.Module) => Described[];
};

describe("cutEngineModule", () => {
  test("keeps exactly the exports the driver uses, and takes its memory from outside", async () => {
    const module = await WebAssembly.compile(cutEngineModule(wasm));
    expect(
      exports(module)
        .map(({ name }) => name)
        .toSorted(),
    ).toEqual([...ENGINE_EXPORTS].toSorted());
    expect(imports(module)).toContainEqual({ module: "env", name: "memory", kind: "memory" });
  });

  test("imports only what the driver provides", async () => {
    const module = await WebAssembly.compile(cutEngineModule(wasm));
    expect(
      imports(module)
        .map(({ name }) => name)
        .toSorted(),
    ).toEqual([
      "clock_time_get",
      "fd_close",
      "fd_fdstat_get",
      "fd_seek",
      "fd_write",
      "host_call",
      "host_get_timezone_offset",
      "host_interrupt",
      "host_module_load",
      "host_module_normalize",
      "host_promise_rejection",
      "memory",
      "random_get",
    ]);
  });

  test("refuses an engine without an export the driver needs", () => {
    const renamed = wasm.slice();
    const at = Buffer.from(renamed.buffer).indexOf("qjs_execute_pending_job");
    renamed[at] = "x".charCodeAt(0);
    expect(() => cutEngineModule(renamed)).toThrow("it does not export qjs_execute_pending_job");
  });

  test("refuses an engine with another memory", () => {
    const other = wasm.slice();
    const at = Buffer.from(other.buffer).indexOf(Buffer.from([5, 3, 1, 0, ENGINE_INITIAL_PAGES]));
    other[at + 4] = ENGINE_INITIAL_PAGES + 1;
    expect(() => cutEngineModule(other)).toThrow("its memory is declared differently");
  });
});
