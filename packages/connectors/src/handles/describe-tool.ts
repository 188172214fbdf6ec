/**
 * Runs on the host. What `describeTool` gives.
 *
 * - What a backend says of its tools may be large: every text and list here is bounded.
 */
import type { Json } from "codecell";
import type { ToolDescription } from "codecell/catalog";
import type { BackendTool } from "../contract/connector.ts";
import { printType, toSignature, typeNamesOf } from "../tools/printed-types.ts";
import { present } from "../tools/values.ts";
import { toToolSummary } from "./summary.ts";

const LONGEST_TYPES = 20_000;
const MOST_EXAMPLES = 3;

export function toDescriptor(
  id: string,
  result: string,
  tool: BackendTool,
  { examples, observedOutput }: ToolDescription,
): Json {
  const { inputSchema, outputSchema } = tool;
  const types = typeNamesOf(tool.name);
  return present({
    id,
    tool: toToolSummary(tool, true),
    inputSchema: inputSchema as Json | undefined,
    outputSchema: outputSchema as Json | undefined,
    callSignature: toSignature(tool.name, result),
    inputTypeScript: printType(types.input, inputSchema, "input", LONGEST_TYPES),
    outputTypeScript:
      outputSchema === undefined && observedOutput !== undefined
        ? `type ${types.output} = ${observedOutput.typeScript}`
        : printType(types.output, outputSchema, "output", LONGEST_TYPES),
    observedOutputShape:
      observedOutput === undefined
        ? undefined
        : ({ ...observedOutput, observedAt: new Date(observedOutput.observedAt).toISOString() } as Json),
    examples: examples.slice(0, MOST_EXAMPLES) as unknown as Json,
  });
}
