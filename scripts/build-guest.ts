/**
 * Bundles the guest prelude and its parts, and compiles them to the engine's bytecode. In every worker that starts,
 * reading bytecode takes a tenth of the time that parsing the text would.
 *
 * A part (guest/inside/parts/<name>/main.ts) is a bundle of its own, which a cell loads when its program first needs it. A
 * part holds no copy of the prelude's code: what it imports from the prelude's files is handed to it by number. These
 * functions were captured before any program ran, so a program cannot have replaced them.
 *
 * Run: npm run build:guest
 */
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, relative, resolve, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build, type Plugin, transform } from "esbuild";
import { CompileFlags, QuickJS } from "quickjs-wasi";
import { PART_NAMES, PRELUDE_FILE, type PartName } from "../packages/codecell/src/guest/abi.ts";
import { parseAst } from "vite";

const guest = new URL("../packages/codecell/src/guest/", import.meta.url);
const output = new URL("prelude.generated.ts", guest);
const inside = fileURLToPath(new URL("inside/", guest));
const partsFolder = resolve(inside, "parts") + sep;

/** What parts import from the prelude: `file` is relative to guest/inside. */
type Handed = { readonly file: string; readonly name: string };

/** Everything that parts import from the prelude's files, in the order of their numbers. */
async function findHanded(): Promise<readonly Handed[]> {
  const found = new Map<string, Handed>();
  const visited = new Set<string>();
  const visit = async (path: string): Promise<void> => {
    if (visited.has(path)) return;
    visited.add(path);
    const { code } = await transform(await readFile(path, "utf8"), TRANSFORM);
    for (const node of parseAst(code).body) {
      if (node.type !== "ImportDeclaration") continue;
      const from = resolve(dirname(path), node.source.value);
      if (from.startsWith(partsFolder)) await visit(from);
      else
        for (const one of node.specifiers) {
          if (one.type !== "ImportSpecifier" || one.imported.type !== "Identifier")
            throw new Error(`Cannot build the part of ${path}: it imports more than names`);
          const handed = { file: relative(inside, from).replaceAll(sep, "/"), name: one.imported.name };
          found.set(`${handed.file} ${handed.name}`, handed);
        }
    }
  };
  for (const name of PART_NAMES) await visit(mainOf(name));
  return [...found.keys()].toSorted().map((key) => found.get(key) as Handed);
}

const TRANSFORM = {
  loader: "ts",
  tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
} as const;

function mainOf(part: PartName): string {
  return resolve(partsFolder, part, "main.ts");
}

/** In the prelude: fills the list that parts get. */
function handOut(handed: readonly Handed[]): Plugin {
  return {
    name: "hand-out",
    setup: (bundling) => {
      bundling.onLoad({ filter: /handed-out\.ts$/ }, () => ({
        contents:
          handed
            .map(({ file, name }, index) => `import { ${name} as h${index} } from "./${file}";\n`)
            .join("") +
          `export function handOut() { return [${handed.map((_, index) => `h${index}`).join(",")}]; }`,
        loader: "ts",
        resolveDir: inside,
      }));
    },
  };
}

/** In a part: reads what the prelude handed to it. */
function takeFrom(handed: readonly Handed[]): Plugin {
  return {
    name: "take-handed",
    setup: (bundling) => {
      bundling.onResolve({ filter: /^\./ }, ({ path, resolveDir }) => {
        const wanted = resolve(resolveDir, path);
        return wanted.startsWith(partsFolder)
          ? undefined
          : { path: relative(inside, wanted).replaceAll(sep, "/"), namespace: "handed" };
      });
      bundling.onLoad({ filter: /./, namespace: "handed" }, ({ path }) => ({
        contents: handed
          .map(({ file, name }, index) =>
            file === path ? `export const ${name} = /* @__PURE__ */ (() => handed[${index}])();\n` : "",
          )
          .join(""),
      }));
    },
  };
}

/** The text of one function expression, which takes the host function and returns what the worker keeps. */
export async function bundlePrelude(
  entry: URL = new URL("inside/main.ts", guest),
  plugins: Plugin[] = [],
): Promise<string> {
  const text = await bundle(fileURLToPath(entry), [...plugins, handOut(await findHanded())]);
  return withoutTemplates(`(function(host){"use strict";let functions;${text}return functions})`);
}

/** The texts of all parts: function expressions that take the list of `handOut` and return what the part gives. */
export async function bundleParts(): Promise<Readonly<Record<PartName, string>>> {
  const handed = await findHanded();
  const texts = await Promise.all(
    PART_NAMES.map(async (name) => {
      const text = await bundle(mainOf(name), [takeFrom(handed)]);
      return [
        name,
        withoutTemplates(`(function(handed){"use strict";let made;${text}return made})`),
      ] as const;
    }),
  );
  return Object.fromEntries(texts) as Record<PartName, string>;
}

async function bundle(entry: string, plugins: Plugin[]): Promise<string> {
  const result = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    format: "esm",
    platform: "neutral",
    target: "es2023",
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: "none",
    plugins,
    tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
  });
  const [file] = result.outputFiles;
  if (file === undefined) throw new Error("Cannot build the prelude: esbuild gave no output");
  return file.text.trimEnd();
}

type Template = {
  readonly start: number;
  readonly end: number;
  readonly quasis: readonly { readonly value: { readonly cooked?: string | null } }[];
  readonly expressions: readonly { readonly start: number; readonly end: number }[];
};

/**
 * Writes every template literal as a sum of strings. QuickJS runs a template as a call of String.prototype.concat,
 * which it looks up at run time, so a guest could intercept it.
 */
export function withoutTemplates(text: string): string {
  const templates: Template[] = [];
  collectTemplates(parseAst(text), templates);
  templates.sort((a, b) => a.start - b.start);
  return rewrite(text, 0, text.length, templates);
}

function isTemplate(node: object): node is Template {
  return "type" in node && node.type === "TemplateLiteral";
}

function collectTemplates(node: unknown, found: Template[]): void {
  if (typeof node !== "object" || node === null) return;
  if (isTemplate(node)) found.push(node);
  if ("type" in node && node.type === "TaggedTemplateExpression") {
    throw new Error("Cannot build the prelude: it has a tagged template");
  }
  for (const child of Object.values(node)) collectTemplates(child, found);
}

/** The text from start to end, with the templates inside it rewritten. */
function rewrite(text: string, start: number, end: number, templates: readonly Template[]): string {
  let result = "";
  let from = start;
  for (const template of templates) {
    if (template.start < from || template.end > end) continue;
    const parts: string[] = [];
    for (const [index, quasi] of template.quasis.entries()) {
      const fixed = quasi.value.cooked ?? "";
      if (index === 0 || fixed !== "") parts.push(JSON.stringify(fixed));
      const expression = template.expressions[index];
      if (expression === undefined) continue;
      parts.push(`(${rewrite(text, expression.start, expression.end, templates)})`);
    }
    result += `${text.slice(from, template.start)}(${parts.join("+")})`;
    from = template.end;
  }
  return result + text.slice(from, end);
}

/** The module with the prelude. Tests may add plugins. */
export async function renderPreludeModule(plugins: Plugin[] = []): Promise<string> {
  const wasm = await readFile(new URL(import.meta.resolve("quickjs-wasi/quickjs.wasm")));
  using vm = await QuickJS.create({ wasm });
  const compile = (text: string): string =>
    Buffer.from(
      vm.compile(text, PRELUDE_FILE, 0, CompileFlags.STRIP_SOURCE | CompileFlags.STRIP_DEBUG),
    ).toString("base64");
  const parts = Object.entries(await bundleParts()).map(([, text]) => compile(text));
  return (
    "// Generated by scripts/build-guest.ts from inside/. Do not edit; run `npm run build:guest`.\n" +
    "/** Bytecode of the engine this package depends on, as base64. */\n" +
    `export const PRELUDE_BYTECODE: string = "${compile(await bundlePrelude(undefined, plugins))}";\n` +
    "/** The same of the parts that cells load when they need them, in the order of `PART_NAMES`. */\n" +
    `export const PARTS_BYTECODE: readonly string[] = [\n${parts.map((part) => `  "${part}",\n`).join("")}];\n` +
    "/** Differs wherever a part differs. */\n" +
    `export const PARTS_DIGEST: string = "${createHash("sha256").update(parts.join()).digest("base64")}";\n`
  );
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const text = await renderPreludeModule();
  await writeFile(output, text);
  console.log(`${output.pathname}: ${Buffer.byteLength(text)} bytes`);
}
