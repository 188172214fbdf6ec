/** The TypeScript files of the repository: what each imports, and what its tests are called. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parse } from "@babel/parser";

export const ROOT: string = fileURLToPath(new URL("..", import.meta.url));

export interface Import {
  readonly specifier: string;
  /** Erased before the code runs. */
  readonly typeOnly: boolean;
}

/** A syntax node, by its field names. */
type SyntaxNode = Readonly<Record<string, unknown>>;

/** Paths below a folder, with `/`, relative to the repository's root. */
export function filesBelow(folder: string, extension = ".ts"): string[] {
  return readdirSync(`${ROOT}${folder}`, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(extension))
    .map((entry) => `${entry.parentPath}/${entry.name}`.slice(ROOT.length).replaceAll("\\", "/"))
    .filter((path) => !/(^|\/)(node_modules|dist|peers|\.blocks-\w+)\//u.test(path))
    .toSorted();
}

export function importsOf(path: string): Import[] {
  const found: Import[] = [];
  walk(parseFile(path), (node) => {
    const specifier = textOf(node["source"]) ?? textOf(node["argument"]);
    const type = String(node["type"]);
    if (specifier === undefined || !/^(Import|Export|TSImportType)/u.test(type)) return;
    found.push({ specifier, typeOnly: type === "TSImportType" || isTypeOnly(node) });
  });
  return found;
}

/** Titles of tests and suites, however they are built: `test(…)`, `test.each(…)(…)`, `describe(…)`. */
export function titlesOf(path: string): string[] {
  const found: string[] = [];
  walk(parseFile(path), (node) => {
    if (node["type"] !== "CallExpression" || !/^(test|it|describe)$/u.test(rootNameOf(node) ?? "")) return;
    const title = textOf((node["arguments"] as readonly unknown[])[0]);
    if (title !== undefined) found.push(title);
  });
  return found;
}

/** Names of getters that stand in object literals, not in classes. */
export function literalGettersOf(path: string): string[] {
  const found: string[] = [];
  walk(parseFile(path), (node) => {
    if (node["type"] !== "ObjectMethod" || node["kind"] !== "get") return;
    const key = node["key"] as SyntaxNode;
    found.push(String(key["name"] ?? key["value"]));
  });
  return found;
}

/** Which of these names a file uses other than as the name of a property. */
export function globalsOf(path: string, names: ReadonlySet<string>): string[] {
  const found = new Set<string>();
  const properties = new Set<unknown>();
  walk(parseFile(path), (node) => {
    if (node["computed"] === false) properties.add(node["property"] ?? node["key"]);
    const name = String(node["name"]);
    if (node["type"] === "Identifier" && names.has(name) && !properties.has(node)) found.add(name);
  });
  return [...found];
}

/** Names of types, interfaces and classes that a file declares, exported or not. */
export function typeNamesOf(path: string): string[] {
  const found: string[] = [];
  walk(parseFile(path), (node) => {
    const type = String(node["type"]);
    if (!/^(TSInterfaceDeclaration|TSTypeAliasDeclaration|ClassDeclaration)$/u.test(type)) return;
    found.push(String((node["id"] as SyntaxNode)["name"]));
  });
  return found;
}

/** Names of functions, classes and constants that a file declares and exports. A name that it passes on is not its own. */
export function exportedNamesOf(path: string): Set<string> {
  const found = new Set<string>();
  walk(parseFile(path), (node) => {
    if (node["type"] !== "ExportNamedDeclaration" || !isNode(node["declaration"])) return;
    const { type, id, declarations = [] } = node["declaration"];
    const isNamed = /^(TSDeclareFunction|FunctionDeclaration|ClassDeclaration)$/u.test(String(type));
    for (const name of isNamed ? boundBy(id) : []) found.add(name);
    for (const one of declarations as readonly SyntaxNode[])
      for (const name of boundBy(one["id"])) found.add(name);
  });
  return found;
}

/** The names that stand at the left of a declaration: one name, or those of an object pattern. */
function boundBy(pattern: unknown): string[] {
  if (!isNode(pattern)) return [];
  if (pattern["type"] === "Identifier") return [String(pattern["name"])];
  return ((pattern["properties"] ?? []) as readonly SyntaxNode[]).flatMap(({ value }) => boundBy(value));
}

function parseFile(path: string): unknown {
  return parse(readFileSync(`${ROOT}${path}`, "utf8"), {
    sourceType: "module",
    sourceFilename: path,
    plugins: ["typescript"],
  }).program;
}

function walk(value: unknown, visit: (node: SyntaxNode) => void): void {
  if (Array.isArray(value)) {
    for (const item of value) walk(item, visit);
    return;
  }
  if (!isNode(value)) return;
  visit(value);
  for (const key of Object.keys(value)) if (!/^loc$|omments$/u.test(key)) walk(value[key], visit);
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === "object" && value !== null && "type" in value;
}

function isTypeOnly(node: SyntaxNode): boolean {
  if (node["importKind"] === "type" || node["exportKind"] === "type") return true;
  const specifiers = node["specifiers"] as readonly SyntaxNode[] | undefined;
  return (
    specifiers !== undefined &&
    specifiers.length > 0 &&
    specifiers.every((one) => one["importKind"] === "type" || one["exportKind"] === "type")
  );
}

/** The name at the left end of a chain of calls and members. */
function rootNameOf(node: SyntaxNode): string | undefined {
  const inner = node["callee"] ?? node["object"] ?? node["tag"];
  if (isNode(inner)) return rootNameOf(inner);
  return typeof node["name"] === "string" ? node["name"] : undefined;
}

function textOf(node: unknown): string | undefined {
  if (!isNode(node)) return undefined;
  if (node["type"] === "TemplateLiteral") {
    const quasis = node["quasis"] as readonly { readonly value: { readonly raw: string } }[];
    return quasis.map(({ value }) => value.raw).join("…");
  }
  return typeof node["value"] === "string" ? node["value"] : undefined;
}
