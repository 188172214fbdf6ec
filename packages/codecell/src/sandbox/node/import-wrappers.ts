/**
 * Import wrappers: keeps V8 13 from freeing shared machine code twice, which kills the process without a message. Runs
 * on the host, before its first worker starts. Owns one small instance, for good.
 *
 * V8 compiles a wrapper for imported functions of one signature at the thousandth call, and all threads of the process
 * share it. If the wrapper's last user ends while another thread begins to use it, V8 13.6 (Node 24) frees it twice. A
 * user that never ends prevents that. Which versions, and how it was shown: docs/decisions/0007-import-wrappers.md.
 *
 * - V8 distinguishes wrappers by signature and by the number of parameters of the JavaScript function. The vm's
 *   functions have as many parameters as their signatures, so it is enough to know the engine's signatures.
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

/** V8 compiles the wrapper at the thousandth call. */
const CALLS = 1100;

const FUNCTION_TYPE = 0x60;
const IMPORTED_FUNCTION = 0;
const I32 = 0x7f;
const I64 = 0x7e;
const OWN_MODULE = "host";
const EMPTY = Uint8Array.of(0);

/** The instruction that pushes a zero of each type. */
const ZEROS: ReadonlyMap<number, readonly number[]> = new Map([
  [I32, [0x41, 0]],
  [I64, [0x42, 0]],
  [0x7d, [0x43, 0, 0, 0, 0]],
  [0x7c, [0x44, 0, 0, 0, 0, 0, 0, 0, 0]],
]);

/** Functions by their number of parameters. Each uses its last parameter, or a minifier might drop it. */
const STAND_INS: readonly ((...args: never[]) => number)[] = [
  () => 0,
  (a: unknown) => Number(a),
  (_a, b: unknown) => Number(b),
  (_a, _b, c: unknown) => Number(c),
  (_a, _b, _c, d: unknown) => Number(d),
  (_a, _b, _c, _d, e: unknown) => Number(e),
  (_a, _b, _c, _d, _e, f: unknown) => Number(f),
];

/** Never read. It keeps instances from being collected. */
const held: WebAssembly.Instance[] = [];

/**
 * Takes the engine's original bytes. Does nothing on a V8 without the flaw. The wrappers are held as soon as it
 * returns.
 */
export async function holdImportWrappers(
  engine: Uint8Array,
  v8: string = process.versions.v8,
): Promise<void> {
  if (v8.startsWith("13.")) held.push(callAsImports([...new Set(importedSignatures(engine))]));
}

/** The signatures of the functions that a module imports, in order. Functions of the same type share one object. */
export function importedSignatures(wasm: Uint8Array): Signature[] {
  const bodies = new Map([...sectionsOf(wasm)].map(({ id, body }) => [id, body]));
  const types = readTypes(bodies.get(SECTION.type) ?? EMPTY);
  const imported = importedTypes(bodies.get(SECTION.import) ?? EMPTY);
  return imported.map((type) => types[type] ?? refuse("it imports a function of an unknown type"));
}

/** Makes an instance that has called an imported function of each signature until V8 compiled its wrapper. */
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

/** The type numbers of the imported functions, in order. */
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

/** A module that imports a function of each signature, and exports a function that calls them all as often as told. */
function renderCaller(signatures: readonly Signature[]): Uint8Array<ArrayBuffer> {
  const own: Signature = { params: [I32], results: [] };
  const calls = signatures.flatMap(renderCall);
  // A loop around the calls; it ends when the parameter has counted down to zero.
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

/** A section that is a list: the number of entries, then the entries. */
function vector(id: number, entries: readonly (readonly number[])[]): Uint8Array {
  return section(id, Uint8Array.from([...leb(entries.length), ...entries.flat()]));
}

function renderType({ params, results }: Signature): number[] {
  return [FUNCTION_TYPE, ...leb(params.length), ...params, ...leb(results.length), ...results];
}

function renderImport(_: Signature, index: number): number[] {
  return [...name(OWN_MODULE), ...name(String(index)), IMPORTED_FUNCTION, ...leb(index)];
}

/** Calls the function with zeros and drops its result. */
function renderCall({ params, results }: Signature, index: number): number[] {
  const zeros = params.flatMap(
    (type) => ZEROS.get(type) ?? refuse("an import of it takes what is not a number"),
  );
  return [...zeros, 0x10, ...leb(index), ...results.map(() => 0x1a)];
}
