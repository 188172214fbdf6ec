/**
 * Runs in tests. The three shapes of what `exec` and `wait` answer, as the contract writes them. A result may have
 * nothing else.
 */
import assert from "node:assert/strict";
import { CODE_MODE_ERROR_CODES, type CodeModeResult } from "codecell/surface";
import { z } from "zod";

const count = z.int().min(0);
const code = z.enum(Object.keys(CODE_MODE_ERROR_CODES));

const telemetry = z.strictObject({
  visibleTools: z.array(z.string()),
  catalog: z.strictObject({ size: count, sources: z.record(z.string(), count) }),
  counts: z.strictObject({ exec: count, wait: count, search: count, describe: count, call: count }),
  calledTools: z.array(z.string()),
  moreCalledTools: count.optional(),
  failures: z.partialRecord(code, count),
  snapshots: z.strictObject({ created: count, restored: count, expired: count, dropped: count }),
});

const output = z
  .array(
    z.union([
      z.strictObject({ type: z.literal("text"), text: z.string() }),
      z.strictObject({ type: z.literal("json"), value: z.json() }),
    ]),
  )
  // A result without output has no output field, not an empty one.
  .min(1)
  .optional();

const SHAPES: Readonly<Record<CodeModeResult["status"], z.ZodType>> = {
  completed: z.strictObject({ status: z.literal("completed"), value: z.json(), output, telemetry }),
  waiting: z.strictObject({
    status: z.literal("waiting"),
    runId: z.string().min(1),
    reason: z.enum(["pending_tools", "yield"]),
    pendingToolCalls: z
      .array(
        z.strictObject({
          id: z.string().min(1),
          tool: z.string().min(1),
          startedAt: z.iso.datetime(),
          input: z.string(),
          asks: z.json().optional(),
        }),
      )
      .min(1)
      .optional(),
    output,
    telemetry,
  }),
  failed: z.strictObject({
    status: z.literal("failed"),
    error: z.string().min(1).max(2000),
    code,
    output,
    telemetry,
  }),
};

/** Asserts that exactly one shape fits, and that the result is plain data: it survives JSON unchanged. */
export function expectResult(result: CodeModeResult): CodeModeResult {
  const fitting = Object.entries(SHAPES).filter(([, shape]) => shape.safeParse(result).success);
  const statuses = fitting.map(([status]) => status);
  assert.deepEqual(statuses, [result.status], `It fits ${statuses.join()}: ${JSON.stringify(result)}`);
  assert.deepEqual(JSON.parse(JSON.stringify(result)), result);
  return result;
}

type Of<Status extends CodeModeResult["status"]> = Extract<CodeModeResult, { readonly status: Status }>;

/** Asserts that the result has this status. */
export function expectStatus<Status extends CodeModeResult["status"]>(
  status: Status,
  result: CodeModeResult,
): Of<Status> {
  expectResult(result);
  if (result.status !== status) throw new Error(`Not ${status}: ${JSON.stringify(result)}`);
  return result as Of<Status>;
}

/** Size of what the cap bounds: the output and the value, as JSON text. */
export function sizeOf(result: CodeModeResult): number {
  const parts = [result.output, result.status === "completed" ? result.value : undefined].filter(
    (part) => part !== undefined,
  );
  return parts.reduce<number>((sum, part) => sum + Buffer.byteLength(JSON.stringify(part)), 0);
}
