/** Runs on the host. Converts what a program printed to output items for a model. */
import type { LogLine } from "../../contract/result.ts";
import type { Json } from "../../contract/value.ts";
import type { CodeModeOutput } from "../shown/code-mode-result.ts";

export function toOutput({ level, text }: LogLine): CodeModeOutput {
  if (level !== "json") return { type: "text", text };
  try {
    return { type: "json", value: JSON.parse(text) as Json };
  } catch {
    // A worker that was taken over can send anything.
    return { type: "text", text };
  }
}
