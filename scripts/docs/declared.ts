/**
 * Declared: what the package exports, read from its sources: names, kinds, comments, and the fields of types.
 *
 * - Runs in scripts and tests. Reads text and executes nothing.
 * - A name is found through the entries of package.json, wherever its file is. So files may move without changing
 *   documents.
 */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parse } from "@babel/parser";

export const ROOT: string = fileURLToPath(new URL("../../", import.meta.url));

/** A syntax node, by its field names. */
type SyntaxNode = Readonly<Record<string, unknown>> & {
  readonly type: string;
  readonly start: number;
  readonly end: number;
};

interface SourceFile {
  readonly path: string;
  readonly text: string;
  readonly body: readonly SyntaxNode[];
}

type DeclarationKind = "class" | "constant" | "function" | "type";

export interface Declaration {
  readonly name: string;
  readonly kind: DeclarationKind;
  /** The comment of the declaration, on one line; empty without one. */
  readonly comment: string;
  readonly node: SyntaxNode;
  readonly file: SourceFile;
}

export interface Field {
  readonly name: string;
  /** The type as in the source, on one line. */
  readonly type: string;
  readonly isOptional: boolean;
  readonly comment: string;
}

export interface Entry {
  /** As users import it: `codecell`, `codecell/ai`. */
  readonly specifier: string;
  readonly exports: readonly Declaration[];
}

interface Manifest {
  readonly name: string;
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
}

const files = new Map<string, SourceFile>();

/** The entries of a package, in the order of its manifest. Each has its exports, in the order of its file. */
export function entriesOf(folder: string): Entry[] {
  const manifest = JSON.parse(readFileSync(join(ROOT, folder, "package.json"), "utf8")) as Manifest;
  return Object.entries(manifest.exports).flatMap(([subpath, target]) => {
    if (typeof target === "string") return [];
    const source = Object.values(target).find((path) => path.endsWith(".ts") && !path.endsWith(".d.ts"));
    if (source === undefined) throw new Error(`Cannot document ${subpath}: it has no source`);
    const file = readSource(join(ROOT, folder, source));
    return [{ specifier: join(manifest.name, subpath), exports: exportsOf(file) }];
  });
}

/** The public declaration with this name, in any entry. */
export function declarationOf(name: string, entries: readonly Entry[]): Declaration {
  const found = entries.flatMap(({ exports }) => exports).find((one) => one.name === name);
  if (found === undefined) throw new Error(`Cannot document ${name}: no entry exports it`);
  return found;
}

/** The own fields of an interface or of an object type. */
export function fieldsOf({ node, file }: Declaration): Field[] {
  const body = node["body"] as SyntaxNode | undefined;
  if (body?.type === "TSInterfaceBody") return membersOf(body["body"], file);
  return fieldsOfType(node["typeAnnotation"] as SyntaxNode, file);
}

/** The fields of a type and of all interfaces that it extends. */
export function allFieldsOf(declaration: Declaration): Field[] {
  const inherited = parentsOf(declaration).flatMap((parent) => allFieldsOf(lookUp(parent, declaration.file)));
  return [...inherited, ...fieldsOf(declaration)];
}

/** What an interface extends, as in the source. */
export function parentsOf({ node, file }: Declaration): string[] {
  return ((node["extends"] ?? []) as readonly SyntaxNode[]).map((parent) => textOf(parent, file));
}

/** The alternatives of a union of object types, each with its fields, also those of the types it is made of. */
export function alternativesOf({ node, file }: Declaration): Field[][] {
  const union = unwrapType(node["typeAnnotation"] as SyntaxNode);
  const types = union.type === "TSUnionType" ? (union["types"] as readonly SyntaxNode[]) : [union];
  return types.map((type) => fieldsOfType(type, file));
}

/** The texts that a type allows, as in the source; undefined if it is no union of texts. */
export function literalsOf({ node, file }: Declaration): string | undefined {
  const union = node["typeAnnotation"] as SyntaxNode | undefined;
  if (union?.type !== "TSUnionType") return undefined;
  const types = union["types"] as readonly SyntaxNode[];
  return types.every(({ type }) => type === "TSLiteralType") ? textOf(union, file) : undefined;
}

function fieldsOfType(given: SyntaxNode, file: SourceFile): Field[] {
  const type = unwrapType(given);
  switch (type.type) {
    case "TSTypeLiteral":
      return membersOf(type["members"], file);
    case "TSIntersectionType":
      return (type["types"] as readonly SyntaxNode[]).flatMap((part) => fieldsOfType(part, file));
    case "TSTypeReference": {
      const name = textOf((type["typeName"] ?? type) as SyntaxNode, file);
      const declaration = lookUp(name, file);
      const inherited = parentsOf(declaration).flatMap((parent) =>
        fieldsOf(lookUp(parent, declaration.file)),
      );
      return [...inherited, ...fieldsOf(declaration)];
    }
    default:
      throw new Error(`Cannot document a ${type.type} in ${file.path}: it has no fields`);
  }
}

function unwrapType(type: SyntaxNode): SyntaxNode {
  return type.type === "TSParenthesizedType" ? unwrapType(type["typeAnnotation"] as SyntaxNode) : type;
}

function membersOf(members: unknown, file: SourceFile): Field[] {
  return (members as readonly SyntaxNode[]).flatMap((member) => {
    if (member.type !== "TSPropertySignature" && member.type !== "TSMethodSignature") return [];
    const key = textOf(member["key"] as SyntaxNode, file);
    const annotation = (member["typeAnnotation"] as SyntaxNode | undefined)?.["typeAnnotation"] as
      | SyntaxNode
      | undefined;
    const type =
      member.type === "TSMethodSignature"
        ? textOf(member, file).slice(key.length).replace(/;$/u, "")
        : annotation === undefined
          ? "unknown"
          : textOf(annotation, file);
    return [
      {
        name: key,
        type: type.replaceAll(/\breadonly (?=\w+\??:)/gu, "").replace(/ \| undefined$/u, ""),
        isOptional: member["optional"] === true,
        comment: commentOf(member, file),
      },
    ];
  });
}

function exportsOf(file: SourceFile): Declaration[] {
  return file.body.flatMap((statement) => {
    if (statement.type !== "ExportNamedDeclaration") return [];
    const declaration = statement["declaration"] as SyntaxNode | null | undefined;
    if (declaration) {
      const name = nameOf(declaration);
      return name === undefined ? [] : [lookUp(name, file)];
    }
    const source = (statement["source"] as { readonly value: string } | null | undefined)?.value;
    const from = source === undefined ? file : readSource(join(dirname(file.path), source));
    return (statement["specifiers"] as readonly SyntaxNode[]).map((specifier) => exportedAs(specifier, from));
  });
}

function exportedAs(specifier: SyntaxNode, from: SourceFile): Declaration {
  return { ...lookUp(nameIn(specifier["local"]), from), name: nameIn(specifier["exported"]) };
}

/** Finds a declaration by its name in a file, also through imports and re-exports. */
function lookUp(name: string, file: SourceFile): Declaration {
  let found: Declaration | undefined;
  for (const statement of file.body) {
    const declaration = (statement["declaration"] as SyntaxNode | null | undefined) ?? statement;
    if (nameOf(declaration) === name) {
      const comment = commentOf(statement, file) || commentOf(declaration, file);
      const node = nodeOf(declaration, name);
      // The first of several overloads has the comment.
      found ??= { name, kind: kindOf(declaration), comment, node, file };
      continue;
    }
    const source = (statement["source"] as { readonly value?: string } | null | undefined)?.value;
    if (source?.startsWith(".") !== true) continue;
    for (const specifier of (statement["specifiers"] ?? []) as readonly SyntaxNode[]) {
      const isImport = statement.type === "ImportDeclaration";
      const here = nameIn(specifier[isImport ? "local" : "exported"]);
      const there = specifier[isImport ? "imported" : "local"];
      if (here === name && there !== undefined) {
        return lookUp(nameIn(there), readSource(join(dirname(file.path), source)));
      }
    }
  }
  if (found === undefined) throw new Error(`Cannot document ${name}: ${file.path} does not declare it`);
  return found;
}

function nameOf(declaration: SyntaxNode): string | undefined {
  if (declaration.type === "VariableDeclaration") {
    return nameIn((declaration["declarations"] as readonly SyntaxNode[])[0]?.["id"]);
  }
  return declaration["id"] === undefined || declaration["id"] === null
    ? undefined
    : nameIn(declaration["id"]);
}

function nodeOf(declaration: SyntaxNode, name: string): SyntaxNode {
  if (declaration.type !== "VariableDeclaration") return declaration;
  const all = declaration["declarations"] as readonly SyntaxNode[];
  return all.find((one) => nameIn(one["id"]) === name) ?? declaration;
}

function nameIn(node: unknown): string {
  const { name, value } = node as { readonly name?: string; readonly value?: string };
  return name ?? value ?? "";
}

function kindOf(declaration: SyntaxNode): DeclarationKind {
  switch (declaration.type) {
    case "FunctionDeclaration":
    case "TSDeclareFunction":
      return "function";
    case "ClassDeclaration":
      return "class";
    case "VariableDeclaration":
      return "constant";
    default:
      return "type";
  }
}

/** The comment right above, without its stars. A blank line or imports after it make it the header of the file. */
function commentOf(node: SyntaxNode, file: SourceFile): string {
  const comments = (node["leadingComments"] ?? []) as readonly (SyntaxNode & { readonly value: string })[];
  const last = comments.at(-1);
  if (last?.value.startsWith("*") !== true) return "";
  if (/\n\s*\n/u.test(file.text.slice(last.end, node.start))) return "";
  return last.value
    .replaceAll(/^\s*\*+ ?/gmu, "")
    .replaceAll(/\s+/gu, " ")
    .trim();
}

/** The text on one line. */
function textOf({ start, end }: SyntaxNode, file: SourceFile): string {
  return file.text
    .slice(start, end)
    .replaceAll(/\/\*.*?\*\//gsu, "")
    .replaceAll(/\s+/gu, " ")
    .replaceAll(/([(<]) | (?=[)>])/gu, "$1")
    .replaceAll(/, ?(?=\))/gu, "")
    .replaceAll(/; ?(?=\})/gu, " ")
    .replace(/^\| /u, "")
    .trim();
}

function readSource(path: string): SourceFile {
  const known = files.get(path);
  if (known !== undefined) return known;
  const text = readFileSync(path, "utf8");
  const { program } = parse(text, { sourceType: "module", sourceFilename: path, plugins: ["typescript"] });
  const file = { path, text, body: program.body as unknown as readonly SyntaxNode[] };
  files.set(path, file);
  return file;
}
