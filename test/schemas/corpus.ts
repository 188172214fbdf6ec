/** The hard schemas, and how a printed type is judged by their values. */
import { readFileSync } from "node:fs";
import { ROOT } from "../sources.ts";
import { compile } from "./compile.ts";

export interface Case {
  readonly src: "hand" | "mcp" | "openapi";
  readonly name: string;
  readonly schema: Readonly<Record<string, unknown>>;
  readonly valid: readonly unknown[];
  readonly invalid: readonly unknown[];
}

export const CASES: readonly Case[] = readFileSync(`${ROOT}test/data/schemas/hard-schemas.jsonl`, "utf8")
  .trimEnd()
  .split("\n")
  .map((line) => JSON.parse(line) as Case);

export interface Verdict {
  readonly name: string;
  /** Errors in the type itself. */
  readonly faults: readonly string[];
  /** Valid values that are no value of the type, with the error. */
  readonly rejected: readonly string[];
  /** Invalid values that are one. */
  readonly missed: readonly string[];
}

/** `types` has for each case its declarations; the case's own type is called T. */
export async function judge(cases: readonly Case[], types: readonly string[]): Promise<readonly Verdict[]> {
  const files = cases.map(({ valid, invalid }, index) => {
    const values = [...valid, ...invalid].map((value, at) => `const v${at}:T=${JSON.stringify(value)};`);
    return [types[index] ?? "", ...values].join("\n");
  });
  const errors = await compile(files);
  return cases.map(({ name, valid, invalid }, index) => {
    const found = errors[index] ?? new Map<number, string>();
    const head = (types[index] ?? "").split("\n").length;
    const errorOf = (at: number): string | undefined => found.get(head + at + 1);
    const show = (value: unknown): string => JSON.stringify(value).slice(0, 200);
    return {
      name,
      faults: [...found].flatMap(([line, message]) => (line <= head ? message : [])),
      rejected: valid.flatMap((value, at) => {
        const error = errorOf(at);
        return error === undefined ? [] : `${show(value)}: ${error}`;
      }),
      missed: invalid.flatMap((value, at) => (errorOf(valid.length + at) === undefined ? show(value) : [])),
    };
  });
}
