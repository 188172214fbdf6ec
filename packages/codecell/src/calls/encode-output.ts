/** Runs on the host. Encodes a tool's output as the text that crosses to the guest, within its limit. */
import { calledAs, type NamedCall } from "../contract/features.ts";
import { utf8Bytes } from "../value/json-text.ts";
import { printJson } from "../value/print-json.ts";
import { CallRefusal } from "./call-failure.ts";

export interface EncodedOutput {
  readonly text: string;
  readonly bytes: number;
}

/** An output that is JSON text already. Only tools of the host itself give it: no schema, hook or record reads it. */
export class PrintedOutput {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Throws a CallRefusal, or rejects with it, if the output is not JSON or too large. */
export function encodeOutput(
  call: NamedCall,
  output: unknown,
  maxBytes: number,
): EncodedOutput | Promise<EncodedOutput> {
  if (output instanceof PrintedOutput) return withinBytes(call, output.text, maxBytes);
  const printing = printJson(output ?? null);
  if (printing instanceof Promise) return printing.then((text) => withinBytes(call, text, maxBytes));
  return withinBytes(call, printing, maxBytes);
}

function withinBytes(call: NamedCall, text: string | undefined, maxBytes: number): EncodedOutput {
  if (text === undefined)
    throw new CallRefusal("invalid_output", `${calledAs(call, "Tool")} gave an output that is not JSON`);
  const bytes = text.length > maxBytes ? text.length : utf8Bytes(text);
  if (bytes > maxBytes) {
    throw new CallRefusal(
      "output_limit",
      `${calledAs(call, "Tool")} gave an output of ${bytes} bytes, at most ${maxBytes} are allowed: ask it for less`,
    );
  }
  return { text, bytes };
}
