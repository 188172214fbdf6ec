/**
 * Tool: anything the guest can call. Types flow from the schemas to `execute`.
 */
import type { FromJsonSchema } from "./json-schema-type.ts";
import type { JsonSchema, StandardSchema } from "./standard-schema.ts";
import type { Json } from "./value.ts";

/** What a tool is told about the call it serves. */
export interface CallContext {
  readonly runId: string;
  readonly callId: string;
  /** The same for every attempt at this call, also after a crash; different for every other call. */
  readonly idempotencyKey: string;
  /** Aborted when the run is aborted, times out or fails. */
  readonly signal: AbortSignal;
  /** What the caller gave to `start` as `context`. */
  readonly context: unknown;
  /**
   * Ends this execution and suspends the run until somebody resolves the call; see `host.resume`. It throws: let that pass,
   * and await whatever calls it. Caught or not, what the tool does afterwards counts for nothing.
   */
  readonly suspend: (payload: Json) => never;
  /** After a resume: what the call was resolved with. */
  readonly resolution: Json | undefined;
}

export interface Tool<Input = unknown, Output = unknown> {
  readonly description?: string | undefined;
  /** For people, where its name is for programs. */
  readonly label?: string | undefined;
  /** Further words under which it is found. */
  readonly tags?: readonly string[] | undefined;
  /** Shown when it is described. */
  readonly examples?: readonly ToolExample[] | undefined;
  /** Standard Schema or JSON Schema; without one any JSON is accepted. */
  readonly input?: StandardSchema<unknown, Input> | JsonSchema | undefined;
  readonly output?: StandardSchema<Output, unknown> | JsonSchema | undefined;
  /** Calling it changes nothing; after a crash it is simply called again. */
  readonly readOnly?: boolean | undefined;
  /** Calling it twice with the same idempotency key is like calling it once; after a crash it is called again. */
  readonly idempotent?: boolean | undefined;
  /** May return an async iterable: each value is progress, the last one is the output. */
  readonly execute: (input: Input, call: CallContext) => Output | Promise<Output> | AsyncIterable<Output>;
}

export interface ToolExample {
  readonly input: unknown;
  readonly output?: unknown;
}

// The one sanctioned `any`: a tool of some input type, where the type is known to its definer only.
// oxlint-disable-next-line typescript/no-explicit-any
export type AnyTool = Tool<any>;

export type ToolSet = Readonly<Record<string, AnyTool>>;

type JsonSchemaObject = Readonly<Record<string, unknown>>;

/** What a schema that converts values gives for what it takes. */
type ConvertedBy<Schema> = Schema extends StandardSchema<unknown, infer Output> ? Output : unknown;

/** A tool that remembers its schemas: what they take may be another type than what they give. */
type Remembered<Input, Output, InputSchema, OutputSchema> = Tool<Input, Output> & {
  readonly input: InputSchema;
  readonly output?: OutputSchema | undefined;
};

/** Identity; the types of `execute` follow from the schemas, or from its own annotations where there are none. */
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
