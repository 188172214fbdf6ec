import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { normalizePath, type Plugin } from "vite";
import { configDefaults, defineConfig } from "vitest/config";
import LongestFirst from "./scripts/longest-first.ts";
import { SOURCE_CONDITION, SOURCE_FLAGS } from "./scripts/source-flags.ts";

const conditions = [SOURCE_CONDITION];
const PROPERTY_SEED_FILE = fileURLToPath(new URL("test/property-seed.ts", import.meta.url));
const exclude = [...configDefaults.exclude, "bench/peers/**"];

// Hundreds of processes load the same modules: most find them compiled. Coverage needs them compiled anew.
if (process.env["NODE_V8_COVERAGE"] === undefined) {
  process.env["NODE_COMPILE_CACHE"] ??= fileURLToPath(
    new URL("node_modules/.cache/compile", import.meta.url),
  );
}

/** Tests whose files share a process, which halves their time: they leave nothing behind and replace no module. */
const units =
  "packages/codecell/src/{catalog,contract,declare,durable,fetch,guest,json-schema,ledger,loop,protocol,seal,source,surface,value}/**/*.test.ts";

/** Threads of tests' hosts, unless coverage wants to know which files they execute. */
const bundledWorker: Plugin = {
  name: "bundled-worker",
  enforce: "pre",
  resolveId: (specifier, importer = "") =>
    process.env["NODE_V8_COVERAGE"] === undefined &&
    specifier.endsWith("/sandbox/node/worker-script.ts") &&
    /\/(run\/host\/open-sandbox|adapters\/ai-sdk\/hosts)\.ts$/u.test(importer)
      ? normalizePath(fileURLToPath(new URL("test/bundled-worker.ts", import.meta.url)))
      : undefined,
};

/** Gives property tests their seed. A setup file would load fast-check for every test file, and one in seven needs it. */
const propertySeed: Plugin = {
  name: "property-seed",
  transform: (code, id) =>
    /from "(?:@fast-check\/vitest|fast-check)"/u.test(code) && !id.includes("/property-seed.ts")
      ? { code: `import ${JSON.stringify(PROPERTY_SEED_FILE)}; ${code}`, map: null }
      : undefined,
};

export default defineConfig({
  plugins: [bundledWorker, propertySeed],
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    globalSetup: ["scripts/build-embedded.ts"],
    execArgv: [...SOURCE_FLAGS],
    reporters: ["default", "./scripts/tally-reporter.ts"],
    // Far longer than any test takes on a quiet machine: only what hangs takes as long on a busy one.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // One more than there are cores: many tests wait for others' processes, and Vitest itself needs hardly anything.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: "main",
          env: { AI_SDK_GENERATION: "7" },
          include: ["packages/*/src/**/*.test.ts", "{test,scripts,bench}/**/*.test.ts"],
          exclude: [...exclude, units],
          typecheck: {
            enabled: true,
            include: ["packages/*/src/**/*.test-d.ts", "test/**/*.test-d.ts"],
            tsconfig: "tsconfig.test.json",
          },
        },
      },
      {
        extends: true,
        test: { name: "units", isolate: false, include: [units], exclude },
      },
      {
        // The adapter again, with the generation of the AI SDK before.
        extends: true,
        resolve: {
          alias: [
            { find: /^ai$/u, replacement: "ai6" },
            { find: /^ai\/test$/u, replacement: "ai6/test" },
          ],
        },
        test: {
          name: "ai6",
          env: { AI_SDK_GENERATION: "6" },
          include: ["test/ai-sdk/**/*.test.ts"],
          exclude: [...exclude, "**/*.ai7.test.ts"],
        },
      },
    ],
  },
});
