/**
 * Architecture: which folder may import which. Change the table in the same commit as the design, with the reason.
 */
import { readFileSync } from "node:fs";
import { posix } from "node:path";
import { describe, expect, test } from "vitest";
import {
  exportedNamesOf,
  filesBelow,
  globalsOf,
  type Import,
  importsOf,
  literalGettersOf,
  ROOT,
  typeNamesOf,
} from "./sources.ts";

interface Folder {
  /** Where its code runs. */
  readonly runs: "anywhere" | "host" | "worker" | "guest";
  /** Folders it may import; itself is understood. */
  readonly imports: readonly string[];
  /** Folders of which it may import types alone. */
  readonly types?: readonly string[];
  /** Single files of other folders it may import. */
  readonly files?: readonly string[];
  /** Packages it may import. */
  readonly packages?: readonly string[];
  /** Files that may import `node:`; "all" for folders of the host. */
  readonly node?: "all" | readonly string[];
}

const TABLE: Readonly<Record<string, Folder>> = {
  contract: { runs: "anywhere", imports: [] },
  // Gives the event loop its turns, on the host and in a page.
  loop: { runs: "anywhere", imports: [] },
  // What the host's code takes from where it runs, Node.js or a page.
  platform: { runs: "anywhere", imports: [] },
  // What is large is parsed and printed in turns.
  value: { runs: "anywhere", imports: ["contract", "loop"] },
  // Runs where tools are shown: on the host, in a browser, in an editor's build.
  declare: { runs: "anywhere", imports: ["contract", "value"] },
  source: { runs: "anywhere", imports: ["contract"], packages: ["@babel/parser"] },
  // What both sides of the boundary around the vm agree on, which follows from the table of features, and the prelude.
  guest: { runs: "anywhere", imports: ["contract"] },
  "guest/inside": { runs: "guest", imports: [], types: ["contract"], files: ["guest/abi.ts"] },
  // What a schema says of a value, on the host's thread, in a worker, in a browser.
  "json-schema": { runs: "anywhere", imports: ["contract"] },
  // Both sides of the boundary around the worker know the messages, and nothing else of each other.
  protocol: { runs: "anywhere", imports: ["contract", "value"], types: ["json-schema"] },
  // The core, on a thread of Node.js or in a web worker: it knows no platform but the one that its entry gives it.
  worker: { runs: "worker", imports: ["contract", "protocol", "guest", "source", "value", "json-schema"] },
  "worker/node.ts": {
    runs: "worker",
    imports: ["protocol", "worker", "worker/node-platform.ts"],
    node: "all",
  },
  "worker/node-platform.ts": { runs: "worker", imports: ["protocol"], types: ["worker"] },
  // What a page has: nothing of Node.js.
  "worker/web-platform.ts": { runs: "worker", imports: ["worker"] },
  // One half on the host, the other on the check's own thread; the compiler is found at run time, never imported.
  check: {
    runs: "host",
    imports: ["contract", "source"],
    files: ["calls/closest-names.ts", "sandbox/node/own-file.ts"],
    packages: ["@typescript/typescript6"],
    node: "all",
  },
  sandbox: { runs: "host", imports: ["contract"], types: ["protocol"] },
  "sandbox/node": {
    runs: "host",
    imports: ["contract", "loop", "protocol", "sandbox"],
    types: ["json-schema"],
    files: ["worker/engine-module.ts", "worker/wasm-binary.ts"],
    node: "all",
  },
  // One thread, that of the caller: for tests. It is the worker's core, and knows nothing of Node.js.
  "sandbox/in-process": { runs: "host", imports: ["contract", "loop", "protocol", "sandbox", "worker"] },
  // What happened in a run, in order.
  ledger: { runs: "host", imports: ["contract", "loop", "value"], types: ["protocol"] },
  // The way of one call from a program to a tool and back. The sandbox, which judges what takes long, is given to it.
  calls: {
    runs: "host",
    imports: ["contract", "loop", "platform", "value", "json-schema"],
    types: ["protocol"],
  },
  // What is large is sealed in turns.
  seal: { runs: "host", imports: ["contract", "loop"], node: "all" },
  // Runs that outlive their process, in tokens and stores.
  durable: {
    runs: "host",
    imports: ["contract", "loop", "value", "ledger", "seal"],
    types: ["protocol"],
    node: "all",
  },
  // Browsers search their tools too.
  // Neutral but for the hash of its contents. An index of many tools is built in turns.
  catalog: {
    runs: "anywhere",
    imports: ["contract", "loop", "value", "declare"],
    node: ["catalog/content-hash.ts"],
  },
  // Whoever keeps runs knows nothing of what they are; a pool of Postgres is given, not loaded. What was learnt about tools is
  // kept as notes of a store, sealed: that is exported here and not at the root, where a first program has no use for it.
  store: { runs: "host", imports: ["contract"], files: ["seal/shape-memory.ts"], node: "all" },
  // Public: what implementations of the contracts have to pass, in their own test runs, and a sandbox for tests.
  testing: {
    runs: "host",
    imports: ["contract", "loop", "sandbox", "sandbox/in-process"],
    types: ["protocol"],
    files: ["sandbox/node/engine.ts", "worker/node-platform.ts"],
    packages: ["fast-check", "vitest"],
  },
  // Serves fetches of programs; undici is found at run time, never imported.
  fetch: { runs: "host", imports: ["contract", "value"], files: ["calls/call-failure.ts"], node: "all" },
  run: {
    runs: "host",
    // Declarations are for the check, which is given to a host and never made by it.
    imports: [
      "contract",
      "loop",
      "platform",
      "value",
      "protocol",
      "sandbox",
      "ledger",
      "calls",
      "durable",
      "declare",
      "fetch",
    ],
    types: ["check"],
  },
  // Three files compose hosts for Node.js. A page composes its own: nothing else of run/ knows them.
  "run/host/open-sandbox.ts": {
    runs: "host",
    imports: ["sandbox/node"],
    types: ["sandbox", "run"],
    node: "all",
  },
  "run/host/host.ts": { runs: "host", imports: ["seal", "durable", "run", "run/host/open-sandbox.ts"] },
  "run/host/default-host.ts": {
    runs: "host",
    imports: ["run", "run/host/host.ts", "run/host/open-sandbox.ts"],
    types: ["contract", "protocol", "sandbox"],
  },
  // What a model is shown, and what becomes of what it answers.
  surface: {
    runs: "host",
    imports: [
      "contract",
      "loop",
      "value",
      "ledger",
      "declare",
      "catalog",
      "calls",
      "run",
      "run/host/default-host.ts",
    ],
    types: ["protocol", "run/host/host.ts"],
    node: "all",
  },
  // Tools of the AI SDK in, our tool out. The AI SDK is its user's: an optional peer.
  "adapters/ai-sdk": {
    runs: "host",
    imports: [
      "contract",
      "loop",
      "value",
      "declare",
      "calls",
      "fetch",
      "run",
      "run/host/host.ts",
      "run/host/default-host.ts",
      "seal",
      "surface",
    ],
    types: ["protocol", "durable"],
    files: ["adapters/otel/quietly.ts", "sandbox/node/worker-script.ts"],
    packages: ["ai", "@opentelemetry/api"],
    node: "all",
  },
  // Spans for runs of any host. OpenTelemetry is its user's: an optional peer.
  "adapters/otel": {
    runs: "host",
    imports: ["contract"],
    types: ["calls", "run/host/host.ts"],
    // A traced host judges where the host inside it does.
    files: ["run/host/host-sandbox.ts"],
    packages: ["@opentelemetry/api"],
  },
  // What the packages beside this one share.
  "kit.ts": { runs: "host", imports: ["contract", "calls", "catalog"] },
  // The written list of public names; nothing imports it.
  "index.ts": {
    runs: "host",
    imports: [
      "contract",
      "calls",
      "check",
      "declare",
      "fetch",
      "run",
      "run/host/host.ts",
      "run/host/default-host.ts",
      "sandbox/node",
      "ledger",
      "seal",
    ],
    types: ["sandbox"],
  },
};

/** The same for the package of connectors: kinds know nothing of each other. */
const CONNECTORS: Readonly<Record<string, Folder>> = {
  contract: { runs: "host", imports: [], packages: ["codecell"] },
  // What every kind needs of bounds and lists.
  backend: { runs: "host", imports: ["contract"], packages: ["codecell"], node: "all" },
  // Where references to secrets lead, and that no secret leaves a connector: the door of every kind.
  secrets: { runs: "host", imports: ["contract", "backend"], packages: ["codecell"], node: "all" },
  mcp: {
    runs: "host",
    imports: ["contract", "backend", "secrets"],
    packages: [
      "codecell",
      "@modelcontextprotocol/client",
      "@modelcontextprotocol/client/stdio",
      "cross-spawn",
    ],
    node: "all",
  },
  cli: { runs: "host", imports: ["contract", "backend", "secrets"], packages: ["codecell"], node: "all" },
  // How all kinds that speak HTTP send a request, and read an answer.
  web: { runs: "host", imports: ["contract", "backend", "secrets"], packages: ["codecell"], node: "all" },
  http: {
    runs: "host",
    imports: ["contract", "backend", "secrets", "web"],
    packages: ["codecell"],
    node: "all",
  },
  // How all kinds that have a description of an API read it, on a thread of its own.
  description: {
    runs: "host",
    imports: ["contract", "backend", "web"],
    packages: ["codecell", "codecell/kit", "yaml"],
    node: "all",
  },
  openapi: {
    runs: "host",
    imports: ["contract", "backend", "description", "secrets", "web"],
    packages: ["codecell", "@scalar/openapi-upgrader"],
    node: "all",
  },
  discovery: {
    runs: "host",
    imports: ["contract", "backend", "description", "secrets", "web"],
    packages: ["codecell"],
    node: "all",
  },
  // Connectors of any kind as one.
  set: {
    runs: "host",
    imports: ["contract", "backend"],
    files: ["tools/unexpected.ts"],
    packages: ["codecell"],
    node: "all",
  },
  graphql: {
    runs: "host",
    imports: ["contract", "backend", "description", "secrets", "web"],
    packages: ["codecell", "graphql"],
    node: "all",
  },
  // Bytes that backends gave, behind references.
  artifacts: { runs: "host", imports: ["contract"], node: "all" },
  // The tools of any connector, for a catalog.
  tools: {
    runs: "host",
    imports: ["contract", "artifacts"],
    packages: ["codecell", "codecell/catalog", "codecell/declare", "codecell/kit"],
  },
  // The handles that a program has of its connectors.
  handles: {
    runs: "host",
    imports: ["contract", "artifacts", "tools"],
    packages: ["codecell", "codecell/catalog", "codecell/kit"],
    node: "all",
  },
  // Public: what every connector has to pass.
  testing: { runs: "host", imports: ["contract"], packages: ["vitest"] },
  "index.ts": {
    runs: "host",
    imports: [
      "contract",
      "secrets",
      "mcp",
      "cli",
      "http",
      "description",
      "openapi",
      "discovery",
      "set",
      "graphql",
      "web",
      "artifacts",
      "tools",
      "handles",
    ],
  },
};

/** What runs in a worker or in the guest must never see these. */
const HOST_FOLDERS = new Set(Object.keys(TABLE).filter((name) => TABLE[name]?.runs === "host"));

/** Globals that are not there on a thread of Node.js, in a web worker and in a page alike. */
const NOT_NEUTRAL = new Set([
  "Buffer",
  "SharedArrayBuffer",
  "document",
  "global",
  "process",
  "require",
  "self",
  "setImmediate",
  "window",
]);

const BASE = "packages/codecell/src/";

const CONNECTORS_BASE = "packages/connectors/src/";

const files = sourcesOf(BASE);

function sourcesOf(base: string): string[] {
  return (
    filesBelow(base.slice(0, -1))
      .map((path) => path.slice(base.length))
      // Tests, and what only they use.
      .filter((path) => !/\.(test|test-d)\.ts$|^guest\/inside\/testing\//u.test(path))
  );
}

/** The longest entry of the table that holds a file. */
function folderOf(path: string, table = TABLE): string {
  const inside = Object.keys(table)
    .filter((name) => path === name || path.startsWith(`${name}/`))
    .sort((a, b) => b.length - a.length)[0];
  return inside ?? path.split("/")[0] ?? path;
}

function problemWith(path: string, { specifier, typeOnly }: Import, table = TABLE): string | undefined {
  const own = folderOf(path, table);
  const from = table[own];
  if (from === undefined) return `${path} is in no folder of the table`;
  const say = (why: string): string => `${path} imports "${specifier}": ${why}`;
  if (specifier.startsWith("node:")) {
    const allowed = from.node === "all" || from.node?.includes(path) === true;
    return allowed ? undefined : say("node: is not for this folder");
  }
  if (!specifier.startsWith(".")) {
    const allowed = from.packages?.includes(specifier) === true;
    return allowed ? undefined : say("this package is not for this folder");
  }
  const target = posix.join(posix.dirname(path), specifier);
  if (target.startsWith("..")) return say("packages import each other by name");
  if (!specifier.endsWith(".ts")) return say("the file's ending is missing");
  const folder = folderOf(target, table);
  if (folder === own || from.imports.includes(folder)) return undefined;
  if (from.files?.includes(target) === true) return undefined;
  if (typeOnly && from.types?.includes(folder) === true) return undefined;
  return say(`${own} may not import ${folder}${typeOnly ? "" : " at run time"}`);
}

function runTimeImportsOf(path: string): string[] {
  return importsOf(`${BASE}${path}`)
    .filter(({ typeOnly }) => !typeOnly)
    .map(({ specifier }) => specifier);
}

/** These files, and all files that are loaded with them. */
function reachedFrom(paths: readonly string[]): Set<string> {
  const reached = new Set(paths);
  // What is added on the way is visited too.
  for (const path of reached) {
    for (const specifier of runTimeImportsOf(path)) {
      if (specifier.startsWith(".")) reached.add(posix.join(posix.dirname(path), specifier));
    }
  }
  return reached;
}

/** Names that several files of the library declare, with these files. */
function declaredTwice(namesOf: (path: string) => Iterable<string>): string[] {
  const places = new Map<string, string[]>();
  for (const path of files) {
    for (const name of namesOf(`${BASE}${path}`)) places.set(name, [...(places.get(name) ?? []), path]);
  }
  const twice = [...places].filter(([, paths]) => paths.length > 1);
  return twice.map(([name, paths]) => `${name}: ${paths.join(", ")}`);
}

describe("architecture", () => {
  test("every folder of the library is in the table", () => {
    const unknown = files.filter((path) => TABLE[folderOf(path)] === undefined);
    expect(unknown).toEqual([]);
  });

  test("the type check reads every folder, also where the compiler has other settings", () => {
    const read = (path: string): { scripts: { typecheck: string }; references: { path: string }[] } =>
      JSON.parse(readFileSync(`${ROOT}${path}`, "utf8")) as never;
    const built = new Set(read("tsconfig.json").references.map(({ path }) => path));
    const { typecheck } = read("package.json").scripts;
    const projects = filesBelow("packages", "tsconfig.json").map((path) => posix.dirname(path));
    expect(projects).toContain("packages/codecell/src/guest/inside");
    const unread = projects.filter((path) => !built.has(path) && !typecheck.includes(`tsc -p ${path}`));
    expect(unread).toEqual([]);
  });

  test("every folder of the table exists", () => {
    const present = new Set(files.map((path) => folderOf(path)));
    expect(Object.keys(TABLE).filter((name) => !present.has(name))).toEqual([]);
  });

  test("files import only what the table allows", () => {
    const problems = files
      .flatMap((path) => importsOf(`${BASE}${path}`).map((one) => problemWith(path, one)))
      .filter((problem) => problem !== undefined);
    expect(problems).toEqual([]);
  });

  test("the package of connectors keeps its own table", () => {
    const paths = sourcesOf(CONNECTORS_BASE);
    const present = new Set(paths.map((path) => folderOf(path, CONNECTORS)));
    expect([...present].toSorted()).toEqual(Object.keys(CONNECTORS).toSorted());
    const problems = paths.flatMap((path) =>
      importsOf(`${CONNECTORS_BASE}${path}`).map((one) => problemWith(path, one, CONNECTORS)),
    );
    expect(problems.filter((problem) => problem !== undefined)).toEqual([]);
  });

  test("the table itself keeps the worker and the guest apart from the host", () => {
    for (const [name, { runs, imports, types = [], files: single = [] }] of Object.entries(TABLE)) {
      if (runs === "host") continue;
      const reached = [...imports, ...types, ...single.map((path) => folderOf(path))];
      expect({ name, host: reached.filter((one) => HOST_FOLDERS.has(one)) }).toEqual({ name, host: [] });
    }
    const importers = Object.keys(TABLE).filter((name) => TABLE[name]?.imports.includes("run"));
    expect(importers, "run is imported by what lies above it only").toEqual([
      "run/host/host.ts",
      "run/host/default-host.ts",
      "surface",
      "adapters/ai-sdk",
      "index.ts",
    ]);
  });

  test("a page can load what drives a run: nothing of it imports Node.js, seals, stores or threads", () => {
    const reached = reachedFrom(["run/host/sandbox-host.ts", "sandbox/in-process/in-process-sandbox.ts"]);
    const folders = new Set([...reached].map((path) => folderOf(path)));
    for (const folder of ["run", "calls", "ledger", "durable", "worker", "guest"])
      expect(folders).toContain(folder);
    for (const folder of ["seal", "store", "sandbox/node"]) expect(folders).not.toContain(folder);
    const imports = [...reached].flatMap((path) =>
      runTimeImportsOf(path)
        .filter((specifier) => specifier.startsWith("node:"))
        .map((specifier) => `${path}: ${specifier}`),
    );
    expect(imports).toEqual([]);
  });

  test("imports that differ from the table are found", () => {
    const node: Import = { specifier: "node:fs", typeOnly: false };
    expect(problemWith("worker/cell.ts", node)).toContain("node:");
    expect(problemWith("worker/node.ts", node)).toBeUndefined();
    expect(problemWith("worker/web-platform.ts", node)).toContain("node:");
    for (const specifier of ["./node-platform.ts", "./web-platform.ts", "./node.ts"]) {
      expect(problemWith("worker/worker.ts", { specifier, typeOnly: false })).toContain("may not import");
    }
    expect(problemWith("contract/tool.ts", { specifier: "zod", typeOnly: true })).toContain("package");
    expect(problemWith("worker/cell.ts", { specifier: "../run/run.ts", typeOnly: true })).toContain("run");
    const types: Import = { specifier: "../../contract/failure.ts", typeOnly: true };
    expect(problemWith("guest/inside/core.ts", types)).toBeUndefined();
    expect(problemWith("guest/inside/core.ts", { ...types, typeOnly: false })).toContain("at run time");
  });

  test("the worker's core names no global that only Node.js or only a page has", () => {
    const neutral = files.filter((path) =>
      ["worker", "protocol", "sandbox/in-process"].includes(folderOf(path)),
    );
    expect(neutral).toContain("worker/worker.ts");
    const found = [...neutral, "worker/web-platform.ts"].flatMap((path) =>
      globalsOf(`${BASE}${path}`, NOT_NEUTRAL).map((name) => `${path}: ${name}`),
    );
    expect(found).toEqual([]);
    expect(globalsOf(`${BASE}worker/node-platform.ts`, NOT_NEUTRAL)).toContain("process");
  });

  test("no object literal on the way of a run has a getter: V8 keeps all it sees until the next full collection", () => {
    const found = files
      .filter(
        (path) =>
          /^(calls|durable|ledger|loop|protocol|run|sandbox|seal|value|worker)\//u.test(path) &&
          !path.endsWith(".test.ts"),
      )
      .flatMap((path) => literalGettersOf(`${BASE}${path}`).map((name) => `${path}: ${name}`));
    expect(found).toEqual([]);
  });

  test("no type name is declared twice", () => {
    expect(declaredTwice(typeNamesOf)).toEqual([]);
  });

  test("no function, class or constant is exported by two files under one name", () => {
    expect(exportedNamesOf(`${BASE}guest/inside/primordials.ts`)).toContain("jsonParse");
    expect(declaredTwice(exportedNamesOf)).toEqual([]);
  });
});
