/**
 * Import wrappers: keeps V8 13 from freeing shared machine code twice, which kills the process without a word.
 *
 * V8 compiles a wrapper for imported functions of one signature at the thousandth call, and all threads of the process
 * share it. When its last user ends while another thread takes it up, V8 13.6 (Node 24) frees it twice. A user that
 * never ends prevents that. Which versions, and how it was shown: docs/decisions/0007-import-wrappers.md.
 *
 * - Runs on the host's thread, before its first worker starts. Owns one small instance, for good.
 * - V8 tells wrappers apart by signature and by the number of parameters of the JavaScript function. The vm's functions
 *   have as many parameters as their signatures, so the engine's signatures are all there is to know.
 */
import {
  concat,
  leb,
  MODULE_HEADER,
  name,
  readLeb,
  SECTION,
  section,
  sectionsOf,
} from "../../worker/wasm-binary.ts";

/** The types of an imported function, as the binary format numbers them. */
export interface Signature {
  readonly params: readonly number[];
  readonly results: readonly number[];
}

/** V8 compiles at the thousandth call. */
const CALLS = 1100;

const FUNCTION_TYPE = 0x60;
const IMPORTED_FUNCTION = 0;
const I32 = 0x7f;
const I64 = 0x7e;
const OWN_MODULE = "host";
const EMPTY = Uint8Array.of(0);

/** The instruction that gives a zero of each type. */
const ZEROS: ReadonlyMap<number, readonly number[]> = new Map([
  [I32, [0x41, 0]],
  [I64, [0x42, 0]],
  [0x7d, [0x43, 0, 0, 0, 0]],
  [0x7c, [0x44, 0, 0, 0, 0, 0, 0, 0, 0]],
]);

/** By their number of parameters. Each uses the last one, or a minifier might drop them. */
const STAND_INS: readonly ((...args: never[]) => number)[] = [
  () => 0,
  (a: unknown) => Number(a),
  (_a, b: unknown) => Number(b),
  (_a, _b, c: unknown) => Number(c),
  (_a, _b, _c, d: unknown) => Number(d),
  (_a, _b, _c, _d, e: unknown) => Number(e),
  (_a, _b, _c, _d, _e, f: unknown) => Number(f),
];

/** Never read: what is here is not collected. */
const held: WebAssembly.Instance[] = [];

/** Takes the engine as its package has it. Does nothing on a V8 without the flaw. Is done when it returns. */
export async function holdImportWrappers(
  engine: Uint8Array,
  v8: string = process.versions.v8,
): Promise<void> {
  if (v8.startsWith("13.")) held.push(callAsImports([...new Set(importedSignatures(engine))]));
}

/** Of the functions that a module imports, in their order. Those of one type are the same object. */
export function importedSignatures(wasm: Uint8Array): Signature[] {
  const bodies = new Map([...sectionsOf(wasm)].map(({ id, body }) => [id, body]));
  const types = readTypes(bodies.get(SECTION.type) ?? EMPTY);
  const imported = importedTypes(bodies.get(SECTION.import) ?? EMPTY);
  return imported.map((type) => types[type] ?? refuse("it imports a function of an unknown type"));
}

/** An instance that has called an imported function of each signature until V8 compiled the wrapper for it. */
export function callAsImports(signatures: readonly Signature[]): WebAssembly.Instance {
  const functions = signatures.map(({ params, results }) => {
    if (results.includes(I64)) refuse("it imports a function that gives a 64-bit integer");
    return STAND_INS[params.length] ?? refuse("it imports a function with too many parameters");
  });
  const module = new WebAssembly.Module(renderCaller(signatures));
  const instance = new WebAssembly.Instance(module, {
    [OWN_MODULE]: Object.fromEntries(functions.entries()),
  });
  (instance.exports["call"] as (times: number) => void)(CALLS);
  return instance;
}

function refuse(why: string): never {
  throw new Error(`Cannot use this engine: ${why}`);
}

function readTypes(body: Uint8Array): Signature[] {
  const count = readLeb(body, 0);
  let offset = count.next;
  const readValueTypes = (): readonly number[] => {
    const length = readLeb(body, offset);
    offset = length.next + length.value;
    return [...body.subarray(length.next, offset)];
  };
  return Array.from({ length: count.value }, () => {
    if (body[offset++] !== FUNCTION_TYPE) refuse("it has types that are not those of functions");
    return { params: readValueTypes(), results: readValueTypes() };
  });
}

/** Numbers of types, in the order of the imports. */
function importedTypes(body: Uint8Array): number[] {
  const count = readLeb(body, 0);
  let offset = count.next;
  const skipName = (): void => {
    const length = readLeb(body, offset);
    offset = length.next + length.value;
  };
  return Array.from({ length: count.value }, () => {
    skipName();
    skipName();
    if (body[offset++] !== IMPORTED_FUNCTION) refuse("it imports what is not a function");
    const type = readLeb(body, offset);
    offset = type.next;
    return type.value;
  });
}

/** A module that imports a function of each signature, and exports one that calls them all as often as it is told. */
function renderCaller(signatures: readonly Signature[]): Uint8Array<ArrayBuffer> {
  const own: Signature = { params: [I32], results: [] };
  const calls = signatures.flatMap(renderCall);
  // A loop around the calls, left when the parameter has been counted down to zero.
  const again = [0x20, 0, 0x41, 1, 0x6b, 0x22, 0, 0x0d, 0];
  const code = [0, 0x03, 0x40, ...calls, ...again, 0x0b, 0x0b];
  return concat([
    MODULE_HEADER,
    vector(SECTION.type, [...signatures, own].map(renderType)),
    vector(SECTION.import, signatures.map(renderImport)),
    vector(SECTION.function, [leb(signatures.length)]),
    vector(SECTION.export, [[...name("call"), 0, ...leb(signatures.length)]]),
    vector(SECTION.code, [[...leb(code.length), ...code]]),
  ]);
}

/** A section that is a list: their number, then one behind the other. */
function vector(id: number, entries: readonly (readonly number[])[]): Uint8Array {
  return section(id, Uint8Array.from([...leb(entries.length), ...entries.flat()]));
}

function renderType({ params, results }: Signature): number[] {
  return [FUNCTION_TYPE, ...leb(params.length), ...params, ...leb(results.length), ...results];
}

function renderImport(_: Signature, index: number): number[] {
  return [...name(OWN_MODULE), ...name(String(index)), IMPORTED_FUNCTION, ...leb(index)];
}

/** With zeros; what it gives is dropped. */
function renderCall({ params, results }: Signature, index: number): number[] {
  const zeros = params.flatMap(
    (type) => ZEROS.get(type) ?? refuse("an import of it takes what is not a number"),
  );
  return [...zeros, 0x10, ...leb(index), ...results.map(() => 0x1a)];
}
