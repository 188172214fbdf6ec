/** Runs anywhere. A tool is anything the guest can call. Types flow from the schemas to `execute`. */
import type { FromJsonSchema } from "./json-schema-type.ts";
import type { JsonSchema, StandardSchema } from "./standard-schema.ts";
import type { Json } from "./value.ts";

/** What a tool is told about the call it serves. */
export interface CallContext {
  readonly runId: string;
  readonly callId: string;
  /** The same for every attempt at this call, also after a crash. Every other call has a different key. */
  readonly idempotencyKey: string;
  /** Aborted when the run ends before the call does. */
  readonly signal: AbortSignal;
  /** The `context` that was given to `start`, `resume` or `fork`. */
  readonly context: unknown;
  /**
   * Ends this execution and suspends the run until somebody resolves the call; see `host.resume`. It throws: do not
   * catch that, and await whatever calls it. Caught or not, what the tool does afterwards has no effect.
   */
  readonly suspend: (payload: Json) => never;
  /** After a resume: the value with which the call was resolved. */
  readonly resolution: Json | undefined;
}

export interface Tool<Input = unknown, Output = unknown> {
  readonly description?: string | undefined;
  /** A name for people; the tool's own name is for programs. */
  readonly label?: string | undefined;
  /** Further words by which search finds the tool. */
  readonly tags?: readonly string[] | undefined;
  /** Shown when the tool is described. */
  readonly examples?: readonly ToolExample[] | undefined;
  /** A Standard Schema or a JSON Schema. Without one any JSON is accepted. */
  readonly input?: StandardSchema<unknown, Input> | JsonSchema | undefined;
  readonly output?: StandardSchema<Output, unknown> | JsonSchema | undefined;
  /** Calling the tool changes nothing. After a crash it is simply called again. */
  readonly readOnly?: boolean | undefined;
  /** Two calls with the same idempotency key have the effect of one. After a crash the tool is called again. */
  readonly idempotent?: boolean | undefined;
  /** May return an async iterable: each value is progress, and the last value is the output. */
  readonly execute: (input: Input, call: CallContext) => Output | Promise<Output> | AsyncIterable<Output>;
}

export interface ToolExample {
  readonly input: unknown;
  readonly output?: unknown;
}

// The only allowed `any`: a tool of some input type, which only its definer knows.
// oxlint-disable-next-line typescript/no-explicit-any
export type AnyTool = Tool<any>;

export type ToolSet = Readonly<Record<string, AnyTool>>;

type JsonSchemaObject = Readonly<Record<string, unknown>>;

/** The type that a schema gives after it converted a value. */
type ConvertedBy<Schema> = Schema extends StandardSchema<unknown, infer Output> ? Output : unknown;

/** A tool with the types of its schemas: a schema may take another type than it gives. */
type Remembered<Input, Output, InputSchema, OutputSchema> = Tool<Input, Output> & {
  readonly input: InputSchema;
  readonly output?: OutputSchema | undefined;
};

/**
 * Gives the tool back. The types of `execute` follow from the schemas or, without schemas, from its own annotations.
 */
export function defineTool<
  InputSchema extends StandardSchema,
  Output,
  OutputSchema extends StandardSchema<Output, unknown> | JsonSchema = JsonSchema,
>(
  tool: Omit<Tool<ConvertedBy<InputSchema>, Output>, "input" | "output"> & {
    readonly input: InputSchema;
    readonly output?: OutputSchema | undefined;
  },
): Remembered<ConvertedBy<InputSchema>, Output, InputSchema, OutputSchema>;
export function defineTool<
  const Schema extends JsonSchemaObject,
  Output,
  OutputSchema extends StandardSchema<Output, unknown> | JsonSchema = JsonSchema,
>(
  tool: Omit<Tool<FromJsonSchema<Schema>, Output>, "input" | "output"> & {
    readonly input: Schema;
    readonly output?: OutputSchema | undefined;
  },
): Remembered<FromJsonSchema<Schema>, Output, JsonSchema, OutputSchema>;
export function defineTool<Input = unknown, Output = unknown>(tool: Tool<Input, Output>): Tool<Input, Output>;
export function defineTool(tool: AnyTool): AnyTool {
  return tool;
}
