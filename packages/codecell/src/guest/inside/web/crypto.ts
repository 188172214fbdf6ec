/**
 * Crypto: the guest's `crypto` with getRandomValues and randomUUID, derived from the run's seed. Runs inside the guest.
 */
import { dressClass, exposeGlobal } from "../expose.ts";
import {
  create,
  defineHidden,
  DOMException,
  numberToString,
  primordial,
  typedArrayBuffer,
  typedArrayByteLength,
  typedArrayByteOffset,
  typedArrayKind,
} from "../primordials.ts";
import { mathRandom, randomBytes } from "../calls/random.ts";

const MAX_BYTES = 65_536;
const { TypeError, Uint8Array } = primordial;

class Crypto {
  constructor() {
    throw new TypeError("Illegal constructor");
  }

  getRandomValues<T>(array: T): T {
    assertCrypto(this);
    const kind = typedArrayKind(array);
    if (kind === undefined || kind === "Float16Array" || kind === "Float32Array" || kind === "Float64Array") {
      throw new DOMException("The argument is not an integer typed array", "TypeMismatchError");
    }
    const byteLength = typedArrayByteLength(array);
    if (byteLength > MAX_BYTES) {
      throw new DOMException(
        `Cannot give ${byteLength} random bytes: at most ${MAX_BYTES} are allowed at once`,
        "QuotaExceededError",
      );
    }
    randomBytes(new Uint8Array(typedArrayBuffer(array), typedArrayByteOffset(array), byteLength));
    return array;
  }

  randomUUID(): string {
    assertCrypto(this);
    const bytes = new Uint8Array(16);
    randomBytes(bytes);
    bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40;
    bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
    let text = "";
    for (let i = 0; i < 16; i += 1) {
      if (i === 4 || i === 6 || i === 8 || i === 10) text += "-";
      const byte = bytes[i] as number;
      text += (byte < 16 ? "0" : "") + numberToString(byte, 16);
    }
    return text;
  }
}

const crypto = create(Crypto.prototype) as object;

function assertCrypto(self: unknown): void {
  if (self !== crypto) throw new TypeError("Illegal invocation");
}

export function installRandom(): void {
  dressClass("Crypto", Crypto);
  exposeGlobal("crypto", crypto);
  defineHidden(Math, "random", { random: (): number => mathRandom() }.random);
}
