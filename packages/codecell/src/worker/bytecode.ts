/** Runs in a worker thread. The bytecode of the prelude and of its parts. A part is decoded when a cell first loads it. */
import { PARTS_BYTECODE, PRELUDE_BYTECODE } from "../guest/prelude.generated.ts";

const parts: (Uint8Array | undefined)[] = PARTS_BYTECODE.map(() => undefined);

export function preludeBytecode(): Uint8Array {
  return decodeBase64(PRELUDE_BYTECODE);
}

/** Undefined for a number that no part has. */
export function partBytecode(index: number): Uint8Array | undefined {
  const text = PARTS_BYTECODE[index];
  return text === undefined ? undefined : (parts[index] ??= decodeBase64(text));
}

function decodeBase64(text: string): Uint8Array {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < bytes.length; index++) bytes[index] = binary.charCodeAt(index);
  return bytes;
}
