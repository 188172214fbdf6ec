/**
 * Runs anywhere. Cuts the engine's WebAssembly module to what the driver uses.
 *
 * - The memory becomes an import, so that every instance gets a maximum of its own from one compiled module. The
 *   engine's own limit does not cover everything the engine allocates; the maximum does.
 * - Exports that the driver does not use are dropped: instantiation pays for each export.
 * - A module with another layout than the driver was written against is refused.
 */
import { concat, leb, name, readLeb, SECTION, section, sectionsOf } from "./wasm-binary.ts";

/** What the driver calls. A missing name fails the start, not the first use. */
export const ENGINE_EXPORTS = [
  "__stack_pointer",
  "_initialize",
  "qjs_call",
  "qjs_eval",
  "qjs_eval_bytecode",
  "qjs_execute_pending_job",
  "qjs_free_cstring",
  "qjs_free_value",
  "qjs_get_exception",
  "qjs_get_float64",
  "qjs_get_prop_uint32",
  "qjs_get_string_len",
  "qjs_get_undefined",
  "qjs_init",
  "qjs_is_exception",
  "qjs_is_job_pending",
  "qjs_new_host_function",
  "qjs_new_number",
  "qjs_new_string",
  "qjs_run_gc",
  "qjs_set_gc_threshold",
  "qjs_set_interrupt_handler",
  "qjs_set_max_stack_size",
  "qjs_set_memory_limit",
  "qjs_set_promise_rejection_handler",
  "wasm_free",
  "wasm_malloc",
] as const;

export type EngineExport = (typeof ENGINE_EXPORTS)[number];

/** How many pages of 64 KiB the module asks for at least. `cutEngineModule` checks this number against the module. */
export const ENGINE_INITIAL_PAGES = 18;

const KIND_MEMORY = 2;
const MAX_PAGES = 65_536;

/** Holds a digest of the module: whoever has the compiled module can tell which engine it is. */
const DIGEST_SECTION = "codecell.digest";

/** Adds its digest to a cut module. */
export function withDigest(module: Uint8Array, digest: Uint8Array): Uint8Array<ArrayBuffer> {
  const body = concat([Uint8Array.from(name(DIGEST_SECTION)), digest]);
  return concat([module, section(SECTION.custom, body)]);
}

export function engineDigestOf(module: WebAssembly.Module): Uint8Array {
  const [digest] = WebAssembly.Module.customSections(module, DIGEST_SECTION);
  if (digest === undefined) throw new Error("Cannot identify the engine: its module has no digest");
  return new Uint8Array(digest);
}

export function cutEngineModule(wasm: Uint8Array): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array[] = [wasm.subarray(0, 8)];
  const wanted = new Set<string>(ENGINE_EXPORTS);
  for (const { id, body, whole } of sectionsOf(wasm)) {
    if (id === SECTION.import) parts.push(section(SECTION.import, addMemoryImport(body)));
    else if (id === SECTION.export) parts.push(section(SECTION.export, keepExports(body, wanted)));
    else if (id === SECTION.memory) checkMemory(body);
    else if (id !== SECTION.custom) parts.push(whole);
  }
  if (wanted.size > 0) {
    throw new Error(`Cannot use this engine: it does not export ${[...wanted].join(", ")}`);
  }
  return concat(parts);
}

function checkMemory(body: Uint8Array): void {
  const [count, flags, pages] = body;
  if (count !== 1 || flags !== 0 || pages !== ENGINE_INITIAL_PAGES) {
    throw new Error("Cannot use this engine: its memory is declared differently than expected");
  }
}

function addMemoryImport(body: Uint8Array): Uint8Array {
  const count = readLeb(body, 0);
  const entry = [
    ...name("env"),
    ...name("memory"),
    KIND_MEMORY,
    1,
    ...leb(ENGINE_INITIAL_PAGES),
    ...leb(MAX_PAGES),
  ];
  return concat([Uint8Array.from(leb(count.value + 1)), body.subarray(count.next), Uint8Array.from(entry)]);
}

function keepExports(body: Uint8Array, wanted: Set<string>): Uint8Array {
  const count = readLeb(body, 0);
  const kept: Uint8Array[] = [];
  let offset = count.next;
  for (let index = 0; index < count.value; index++) {
    const start = offset;
    const length = readLeb(body, offset);
    const nameEnd = length.next + length.value;
    const exported = new TextDecoder().decode(body.subarray(length.next, nameEnd));
    offset = readLeb(body, nameEnd + 1).next;
    if (wanted.delete(exported)) kept.push(body.subarray(start, offset));
  }
  return concat([Uint8Array.from(leb(kept.length)), ...kept]);
}
