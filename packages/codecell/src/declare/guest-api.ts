/**
 * Guest API: the types of tools for a person who writes a guest program in an editor. Types only, no code.
 *
 * - Use: `declare const tools: GuestApi<typeof myTools>`.
 * - Inputs have the types that the schemas accept; outputs have the types that arrive after the transfer as JSON.
 */
import type { AnyTool, ToolSet } from "../contract/tool.ts";

/** The `tools` object of a program that runs with these tools. */
export type GuestApi<Tools extends ToolSet> = {
  readonly [Name in keyof Tools]: GuestFunction<GuestInput<Tools[Name]>, GuestOutput<Tools[Name]>>;
};

type GuestFunction<Input, Output> = undefined extends Input
  ? (input?: Input) => Promise<Output>
  : (input: Input) => Promise<Output>;

/** What the schema accepts, if its type is known; otherwise what the tool itself accepts. */
type GuestInput<T extends AnyTool> = Else<SchemaType<T["input"], "input">, Parameters<T["execute"]>[0]>;

/** What the schema returns, if its type is known; otherwise what the tool itself returns. */
type GuestOutput<T extends AnyTool> = NothingAsNull<
  AsJson<Else<SchemaType<T["output"], "output">, Delivered<ReturnType<T["execute"]>>>>
>;

type Else<T, Otherwise> = [T] extends [never] ? Otherwise : T;

/** The type of a Standard Schema before or after its conversion; `never` if the type is not known. */
type SchemaType<Schema, Side extends "input" | "output"> = Schema extends {
  readonly "~standard": { readonly types?: infer Types };
}
  ? NonNullable<Types> extends Readonly<Record<Side, infer T>>
    ? unknown extends T
      ? never
      : T
    : never
  : never;

/** A tool that streams delivers only its last value. */
type Delivered<T> = T extends AsyncIterable<infer Output> ? Output : Awaited<T>;

type NothingAsNull<T> = unknown extends T ? T : T extends undefined | void ? null : T;

/** The type of a value after the transfer as JSON. */
export type AsJson<T> = unknown extends T
  ? T
  : T extends { toJSON(): infer Plain }
    ? AsJson<Plain>
    : T extends string | number | boolean | null | undefined | void
      ? T
      : T extends object
        ? { [Key in keyof T]: AsJson<T[Key]> }
        : never;
