import { defineConfig } from "vitest/config";

const conditions = ["@codecell/source"];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    include: ["packages/*/src/**/*.test.ts", "{test,scripts,bench}/**/*.test.ts"],
    exclude: ["**/node_modules/**", "bench/peers/**"],
    typecheck: {
      enabled: true,
      include: ["packages/*/src/**/*.test-d.ts", "test/**/*.test-d.ts"],
      tsconfig: "tsconfig.test.json",
    },
    globalSetup: ["scripts/build-embedded.ts"],
    execArgv: ["-C", "@codecell/source"],
    reporters: ["default", "./scripts/tally-reporter.ts"],
    testTimeout: 30_000,
  },
});
