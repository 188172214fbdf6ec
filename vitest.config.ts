import { defineConfig } from "vitest/config";

const conditions = ["@codecell/source"];
const resolution = {
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
};
const exclude = ["**/node_modules/**", "bench/peers/**"];
const common = { execArgv: ["-C", "@codecell/source"], testTimeout: 30_000 };

export default defineConfig({
  test: {
    reporters: ["default", "./scripts/tally-reporter.ts"],
    projects: [
      {
        ...resolution,
        test: {
          ...common,
          name: "main",
          include: ["packages/*/src/**/*.test.ts", "{test,scripts,bench}/**/*.test.ts"],
          exclude,
          typecheck: {
            enabled: true,
            include: ["packages/*/src/**/*.test-d.ts", "test/**/*.test-d.ts"],
            tsconfig: "tsconfig.test.json",
          },
        },
      },
      {
        // The generation before: what users of it have.
        ...resolution,
        resolve: {
          conditions,
          alias: [
            { find: /^ai$/u, replacement: "ai6" },
            { find: /^ai\/test$/u, replacement: "ai6/test" },
          ],
        },
        test: {
          ...common,
          name: "ai6",
          include: ["test/ai-sdk/**/*.test.ts"],
          exclude: [...exclude, "**/*.ai7.test.ts"],
        },
      },
    ],
  },
});
