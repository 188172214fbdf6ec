/**
 * Runs on the host. Tool schema: the schemas of tools of the AI SDK, as runs take schemas.
 *
 * - A schema is read when it is first needed: it may be made on demand. It is converted to JSON Schema once, because that
 *   takes time. Whoever reads a schema gets what it throws.
 * - A schema with a validator is a Standard Schema. A schema without one is its JSON Schema, and calls/ judges by it.
 */
import { asSchema, type Schema, type Tool } from "ai";
import { type LateSchema, toLateSchema, validatorOf } from "../../calls/schema.ts";
import {
  isStandardSchema,
  type JsonSchema,
  type StandardIssue,
  type StandardSchema,
} from "../../contract/standard-schema.ts";
import { judgeOutsideRuns } from "../../run/host/default-host.ts";
import { isThenable } from "../../loop/when-known.ts";
import { isRecord } from "../../value/shape.ts";

type Given = Tool["inputSchema"];

/**
 * The schema of a tool's input, as calls/ validates by it and as the check declares it. `find` gives the tool as it is
 * now. Without a tool everything is right: nothing can be called.
 */
export function inputOf(find: () => Tool | undefined): LateSchema {
  const describe = (): unknown => schemaOf(find()?.inputSchema) ?? true;
  const readNow = (): StandardSchema | JsonSchema | Promise<StandardSchema | JsonSchema> => {
    const tool = find();
    return tool === undefined ? true : read(tool.inputSchema);
  };
  const late: LateSchema = toLateSchema(readNow, {
    version: 1,
    vendor: "ai",
    validate: async (value) => {
      const checked = await validatorOf(late, "input")(value, "input", judgeOutsideRuns());
      return checked.ok ? { value: checked.value } : { issues: [{ message: checked.problems }] };
    },
    jsonSchema: { input: describe, output: describe },
  });
  return late;
}

function read(given: Given): StandardSchema | JsonSchema | Promise<StandardSchema | JsonSchema> {
  const schema: Schema | PromiseLike<Schema> = schemaFor(given);
  // A function that makes a schema may give a promise of one.
  return isThenable(schema)
    ? Promise.resolve(schema as PromiseLike<Schema>).then(fromSchema)
    : fromSchema(schema);
}

function fromSchema(schema: Schema): StandardSchema | JsonSchema | Promise<JsonSchema> {
  const { validate } = schema;
  if (validate !== undefined) return standardOf(schema, validate);
  const said: unknown = schema.jsonSchema;
  return isThenable(said) ? Promise.resolve(said).then(toSchema) : toSchema(said);
}

/** As JSON Schema. Undefined if there is no schema, or if the schema is not known yet. */
export function schemaOf(given: Given | undefined): JsonSchema | undefined {
  if (given === undefined || given === null) return undefined;
  const said: unknown = schemaFor(given).jsonSchema;
  return isRecord(said) && !isThenable(said) ? said : undefined;
}

const schemas = new WeakMap<object, Schema>();
const NONE = {};

/** A schema of the AI SDK keeps the JSON Schema that it was converted to. So there is one for each given schema. */
export function schemaFor(given: Given | undefined): Schema {
  // Only the function itself knows whether it would make another schema now.
  if (typeof given === "function" && !isStandardSchema(given)) return asSchema(given);
  const key = given ?? NONE;
  const known = schemas.get(key);
  if (known !== undefined) return known;
  const schema: Schema = asSchema(given);
  schemas.set(key, schema);
  return schema;
}

const standards = new WeakMap<object, StandardSchema>();

/** A schema that validates by itself, and describes itself. */
function standardOf(schema: Schema, validate: NonNullable<Schema["validate"]>): StandardSchema {
  const known = standards.get(schema);
  if (known !== undefined) return known;
  const describe = (): unknown => schema.jsonSchema;
  const standard = {
    version: 1 as const,
    vendor: "ai",
    validate: async (value: unknown) => {
      const result = await validate(value);
      if (result.success) return { value: result.value };
      const { error } = result;
      return { issues: issuesOf(error), words: error.message };
    },
    jsonSchema: { input: describe, output: describe },
  };
  const made: StandardSchema = { "~standard": standard };
  standards.set(schema, made);
  return made;
}

/** What a validator says is wrong. Those of libraries list it by its places, beside a text with all of it. */
function issuesOf(error: Error): readonly StandardIssue[] {
  const { issues, cause } = error as { readonly issues?: unknown; readonly cause?: unknown };
  const listed = [issues, cause].find((list) => Array.isArray(list) && list.length > 0);
  return Array.isArray(listed) && listed.every(isIssue) ? listed : [{ message: error.message }];
}

function isIssue(given: unknown): given is StandardIssue {
  if (!isRecord(given)) return false;
  const { message, path } = given;
  return typeof message === "string" && (path === undefined || Array.isArray(path));
}

/** A schema that is made late may turn out to be no schema. That must not count as a schema that accepts everything. */
function toSchema(said: unknown): JsonSchema {
  if (isRecord(said) || typeof said === "boolean") return said;
  throw new TypeError("The tool's inputSchema gave no JSON Schema");
}
