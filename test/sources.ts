/** The TypeScript files of the repository and what each of them imports, read with a real parser. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parse } from "@babel/parser";

export const ROOT: string = fileURLToPath(new URL("..", import.meta.url));

export interface Import {
  readonly specifier: string;
  /** Erased before the code runs. */
  readonly typeOnly: boolean;
}

/** Paths below a folder, with `/`, relative to the repository's root. */
export function filesBelow(folder: string, extension = ".ts"): string[] {
  return readdirSync(`${ROOT}${folder}`, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(extension))
    .map((entry) => `${entry.parentPath}/${entry.name}`.slice(ROOT.length).replaceAll("\\", "/"))
    .filter((path) => !/(^|\/)(node_modules|dist|peers)\//u.test(path))
    .sort();
}

export function importsOf(path: string): Import[] {
  const { program } = parse(readFileSync(`${ROOT}${path}`, "utf8"), {
    sourceType: "module",
    sourceFilename: path,
    plugins: ["typescript", "explicitResourceManagement"],
  });
  const found: Import[] = [];
  visit(program, found);
  return found;
}

function visit(value: unknown, found: Import[]): void {
  if (Array.isArray(value)) {
    for (const item of value) visit(item, found);
    return;
  }
  if (typeof value !== "object" || value === null || !("type" in value)) return;
  const node = value as Record<string, unknown>;
  const specifier = literal(node["source"]);
  if (specifier !== undefined && /^(Import|Export)/u.test(String(node["type"]))) {
    found.push({ specifier, typeOnly: isTypeOnly(node) });
  }
  if (node["type"] === "TSImportType") {
    found.push({ specifier: literal(node["argument"]) ?? literal(node["source"]) ?? "", typeOnly: true });
  }
  for (const key of Object.keys(node)) if (!/^(loc|comments|.*Comments)$/u.test(key)) visit(node[key], found);
}

function isTypeOnly(node: Record<string, unknown>): boolean {
  if (node["importKind"] === "type" || node["exportKind"] === "type") return true;
  const specifiers = node["specifiers"] as readonly Record<string, unknown>[] | undefined;
  return (
    specifiers !== undefined &&
    specifiers.length > 0 &&
    specifiers.every((one) => one["importKind"] === "type" || one["exportKind"] === "type")
  );
}

function literal(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const text: unknown = (value as Record<string, unknown>)["value"];
  return typeof text === "string" ? text : undefined;
}
