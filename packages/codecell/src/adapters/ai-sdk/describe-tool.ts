/**
 * Runs on the host. Describe tool: every word that a model reads about code mode.
 *
 * - It describes only what a program has: it leaves out tools without `execute`, and `fetch` where `fetch` is not
 *   allowed.
 * - The bytes follow from tools and options alone, so that a provider's cache stays warm.
 */
import type { Tool, ToolSet } from "ai";
import type { AnyTool, ToolSet as RunTools } from "../../contract/tool.ts";
import { toMethodName } from "../../declare/literal.ts";
import { renderDeclarations } from "../../declare/render-declarations.ts";
import type { CodeModeFetchPolicy, CodeModeOptions } from "./options.ts";
import { schemaOf } from "./tool-schema.ts";

export const JS_DESCRIPTION = "The program: TypeScript, the body of an async function.";

export function describeTool(tools: ToolSet, options: CodeModeOptions): string {
  const { fetchPolicy } = options;
  const fetches = fetchPolicy === undefined || fetchPolicy === false ? undefined : fetchPolicy;
  const declared = toDeclared(tools);
  const names = Object.keys(declared);
  return [
    names.length > 0
      ? "Runs a TypeScript program that calls tools. Do a whole task in one program: loop, join, filter, and return only what you need."
      : "Runs a TypeScript program and answers with the value it returns.",
    `js: the body of an async function; await and return work at top level, types are stripped and not checked. No import, require, eval${fetches === undefined ? ", files or network" : " or files"}${names.length > 0 ? ": the tools below are all it can reach" : ""}.`,
    "Inputs, outputs and the returned value are JSON. console.log lines are part of the answer.",
    ...(fetches === undefined ? [] : [describeFetch(fetches)]),
    ...(names.length > 0 ? [...describeCalls(names), renderDeclarations(declared)] : []),
  ].join("\n");
}

function describeCalls(names: readonly string[]): string[] {
  const [first = "", second = first] = names.map((name) => toCallee(name));
  return [
    "Await every call before you return. Calls that do not depend on each other go into Promise.all. A call that fails throws an Error with name, message and code: catch it to go on.",
    "For example:",
    `const one = await ${first}(input);\nconst [a, b] = await Promise.all([${first}(input), ${second}(input)]);\nreturn { one, a, b };`,
  ];
}

/** `tools.name`, or `tools["na-me"]`. */
function toCallee(name: string): string {
  const method = toMethodName(name);
  return method === name ? `tools.${name}` : `tools[${JSON.stringify(name)}]`;
}

function describeFetch(policy: CodeModeFetchPolicy): string {
  const { allowedOrigins = [], allowedUrlPrefixes = [], allowedMethods = ["GET", "HEAD"] } = policy;
  const { maxResponseBytes = 1024 * 1024, allowRedirects = false } = policy;
  const where = [...allowedOrigins, ...allowedUrlPrefixes].join(", ") || "nowhere";
  return `fetch(url, init) works for ${where}; methods ${allowedMethods.join(", ")}; responses of at most ${maxResponseBytes} bytes; redirects are ${allowRedirects ? "followed where they lead to such places" : "not followed"}.`;
}

function toDeclared(tools: ToolSet): RunTools {
  const declared: Record<string, AnyTool> = {};
  for (const [name, tool] of Object.entries(tools)) {
    if (tool.execute === undefined || tool.execute === null) continue;
    const { description } = tool as { description?: unknown };
    const output = schemaOf((tool as { outputSchema?: Tool["outputSchema"] }).outputSchema);
    declared[name] = {
      ...(typeof description === "string" ? { description } : {}),
      input: schemaOf(tool.inputSchema) ?? true,
      ...(output === undefined ? {} : { output }),
      execute: () => undefined,
    };
  }
  return declared;
}
