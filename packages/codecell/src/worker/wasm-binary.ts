/** Runs anywhere. The binary format of WebAssembly modules, as far as this package reads, cuts and writes modules. */

export const SECTION = {
  custom: 0,
  type: 1,
  import: 2,
  function: 3,
  memory: 5,
  export: 7,
  code: 10,
} as const;

/** Every module begins with these bytes: the magic number and the version. */
export const MODULE_HEADER: Uint8Array = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);

export interface Section {
  readonly id: number;
  readonly body: Uint8Array;
  /** The body, with the section's id and length before it. */
  readonly whole: Uint8Array;
}

export function* sectionsOf(wasm: Uint8Array): Generator<Section, void> {
  for (let offset = MODULE_HEADER.length; offset < wasm.length;) {
    const size = readLeb(wasm, offset + 1);
    const end = size.next + size.value;
    yield { id: wasm[offset] ?? 0, body: wasm.subarray(size.next, end), whole: wasm.subarray(offset, end) };
    offset = end;
  }
}

export function section(id: number, body: Uint8Array): Uint8Array {
  return concat([Uint8Array.from([id, ...leb(body.length)]), body]);
}

export function name(text: string): number[] {
  const bytes = new TextEncoder().encode(text);
  return [...leb(bytes.length), ...bytes];
}

export function leb(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  do {
    const low = rest & 0x7f;
    rest >>>= 7;
    bytes.push(rest === 0 ? low : low | 0x80);
  } while (rest !== 0);
  return bytes;
}

export function readLeb(bytes: Uint8Array, start: number): { readonly value: number; readonly next: number } {
  let value = 0;
  let next = start;
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[next++] ?? 0;
    value |= (byte & 0x7f) << shift;
    if ((byte & 0x80) === 0) return { value: value >>> 0, next };
  }
}

export function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}
