/** Runs on the host. Reads what a model gave to `exec` and `wait`. Never throws, whatever the input. */
import { isRecord } from "../value/shape.ts";
import type { Program } from "./agent-program.ts";
import type { CodeModeSettings } from "./config.ts";
import type { Problem } from "./shown/problems.ts";

export function readProgram(
  input: unknown,
  { languages }: CodeModeSettings,
): Program | { readonly problem: Problem } {
  const code = fieldOf(input, "code");
  // Models send null for what they leave out.
  const language = fieldOf(input, "language") ?? "javascript";
  if (typeof code !== "string" || code.trim() === "") {
    return { problem: ["invalid_input", "exec needs { code }: the text of a program"] };
  }
  const known = languages.find((one) => one === language);
  if (known !== undefined) return { source: code, language: known };
  const asked = typeof language === "string" ? `"${language.slice(0, 40)}"` : `a ${typeof language}`;
  const message = `Cannot execute ${asked}: programs are written in ${languages.join(" or ")}; set language to one of these`;
  return { problem: ["unsupported_language", message] };
}

/** A field of the input; undefined if it cannot be read. */
export function fieldOf(input: unknown, name: string): unknown {
  try {
    return isRecord(input) ? input[name] : undefined;
  } catch {
    return undefined;
  }
}
