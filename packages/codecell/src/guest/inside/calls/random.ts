/**
 * Random: everything random in a run, as a function of the run's seed. Runs inside the guest.
 *
 * - crypto bytes are the ChaCha20 key stream of the seed. Math.random is xoshiro128**, started from another stream of
 *   the same key: its outputs reveal its state, but nothing about the crypto bytes.
 * - Before seeding, asking for random values throws, so an unseeded image cannot go unnoticed.
 */
import { primordial, stringSlice, typedArrayLength } from "../primordials.ts";

const { Error, TypeError, Uint32Array } = primordial;
const { imul } = Math;
const parseHex = parseInt;
const SEED_DIGITS = 64;
const STREAM_CRYPTO = 0;
const STREAM_MATH = 1;
const BLOCK_BYTES = 64;

const key = new Uint32Array(8);
const input = new Uint32Array(16);
const block = new Uint32Array(16);
const xoshiro = new Uint32Array(4);
let blockUsed = BLOCK_BYTES;
let counterLow = 0;
let counterHigh = 0;
let seed: string | undefined;
let isSeeded = false;

/** Stores the seed. It is expanded on first use, and most runs never use it. */
export function seedRandom(hexSeed: string): void {
  if (typeof hexSeed !== "string" || hexSeed.length !== SEED_DIGITS) {
    throw new TypeError("Cannot seed: the seed is not 64 hexadecimal digits");
  }
  seed = hexSeed;
  isSeeded = false;
}

function expandSeed(): void {
  if (seed === undefined) throw new Error("Cannot give random values: the run has no seed yet");
  const hexSeed = seed;
  for (let i = 0; i < 8; i += 1) key[i] = parseHex(stringSlice(hexSeed, i * 8, i * 8 + 8), 16);
  fillBlock(STREAM_MATH, 0, 0);
  for (let i = 0; i < 4; i += 1) xoshiro[i] = block[i] as number;
  if (xoshiro[0] === 0) xoshiro[0] = 1;
  blockUsed = BLOCK_BYTES;
  counterLow = 0;
  counterHigh = 0;
  isSeeded = true;
}

function rotate(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}

function quarter(a: number, b: number, c: number, d: number): void {
  let va = block[a] as number;
  let vb = block[b] as number;
  let vc = block[c] as number;
  let vd = block[d] as number;
  va = (va + vb) | 0;
  vd = rotate(vd ^ va, 16);
  vc = (vc + vd) | 0;
  vb = rotate(vb ^ vc, 12);
  va = (va + vb) | 0;
  vd = rotate(vd ^ va, 8);
  vc = (vc + vd) | 0;
  vb = rotate(vb ^ vc, 7);
  block[a] = va;
  block[b] = vb;
  block[c] = vc;
  block[d] = vd;
}

function fillBlock(stream: number, low: number, high: number): void {
  input[0] = 0x61707865;
  input[1] = 0x3320646e;
  input[2] = 0x79622d32;
  input[3] = 0x6b206574;
  for (let i = 0; i < 8; i += 1) input[4 + i] = key[i] as number;
  input[12] = low;
  input[13] = high;
  input[14] = stream;
  input[15] = 0;
  for (let i = 0; i < 16; i += 1) block[i] = input[i] as number;
  for (let round = 0; round < 10; round += 1) {
    quarter(0, 4, 8, 12);
    quarter(1, 5, 9, 13);
    quarter(2, 6, 10, 14);
    quarter(3, 7, 11, 15);
    quarter(0, 5, 10, 15);
    quarter(1, 6, 11, 12);
    quarter(2, 7, 8, 13);
    quarter(3, 4, 9, 14);
  }
  for (let i = 0; i < 16; i += 1) block[i] = (block[i] as number) + (input[i] as number);
}

function nextByte(): number {
  if (blockUsed === BLOCK_BYTES) {
    fillBlock(STREAM_CRYPTO, counterLow, counterHigh);
    counterLow = (counterLow + 1) >>> 0;
    if (counterLow === 0) counterHigh += 1;
    blockUsed = 0;
  }
  const value = ((block[blockUsed >>> 2] as number) >>> ((blockUsed & 3) * 8)) & 0xff;
  blockUsed += 1;
  return value;
}

export function randomBytes(target: Uint8Array): void {
  if (!isSeeded) expandSeed();
  const byteCount = typedArrayLength(target);
  for (let i = 0; i < byteCount; i += 1) target[i] = nextByte();
}

function nextWord(): number {
  const s1 = xoshiro[1] as number;
  const result = imul(rotate(imul(s1, 5), 7), 9) >>> 0;
  xoshiro[2] = (xoshiro[2] as number) ^ (xoshiro[0] as number);
  xoshiro[3] = (xoshiro[3] as number) ^ s1;
  xoshiro[1] = s1 ^ xoshiro[2];
  xoshiro[0] = (xoshiro[0] as number) ^ xoshiro[3];
  xoshiro[2] = xoshiro[2] ^ (s1 << 9);
  xoshiro[3] = rotate(xoshiro[3], 11);
  return result;
}

export function mathRandom(): number {
  if (!isSeeded) expandSeed();
  const high = nextWord() >>> 5;
  const low = nextWord() >>> 6;
  return (high * 0x4000000 + low) / 0x20000000000000;
}
