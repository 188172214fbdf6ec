/**
 * Guest API: tools as a person sees them who writes a guest program in an editor.
 *
 * - Types only: `declare const tools: GuestApi<typeof myTools>`.
 * - Inputs are what schemas take, outputs what arrives after they have crossed as JSON.
 */
import type { AnyTool, ToolSet } from "../contract/tool.ts";

/** The `tools` object of a program that is run with these tools. */
export type GuestApi<Tools extends ToolSet> = {
  readonly [Name in keyof Tools]: GuestFunction<GuestInput<Tools[Name]>, GuestOutput<Tools[Name]>>;
};

type GuestFunction<Input, Output> = undefined extends Input
  ? (input?: Input) => Promise<Output>
  : (input: Input) => Promise<Output>;

/** What a schema takes, where its type is known; else what the tool itself takes. */
type GuestInput<T extends AnyTool> = Else<SchemaType<T["input"], "input">, Parameters<T["execute"]>[0]>;

/** What a schema gives, where its type is known; else what the tool itself gives. */
type GuestOutput<T extends AnyTool> = NothingAsNull<
  AsJson<Else<SchemaType<T["output"], "output">, Delivered<ReturnType<T["execute"]>>>>
>;

type Else<T, Otherwise> = [T] extends [never] ? Otherwise : T;

/** The type of a Standard Schema before or after it has converted a value; `never` where it is not known. */
type SchemaType<Schema, Side extends "input" | "output"> = Schema extends {
  readonly "~standard": { readonly types?: infer Types };
}
  ? NonNullable<Types> extends Readonly<Record<Side, infer T>>
    ? unknown extends T
      ? never
      : T
    : never
  : never;

/** A tool that streams delivers its last value. */
type Delivered<T> = T extends AsyncIterable<infer Output> ? Output : Awaited<T>;

type NothingAsNull<T> = unknown extends T ? T : T extends undefined | void ? null : T;

/** A value after it has crossed as JSON. */
export type AsJson<T> = unknown extends T
  ? T
  : T extends { toJSON(): infer Plain }
    ? AsJson<Plain>
    : T extends string | number | boolean | null | undefined | void
      ? T
      : T extends object
        ? { [Key in keyof T]: AsJson<T[Key]> }
        : never;
