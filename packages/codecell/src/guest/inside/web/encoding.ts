/**
 * Encoding: TextEncoder and TextDecoder (utf-8, utf-16le, windows-1252; other labels are RangeErrors). Runs inside the
 * guest.
 *
 * - Linear time and bounded extra memory: text goes through the engine's native functions in chunks. Only malformed or
 *   cut bytes go through a loop.
 */
import {
  asciiText,
  decodeUtf16,
  encodeUtf8,
  encodeUtf8Into,
  Utf8Decoder,
  type Utf16State,
  WINDOWS_1252,
} from "./encoding-text.ts";
import { exposeClass } from "../expose.ts";
import {
  apply,
  create,
  primordial,
  record,
  regExpExec,
  stringSlice,
  stringToLowerCase,
  typedArrayByteLength,
  typedArrayKind,
} from "../primordials.ts";
import { toBytes, toText, toWellFormedText } from "./webidl.ts";

const { RangeError, TypeError } = primordial;

const LABELS: readonly (readonly [string, string])[] = [
  ["utf-8", "utf-8 utf8 unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8"],
  ["utf-16le", "utf-16le utf-16 ucs-2 unicode iso-10646-ucs-2 csunicode unicodefeff"],
  [
    "windows-1252",
    "windows-1252 latin1 ascii us-ascii iso-8859-1 iso8859-1 iso88591 iso_8859-1 iso_8859-1:1987 l1 cp1252 " +
      "x-cp1252 cp819 ibm819 csisolatin1 iso-ir-100 ansi_x3.4-1968",
  ],
];
const encodings = record<string>();
for (const [name, labels] of LABELS) {
  for (const label of labels.split(" ")) encodings[label] = name;
}
const TRIMMED = /[^\t\n\f\r ](?:[^]*[^\t\n\f\r ])?/;

class TextEncoder {
  readonly #brand = true;

  get encoding(): string {
    return this.#brand && "utf-8";
  }

  encode(input: unknown = ""): Uint8Array {
    if (!(#brand in this)) throw new TypeError("Illegal invocation");
    return encodeUtf8(toWellFormedText(input));
  }

  encodeInto(source: unknown, destination: unknown): { read: number; written: number } {
    if (!(#brand in this)) throw new TypeError("Illegal invocation");
    const text = toWellFormedText(source);
    if (typedArrayKind(destination) !== "Uint8Array") {
      throw new TypeError("Cannot encode: the destination is not a Uint8Array");
    }
    return encodeUtf8Into(text, destination as Uint8Array, typedArrayByteLength(destination));
  }
}

export type TextDecoderOptions =
  | { readonly fatal?: unknown; readonly ignoreBOM?: unknown }
  | null
  | undefined;

export class TextDecoder {
  readonly #encoding: string;
  readonly #fatal: boolean;
  readonly #ignoreBom: boolean;
  #isContinuing = false;
  #isBomSeen = false;
  #utf8: Utf8Decoder;
  #utf16: Utf16State = { pending: "", odd: -1 };

  constructor(label: unknown = "utf-8", options: TextDecoderOptions = undefined) {
    const given = toText(label);
    const trimmed = regExpExec(TRIMMED, stringSlice(given, 0, 256));
    const name = encodings[stringToLowerCase(trimmed === null ? "" : trimmed[0])];
    if (name === undefined) {
      throw new RangeError(`Cannot decode: the encoding "${stringSlice(given, 0, 64)}" is not supported`);
    }
    this.#encoding = name;
    this.#fatal = toBoolean(options?.fatal);
    this.#ignoreBom = toBoolean(options?.ignoreBOM);
    this.#utf8 = new Utf8Decoder(this.#fatal);
  }

  get encoding(): string {
    return this.#encoding;
  }

  get fatal(): boolean {
    return this.#fatal;
  }

  get ignoreBOM(): boolean {
    return this.#ignoreBom;
  }

  decode(
    input: unknown = undefined,
    options: { readonly stream?: unknown } | null | undefined = undefined,
  ): string {
    const isStream = toBoolean(options?.stream);
    if (!this.#isContinuing) {
      this.#utf8 = new Utf8Decoder(this.#fatal);
      this.#utf16 = { pending: "", odd: -1 };
      this.#isBomSeen = false;
    }
    this.#isContinuing = isStream;
    const bytes = toBytes(input === undefined ? NO_BYTES : input);
    let text: string;
    if (this.#encoding === "utf-8") text = this.#utf8.decode(bytes.array, bytes.length, isStream);
    else if (this.#encoding === "utf-16le") {
      text = decodeUtf16(bytes.array, bytes.length, this.#utf16, isStream, this.#fatal);
    } else return asciiText(bytes.array, bytes.length, WINDOWS_1252);
    if (this.#isBomSeen || text === "") return text;
    this.#isBomSeen = true;
    return !this.#ignoreBom && text[0] === "\uFEFF" ? stringSlice(text, 1) : text;
  }
}

const NO_BYTES = new Uint8Array(0);
const { decode } = TextDecoder.prototype;
const STREAM = create(null) as { stream: boolean };
STREAM.stream = true;

/** Decodes one chunk with a decoder of ours, whatever the program made of the class. */
export function decodeWith(decoder: TextDecoder, chunk: unknown, isStream: boolean): string {
  return apply(decode, decoder, [chunk, isStream ? STREAM : undefined]);
}

function toBoolean(value: unknown): boolean {
  return !!value;
}

export function installEncoding(): void {
  exposeClass("TextEncoder", TextEncoder);
  exposeClass("TextDecoder", TextDecoder);
}
