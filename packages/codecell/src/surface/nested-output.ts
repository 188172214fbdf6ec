/**
 * NestedOutput: what a tool gave, as it may cross to a program: validated, JSON, and of a bounded size.
 *
 * - Done before the call counts as completed, so that a record of it never says otherwise than the program was told.
 */
import { CallRefusal, encodeOutput } from "../bridge/invoke.ts";
import { validatorOf } from "../bridge/schema.ts";
import type { CatalogEntry } from "../catalog/catalog-entry.ts";
import type { Json } from "../contract/value.ts";
import { judgeApartFor } from "../sandbox/judges.ts";
import { LARGEST_LOAD } from "./catalog-tools.ts";

/** Throws a refusal for what cannot cross. */
export async function toNestedOutput(
  { id, tool }: CatalogEntry,
  output: unknown,
  runId: string,
): Promise<Json> {
  const validated = await validatorOf(tool.output, "output")(output, "output", judgeApartFor(runId));
  if (!validated.ok) {
    throw new CallRefusal("invalid_output", `Tool "${id}" gave an unusable output, ${validated.problems}`);
  }
  return JSON.parse(encodeOutput(id, validated.value, LARGEST_LOAD).text) as Json;
}
