/**
 * Numbers: the methods of Buffer that read and write numbers. Runs inside the guest.
 */
import {
  append,
  type List,
  list,
  min,
  primordial,
  typedArrayBuffer,
  typedArrayLength,
} from "../../primordials.ts";

const { BigInt, Float32Array, Float64Array, Number, RangeError, TypeError, Uint8Array } = primordial;

/** Its `this` is the Uint8Array; the function that calls it has checked that. */
export interface NumberMethod {
  readonly name: string;
  readonly length: number;
  readonly run: (bytes: Uint8Array, ...args: unknown[]) => unknown;
}

const scratch64 = new Float64Array(1);
const scratch32 = new Float32Array(1);
const bytes64 = new Uint8Array(typedArrayBuffer(scratch64));
const bytes32 = new Uint8Array(typedArrayBuffer(scratch32));

function toOffset(bytes: Uint8Array, given: unknown, size: number): number {
  const offset = given === undefined ? 0 : given;
  if (typeof offset !== "number") throw new TypeError("Cannot use the offset: it is not a number");
  const last = typedArrayLength(bytes) - size;
  if (offset % 1 !== 0) throw new RangeError("Cannot use the offset: it is not an integer");
  if (last < 0) throw new RangeError("Cannot access the number: it reaches outside the buffer");
  if (!(offset >= 0 && offset <= last)) {
    throw new RangeError(`Cannot use the offset: it must be from 0 to ${last}`);
  }
  return offset;
}

function toSize(given: unknown): number {
  if (typeof given !== "number") throw new TypeError("Cannot use byteLength: it is not a number");
  if (given === 1 || given === 2 || given === 3 || given === 4 || given === 5 || given === 6) return given;
  throw new RangeError("Cannot use byteLength: it must be an integer from 1 to 6");
}

function readInteger(
  bytes: Uint8Array,
  offset: number,
  size: number,
  isLittle: boolean,
  isSigned: boolean,
): number {
  let value = 0;
  for (let i = 0; i < size; i += 1) {
    value = value * 256 + (bytes[isLittle ? offset + size - 1 - i : offset + i] as number);
  }
  const limit = 2 ** (8 * size - 1);
  return isSigned && value >= limit ? value - 2 * limit : value;
}

function writeInteger(
  bytes: Uint8Array,
  given: unknown,
  at: unknown,
  size: number,
  isLittle: boolean,
  isSigned: boolean,
): number {
  const value = +(given as number);
  const limit = 2 ** (8 * size);
  const low = isSigned ? -limit / 2 : 0;
  const high = isSigned ? limit / 2 - 1 : limit - 1;
  // As in Node.js, the value is judged before the offset, and what is no number becomes 0.
  if (value > high || value < low) {
    throw new RangeError(`Cannot write the number: it must be from ${low} to ${high}`);
  }
  const offset = toOffset(bytes, at, size);
  const whole = value !== value ? 0 : value - (value % 1);
  let rest = whole < 0 ? whole + limit : whole;
  for (let i = 0; i < size; i += 1) {
    const byte = rest % 256;
    bytes[isLittle ? offset + i : offset + size - 1 - i] = byte;
    rest = (rest - byte) / 256;
  }
  return offset + size;
}

const LOW_WORD = 4_294_967_296n;

function readBig(bytes: Uint8Array, offset: number, isLittle: boolean, isSigned: boolean): bigint {
  const high = readInteger(bytes, isLittle ? offset + 4 : offset, 4, isLittle, isSigned);
  const low = readInteger(bytes, isLittle ? offset : offset + 4, 4, isLittle, false);
  return BigInt(high) * LOW_WORD + BigInt(low);
}

function writeBig(
  bytes: Uint8Array,
  value: unknown,
  at: unknown,
  isLittle: boolean,
  isSigned: boolean,
): number {
  if (typeof value !== "bigint") throw new TypeError("Cannot write the number: it is not a BigInt");
  const limit = LOW_WORD * LOW_WORD;
  const half = limit / 2n;
  if (value < (isSigned ? -half : 0n) || value >= (isSigned ? half : limit)) {
    throw new RangeError("Cannot write the number: it does not fit into 8 bytes");
  }
  const offset = toOffset(bytes, at, 8);
  const whole = value < 0n ? value + limit : value;
  writeInteger(bytes, Number(whole % LOW_WORD), isLittle ? offset : offset + 4, 4, isLittle, false);
  writeInteger(bytes, Number(whole / LOW_WORD), isLittle ? offset + 4 : offset, 4, isLittle, false);
  return offset + 8;
}

function readFloat(bytes: Uint8Array, offset: number, size: number, isLittle: boolean): number {
  const target = size === 8 ? bytes64 : bytes32;
  for (let i = 0; i < size; i += 1)
    target[i] = bytes[isLittle ? offset + i : offset + size - 1 - i] as number;
  return (size === 8 ? scratch64[0] : scratch32[0]) as number;
}

function writeFloat(bytes: Uint8Array, given: unknown, at: unknown, size: number, isLittle: boolean): number {
  const value = +(given as number);
  const offset = toOffset(bytes, at, size);
  if (size === 8) scratch64[0] = value;
  else scratch32[0] = value;
  const source = size === 8 ? bytes64 : bytes32;
  for (let i = 0; i < size; i += 1)
    bytes[isLittle ? offset + i : offset + size - 1 - i] = source[i] as number;
  return offset + size;
}

/** All methods; those of unsigned numbers have a second name, as in Node.js. */
export function numberMethods(): List<NumberMethod> {
  const methods = list<NumberMethod>();
  const add = (name: string, length: number, run: NumberMethod["run"]): void =>
    append(methods, { name, length, run });
  for (let pass = 0; pass < 12; pass += 1) {
    const size = [1, 2, 4][pass % 3] as number;
    const isSigned = pass % 6 >= 3;
    const isLittle = pass >= 6;
    if (size === 1 && isLittle) continue;
    const ending = size === 1 ? "8" : `${size * 8}${isLittle ? "LE" : "BE"}`;
    const kinds = isSigned ? ["Int"] : ["UInt", "Uint"];
    for (let i = 0; i < kinds.length; i += 1) {
      const kind = kinds[i] as string;
      add(`read${kind}${ending}`, 0, (bytes, at) =>
        readInteger(bytes, toOffset(bytes, at, size), size, isLittle, isSigned),
      );
      add(`write${kind}${ending}`, 1, (bytes, value, at) =>
        writeInteger(bytes, value, at, size, isLittle, isSigned),
      );
    }
  }
  for (let pass = 0; pass < 2; pass += 1) {
    const isLittle = pass === 1;
    const ending = isLittle ? "LE" : "BE";
    const kinds = ["Int", "UInt", "Uint"];
    for (let i = 0; i < 3; i += 1) {
      const isSigned = i === 0;
      add(`read${kinds[i] as string}${ending}`, 2, (bytes, at, byteLength) => {
        if (at === undefined) throw new TypeError("Cannot use the offset: it is not a number");
        const size = toSize(byteLength);
        return readInteger(bytes, toOffset(bytes, at, size), size, isLittle, isSigned);
      });
      add(`write${kinds[i] as string}${ending}`, 3, (bytes, value, at, byteLength) => {
        const size = toSize(byteLength);
        if (at === undefined) throw new TypeError("Cannot use the offset: it is not a number");
        return writeInteger(bytes, value, at, size, isLittle, isSigned);
      });
      const big = i === 0 ? "BigInt64" : i === 1 ? "BigUInt64" : "BigUint64";
      add(`read${big}${ending}`, 0, (bytes, at) =>
        readBig(bytes, toOffset(bytes, at, 8), isLittle, isSigned),
      );
      add(`write${big}${ending}`, 1, (bytes, value, at) => writeBig(bytes, value, at, isLittle, isSigned));
    }
    add(`readFloat${ending}`, 0, (bytes, at) => readFloat(bytes, toOffset(bytes, at, 4), 4, isLittle));
    add(`writeFloat${ending}`, 1, (bytes, value, at) => writeFloat(bytes, value, at, 4, isLittle));
    add(`readDouble${ending}`, 0, (bytes, at) => readFloat(bytes, toOffset(bytes, at, 8), 8, isLittle));
    add(`writeDouble${ending}`, 1, (bytes, value, at) => writeFloat(bytes, value, at, 8, isLittle));
  }
  return methods;
}

/** For arguments that count bytes: rounds towards zero, and stays from `low` to `high`. */
export function clampIndex(given: unknown, otherwise: number, low: number, high: number): number {
  if (given === undefined) return otherwise;
  const value = Number(given);
  const whole = value !== value ? 0 : value - (value === Infinity || value === -Infinity ? 0 : value % 1);
  return whole < low ? low : min(whole, high);
}
