/**
 * Runs on the host. Makes the two tools that a model sees in place of all others, and every word that it reads about
 * them.
 *
 * - The text names only what the run has: no language that is not enabled, no helper that is missing, and nothing
 *   about tools if there are none.
 * - The bytes depend only on the catalog's content, the settings and the features.
 */
import type { Catalog } from "../../catalog/catalog.ts";
import type { CodeModeSettings } from "../config.ts";
import type { ConnectorHandles } from "../../run/host/connector-handles.ts";
import { renderToolIndex, type ToolIndex } from "./tool-index.ts";

/** What the programs of this run can do beyond what all programs can. */
export interface SurfaceFeatures {
  /** Whether programs have `yield_control`. */
  readonly yields: boolean;
  /** The handles that programs have. */
  readonly connectors?: Pick<ConnectorHandles, "setting" | "declarations"> | undefined;
}

export interface ModelTool<Name extends string = string> {
  readonly name: Name;
  readonly description: string;
  readonly inputSchema: ObjectSchema;
}

/** A JSON Schema of an object. */
export interface ObjectSchema {
  readonly type: "object";
  readonly properties: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly required: readonly string[];
  readonly additionalProperties: false;
}

export interface Surface {
  readonly exec: ModelTool<"exec">;
  readonly wait: ModelTool<"wait">;
}

export function describeSurface(
  catalog: Pick<Catalog, "entries" | "names">,
  settings: CodeModeSettings,
  features: SurfaceFeatures,
): Surface {
  return {
    exec: {
      name: "exec",
      description: [
        ...guide(catalog, settings, features),
        ...toolGuide(catalog, settings),
        ...handleGuide(features),
      ].join("\n"),
      inputSchema: execSchema(settings),
    },
    wait: {
      name: "wait",
      description:
        "Continues a program that was answered with status waiting. Give its runId; answers like exec, with the output made since then.",
      inputSchema: objectSchema({ runId: { type: "string" } }, ["runId"]),
    },
  };
}

function objectSchema(properties: ObjectSchema["properties"], required: readonly string[]): ObjectSchema {
  return { type: "object", properties, required, additionalProperties: false };
}

/** A program without a language is JavaScript. If JavaScript is not enabled, the language is required. */
function execSchema({ languages }: CodeModeSettings): ObjectSchema {
  return objectSchema(
    { code: { type: "string" }, language: { type: "string", enum: languages } },
    languages.includes("javascript") ? ["code"] : ["code", "language"],
  );
}

function guide(
  { entries }: Pick<Catalog, "entries">,
  { languages, maxOutputBytes, timeoutMs }: CodeModeSettings,
  { yields, connectors }: SurfaceFeatures,
): string[] {
  const hasTools = entries.length > 0 || connectors !== undefined;
  const waits = [
    ...(hasTools ? [`calls are pending after ${timeoutMs / 1000} s`] : []),
    ...(yields ? ["the program did await yield_control(reason)"] : []),
  ];
  return [
    hasTools
      ? "Runs a program that calls tools. Do a whole task in one program: loop, join, filter, and return only what you need."
      : "Runs a program and answers with its result.",
    `code: the body of an async ${languageWords(languages)}; await and return work at top level. No import, require, files or network${hasTools ? ": tools are all it can reach" : ""}.`,
    `Output: the returned value as JSON; text(value) and json(value) add items on the way. Beyond ${toKb(maxOutputBytes)} KB it is cut.`,
    `Answer: status completed with value${waits.length > 0 ? "," : " or"} failed with error and code${waits.length > 0 ? `, or waiting with runId (${waits.join(", or ")}): call wait with it` : ""}.`,
  ];
}

function languageWords(languages: readonly string[]): string {
  if (!languages.includes("typescript")) return "JavaScript function";
  if (!languages.includes("javascript")) return "TypeScript function (types are stripped, not checked)";
  return "JavaScript function, or TypeScript with language typescript (types are stripped, not checked)";
}

function toKb(bytes: number): number {
  return Math.floor(bytes / 1024);
}

function toolGuide(catalog: Pick<Catalog, "entries" | "names">, settings: CodeModeSettings): string[] {
  const { entries, names } = catalog;
  if (entries.length === 0) return [];
  const { searchDefaultLimit, maxSearchLimit, maxPendingToolCalls, indexChars } = settings;
  const index = renderToolIndex(catalog, indexChars);
  const called = "calls a tool with one object, gives its plain value";
  return [
    "In code (await every call):",
    ...(names.size === 0 ? [] : [`tools.NAME(input): ${called}`]),
    `tools.call(id, input): ${names.size === 0 ? called : "the same for any tool, by its id"}`,
    `tools.search(words, {limit}): finds tools, best first: [{id, name, description, signature}]; ${searchDefaultLimit} by default, at most ${maxSearchLimit}`,
    "tools.describe(id): one of them, with parameters: the JSON Schema of its input",
    `ALL_TOOLS: array of all ${entries.length}, as search gives them but without signature`,
    `Promise.all runs calls in parallel, ${maxPendingToolCalls} at a time. A call that fails throws an Error with code and message: catch it to go on.`,
    legend(index.notation),
    index.text,
  ];
}

function handleGuide({ connectors }: SurfaceFeatures): string[] {
  if (connectors === undefined) return [];
  const { root } = connectors.setting;
  return [
    `${root} has a handle for each backend. Search its tools, describe the best one, call it; results are { ok, data } or { ok, error }:`,
    connectors.declarations,
  ];
}

function legend({ form, ids, outputs, partial }: ToolIndex["notation"]): string {
  const rest = "for the others use tools.search:";
  const byId = ids ? "call :NAME as tools.call('OWNER:NAME', input); " : "";
  switch (form) {
    case "owners":
      return `Owners of tools (how many); ${rest}`;
    case "names":
      return `Tools, as OWNER (how many): NAME; for inputs use tools.describe('OWNER:NAME'); ${byId}${rest}`;
    case "inputs":
      return `Tools, as OWNER (how many): NAME({field,optional?})${outputs ? ":OUTPUT" : ""}, or NAME if it takes no input; ${byId}${partial ? rest : "that is all of them:"}`;
    default:
      return form satisfies never;
  }
}
