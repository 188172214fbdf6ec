/** Buffer: a part of the prelude, which a cell loads when its program first needs `Buffer`. Runs inside the guest. */
import { Buffer } from "./buffer.ts";

export interface BufferPart {
  readonly globals: { readonly [name: string]: unknown };
}

// oxlint-disable-next-line no-unused-vars -- the wrapper returns it
declare let made: BufferPart;

made = { globals: { Buffer } };
