/**
 * Runs anywhere. The part of the Standard Schema interface that Codecell reads: any library that implements it can
 * describe a tool.
 */

export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

export interface StandardIssue {
  readonly message: string;
  readonly path?: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined;
}

/**
 * Whether a value says that it is a Standard Schema. Schemas of some libraries are functions. ./schema-problem.ts refuses
 * one that cannot validate.
 */
export function isStandardSchema(value: unknown): value is StandardSchema {
  const mayBe = (typeof value === "object" && value !== null) || typeof value === "function";
  return mayBe && "~standard" in value;
}

/** A JSON Schema document: an object of keywords, or a boolean. */
export type JsonSchema = Readonly<Record<string, unknown>> | boolean;

/** What a program gives to a tool, or gets from it. Inputs leave out read-only properties, outputs write-only ones. */
export type Direction = "input" | "output";
