/**
 * NestedOutput: what a tool gave, as it may cross to a program: validated, JSON, and of a bounded size.
 *
 * - Done before the call counts as completed, so that a record of it never says otherwise than the program was told.
 */
import { CallRefusal, encodeOutput, SCHEMA_FAILED } from "../../calls/invoke.ts";
import { buildJson } from "../../value/parse-json.ts";
import { type Validated, validatorOf } from "../../calls/schema.ts";
import type { CatalogEntry } from "../../catalog/catalog-entry.ts";
import type { Json } from "../../contract/value.ts";
import { LARGEST_LOAD } from "../catalog-tools.ts";
import type { JudgeApart } from "../../protocol/judges.ts";

/** Throws a refusal for what cannot cross. */
export async function toNestedOutput(
  { id, tool }: CatalogEntry,
  output: unknown,
  judgeApart: JudgeApart,
): Promise<{ readonly value: Json; readonly bytes: number }> {
  const unusable = (problems: string, cause?: unknown): CallRefusal =>
    new CallRefusal("invalid_output", `Tool "${id}" gave an unusable output, ${problems}`, cause);
  let validated: Validated;
  try {
    validated = await validatorOf(tool.output, "output")(output, "output", judgeApart);
  } catch (error) {
    // A schema that fails by itself: only the host hears why.
    throw unusable(SCHEMA_FAILED.output, error);
  }
  if (!validated.ok) throw unusable(validated.problems);
  const { text, bytes } = await encodeOutput(id, validated.value, LARGEST_LOAD);
  return { value: await buildJson(text), bytes };
}
