/**
 * Seal: bytes that leave the process and come back. Authenticated before a byte of them is interpreted.
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

const PREFIX = "cc1";
const MIN_KEY_BYTES = 16;

export class Sealer {
  readonly #key: Uint8Array;

  /** Without a key a random one is made: tokens then live and die with this object. */
  constructor(key?: Uint8Array) {
    if (key !== undefined && key.length < MIN_KEY_BYTES) {
      throw new RangeError(
        `Cannot seal with a key of ${key.length} bytes: at least ${MIN_KEY_BYTES} are needed`,
      );
    }
    this.#key = key ?? randomBytes(32);
  }

  seal(content: string): string {
    const body = Buffer.from(content, "utf8").toString("base64url");
    return `${PREFIX}.${body}.${this.#mac(body).toString("base64url")}`;
  }

  /** The content, or undefined for anything this key did not seal. */
  open(token: string): string | undefined {
    const [prefix, body, mac, ...rest] = token.split(".");
    if (prefix !== PREFIX || body === undefined || mac === undefined || rest.length > 0) return undefined;
    const expected = this.#mac(body).toString("base64url");
    // Compared as text: a text has one encoding, so no second spelling of a mac is accepted.
    const given = Buffer.from(mac, "utf8");
    const wanted = Buffer.from(expected, "utf8");
    if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) return undefined;
    return Buffer.from(body, "base64url").toString("utf8");
  }

  /** Until the envelope of bytes lands. */
  sealBytes(content: Uint8Array, purpose: string): Uint8Array {
    return Buffer.from(this.seal(JSON.stringify([purpose, Buffer.from(content).toString("latin1")])));
  }

  openBytes(sealed: Uint8Array, purpose: string): Uint8Array | { code: "token_invalid"; message: string } {
    const text = this.open(Buffer.from(sealed).toString());
    const [bound, content] = JSON.parse(text ?? "[]") as string[];
    if (bound !== purpose)
      return { code: "token_invalid", message: "The stored run is not sealed with this host's key" };
    return Buffer.from(content ?? "", "latin1");
  }

  #mac(body: string): Buffer {
    return createHmac("sha256", this.#key).update(`${PREFIX}.${body}`).digest();
  }
}
