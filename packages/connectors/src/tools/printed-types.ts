/**
 * Runs on the host. The types of a tool as a program's code calls it by a handle.
 *
 * - They are printed as the root of the handles is called: `caplets` gives CapletsResult.
 */
import type { JsonSchema } from "codecell";
import { renderType } from "codecell/declare";

const LONGEST_NAME = 200;

export function toSignature(name: string, result: string): string {
  const { input, output } = typeNamesOf(name);
  return `callTool(name: ${JSON.stringify(name)}, args: ${input}): Promise<${result}<${output}>>`;
}

interface TypeNames {
  readonly input: string;
  readonly output: string;
}

/** `list_issues` gives ListIssuesInput and ListIssuesOutput. */
export function typeNamesOf(name: string): TypeNames {
  const words = name.slice(0, LONGEST_NAME).match(/[A-Za-z\d]+/gu) ?? [];
  const joined = words.map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`).join("");
  const stem = /^[A-Za-z]/u.test(joined) ? joined : `Tool${joined}`;
  return { input: `${stem}Input`, output: `${stem}Output` };
}

export function printType(
  name: string,
  schema: JsonSchema | undefined,
  direction: "input" | "output",
  maxCharacters: number,
): string {
  if (schema === undefined) return `type ${name} = unknown`;
  const printed = renderType(name, schema, { direction, maxCharacters });
  return printed.replace(`type ${name}=`, () => `type ${name} = `);
}
