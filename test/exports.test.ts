/** The public surface, as a written list. A name that comes or goes is a decision, made here. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { describe, expect, test } from "vitest";
import { importsOf, ROOT } from "./sources.ts";

/** Values each subpath exports; types are checked by the compiler. */
const SURFACE: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  codecell: {
    ".": ["CodecellError", "createHost", "defineTool", "run", "unwrap"],
    "./ai": [
      "CodeModeAbortedError",
      "CodeModeBridgeLimitError",
      "CodeModeConcurrencyError",
      "CodeModeDetachedBridgeRequestError",
      "CodeModeError",
      "CodeModeFetchError",
      "CodeModeProtocolError",
      "CodeModeSourceTooLargeError",
      "CodeModeTimeoutError",
      "CodeModeToolApprovalDeniedError",
      "CodeModeToolApprovalRequiredError",
      "CodeModeToolError",
      "DIRECT_TOOL_CALL",
      "attachCodeModeApprovalResult",
      "checkingPayload",
      "codeModeTool",
      "continueCodeModeApproval",
      "continueCodeModeApprovals",
      "continueCodeModeInterrupt",
      "continueCodeModeInterrupts",
      "createCodeModeTool",
      "createExecWaitTools",
      "experimental_codeModeTool",
      "generateTextWithCodeModeApprovals",
      "getCodeModeApprovalInterrupt",
      "getCodeModeApprovalResponse",
      "getCodeModeInterrupt",
      "getCodeModeWorkerUrl",
      "getDefaultCodeModeWorkerUrl",
      "getPendingCodeModeInterrupts",
      "isCodeModeApprovalInterrupt",
      "isCodeModeInterrupt",
      "replaceCodeModeInterruptResult",
      "requestCodeModeInterrupt",
      "runCodeMode",
      "setCodeModeContinuationSigningKey",
      "setCodeModeWorkerUrl",
      "setMaxWorkers",
      "streamTextWithCodeModeApprovals",
      "toAgentTools",
      "toAiTools",
      "toCodeModeApprovalMessages",
      "unwrapCodeModeResult",
      "withCodeModeApprovals",
      "wrapToolLoopAgentForCodeModeApprovals",
    ],
    "./bundle": ["defaultWorkerUrl", "loadWorkerText"],
    "./catalog": ["createCatalog"],
    "./check": ["createChecker"],
    "./declare": [
      "inputSchemaOf",
      "outputSchemaOf",
      "renderDeclarations",
      "renderSignature",
      "renderType",
      "toJsonSchema",
    ],
    "./kit": [
      "CallRefusal",
      "FEATURE_GLOBALS",
      "VALIDATE",
      "assertNames",
      "closestNames",
      "createPolicy",
      "declareHandles",
      "fromToolId",
      "resultTypeOf",
      "toConvenienceName",
      "toLateSchema",
      "toToolId",
      "withCallDetails",
      "withLateTools",
      "withOwnMiddleware",
    ],
    "./ledger": ["inspect"],
    "./otel": ["withTracing"],
    "./store": [
      "STORE_ERROR_CODES",
      "StoreError",
      "createMemoryStore",
      "createShapeMemory",
      "createStore",
      "listRows",
    ],
    "./store/postgres": ["openPostgresStore"],
    "./store/sqlite": ["openSqliteStore"],
    "./surface": [
      "CODE_MODE_ERROR_CODES",
      "PayloadError",
      "createAgentRuntime",
      "prepareAgentRun",
      "resolveCodeMode",
    ],
    "./testing": ["createInProcessSandbox", "testSandbox", "testStore"],
  },
  "@codecell/connectors": {
    ".": [
      "Artifacts",
      "Bytes",
      "CONNECTOR_ERROR_CODES",
      "CONNECTOR_KINDS",
      "ConnectorError",
      "VaultError",
      "cli",
      "connectTools",
      "createHandles",
      "discovery",
      "graphql",
      "http",
      "mcp",
      "openDescriptionCache",
      "openVault",
      "openapi",
      "set",
      "toToolSource",
      "vaultTokens",
    ],
    "./testing": ["testConnector"],
  },
};

/** Packages each subpath reaches at run time, through all its files. */
const EXTERNALS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  codecell: {
    ".": ["@babel/parser"],
    // OpenTelemetry is loaded when spans are asked for.
    "./ai": ["@babel/parser", "@opentelemetry/api", "ai"],
    "./bundle": ["@babel/parser"],
    "./catalog": [],
    "./check": ["@babel/parser"],
    "./declare": [],
    "./kit": [],
    "./ledger": [],
    "./otel": ["@opentelemetry/api"],
    "./store": [],
    // A pool is given; `pg` itself is never loaded.
    "./store/postgres": [],
    "./store/sqlite": [],
    "./surface": ["@babel/parser"],
    "./testing": ["@babel/parser", "fast-check", "vitest"],
  },
  "@codecell/connectors": {
    ".": [
      "@modelcontextprotocol/client",
      "@modelcontextprotocol/client/stdio",
      "codecell/catalog",
      "codecell/declare",
      "codecell/kit",
      "cross-spawn",
    ],
    "./testing": ["vitest"],
  },
};

/** Files of other packages that are loaded by name: the engine. */
const LOADED = new Set(["quickjs-wasi/quickjs.wasm"]);

interface Manifest {
  readonly name: string;
  readonly private?: boolean;
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

const packages = readdirSync(`${ROOT}packages`)
  .map((folder) => ({
    folder: `packages/${folder}`,
    manifest: JSON.parse(readFileSync(`${ROOT}packages/${folder}/package.json`, "utf8")) as Manifest,
  }))
  .filter(({ manifest }) => manifest.private !== true);

const entries = packages.flatMap(({ folder, manifest }) =>
  Object.entries(manifest.exports)
    .filter(([, target]) => typeof target === "object")
    .map(([subpath, target]) => ({
      folder,
      manifest,
      subpath,
      target: target as Readonly<Record<string, string>>,
      specifier: posix.join(manifest.name, subpath),
    })),
);

describe("exports", () => {
  test("every subpath of every public package is in the written lists", () => {
    const present = Object.groupBy(entries, ({ manifest }) => manifest.name);
    const subpaths = Object.fromEntries(
      Object.entries(present).map(([name, list]) => [name, list?.map(({ subpath }) => subpath)]),
    );
    const listed = (lists: typeof SURFACE): unknown =>
      Object.fromEntries(Object.entries(lists).map(([name, list]) => [name, Object.keys(list)]));
    expect(subpaths).toEqual(listed(SURFACE));
    expect(subpaths).toEqual(listed(EXTERNALS));
  });

  test.each(entries)("$specifier resolves in source and names its built files", ({ folder, target }) => {
    expect(Object.keys(target)).toEqual(["@codecell/source", "types", "default"]);
    const source = target["@codecell/source"] ?? "";
    expect(existsSync(`${ROOT}${folder}/${source}`), source).toBe(true);
    const built = source.replace("./src/", "./dist/").replace(/\.ts$/u, "");
    expect(target).toMatchObject({ types: `${built}.d.ts`, default: `${built}.js` });
  });

  test.each(entries)(
    "$specifier exports exactly what is listed",
    async ({ manifest, subpath, specifier }) => {
      const module = (await import(specifier)) as object;
      expect(Object.keys(module).sort()).toEqual(SURFACE[manifest.name]?.[subpath]);
    },
  );

  test.each(entries)(
    "$specifier reaches only its allowed externals",
    ({ folder, manifest, subpath, target }) => {
      const { externals, loaded } = reach(folder, target["@codecell/source"] ?? "");
      expect(externals).toEqual(EXTERNALS[manifest.name]?.[subpath]);
      expect(loaded.filter((one) => !LOADED.has(one))).toEqual([]);
      const needed = [...externals, ...loaded].map(packageOf);
      // Only the root entry needs nothing else; the others may ask their users for a package.
      const peers = subpath === "." ? {} : manifest.peerDependencies;
      const declared = { ...manifest.dependencies, ...peers };
      expect(needed.filter((name) => declared[name] === undefined)).toEqual([]);
    },
  );
});

interface Reach {
  readonly externals: readonly string[];
  readonly loaded: readonly string[];
}

/** Everything an entry imports at run time, in its own files and in those its threads execute. */
function reach(folder: string, entry: string): Reach {
  const externals = new Set<string>();
  const loaded = new Set<string>();
  const seen = new Set<string>();
  const open = [posix.join(folder, entry)];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (seen.has(path)) continue;
    seen.add(path);
    for (const { specifier, typeOnly } of importsOf(path)) {
      if (typeOnly || specifier.startsWith("node:")) continue;
      if (specifier.startsWith(".")) open.push(posix.join(posix.dirname(path), specifier));
      else externals.add(specifier);
    }
    const text = readFileSync(`${ROOT}${path}`, "utf8");
    for (const [, specifier = ""] of text.matchAll(/meta\.resolve\("([^"]+)"\)/gu)) loaded.add(specifier);
    for (const [, own = ""] of text.matchAll(/ownFile\("([^"]+)"\)/gu)) open.push(`${folder}/src/${own}.ts`);
  }
  return { externals: [...externals].sort(), loaded: [...loaded].sort() };
}

function packageOf(specifier: string): string {
  const parts = specifier.split("/");
  return parts.slice(0, specifier.startsWith("@") ? 2 : 1).join("/");
}
