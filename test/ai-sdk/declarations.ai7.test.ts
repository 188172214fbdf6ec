/** The declarations that users get fit the types of either generation of the AI SDK. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ROOT } from "../sources.ts";
import { blockOf } from "./contract/readme.ts";

const execute = promisify(execFile);
const TSC = `${ROOT}node_modules/.bin/tsc`;
// Inside the repository, where the packages that the declarations name are found.
const folder = mkdtempSync(`${ROOT}test/.declarations-`);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

beforeAll(async () => {
  const emit = ["--emitDeclarationOnly", "--outDir", folder, "--tsBuildInfoFile", `${folder}/.tsbuildinfo`];
  await execute(TSC, ["-p", `${ROOT}packages/codecell`, ...emit]);
}, 120_000);

/** What a user writes: a tool of their own, given to code mode, which is given to the SDK. */
const USER = `
  import { generateText, tool } from "ai";
  import { z } from "zod";
  import { createCodeModeTool, isCodeModeInterrupt, runCodeMode } from "./adapters/ai-sdk/index.js";
  const add = tool({ inputSchema: z.object({ a: z.number() }), execute: async ({ a }) => ({ sum: a + 1 }) });
  const codeMode = createCodeModeTool({ add }, { executionPolicy: { timeoutMs: 1000 } });
  export const outcome: unknown = await codeMode.execute({ js: "" }, { toolCallId: "1", messages: [] });
  export const later = generateText({ model: "m", tools: { codeMode }, prompt: "p" });
  export const again: unknown = await runCodeMode({ js: "", tools: { add } });
  if (isCodeModeInterrupt(again)) console.log(again.payload.kind);
`;

/** The options of the contract, word for word, are options of ours. */
const OPTIONS = `
  import type {
    CodeModeFetchRequestEvent, CodeModeFetchResultEvent, CodeModeInterruptEvent, CodeModeLifecycleHookErrorEvent,
    CodeModeNestedToolCallEvent, CodeModeNestedToolResultEvent, CodeModeOptions as Ours, CodeModeTrace,
  } from "./adapters/ai-sdk/index.js";
  ${blockOf("Options")}
  export const ours: Ours = {} as CodeModeOptions;
  export const policy: Required<NonNullable<Ours["executionPolicy"]>> =
    {} as Required<NonNullable<CodeModeOptions["executionPolicy"]>> & { maxConsoleOutputBytes: number };
  export const unknown: keyof CodeModeOptions extends keyof Ours ? true : false = true;
`;

test.each([
  ["6", "ai6/dist/index.d.mts"],
  ["7", "ai/dist/index.d.ts"],
])(
  "the emitted declarations are right for users of AI SDK %s",
  async (generation, types) => {
    const user = `user-${generation}.ts`;
    writeFileSync(`${folder}/${user}`, USER + OPTIONS);
    const config = {
      compilerOptions: {
        target: "es2024",
        lib: ["es2024", "esnext.disposable", "dom"],
        module: "nodenext",
        strict: true,
        noEmit: true,
        skipLibCheck: false,
        types: ["node"],
        paths: { ai: [`${ROOT}node_modules/${types}`] },
      },
      files: [user],
    };
    writeFileSync(`${folder}/tsconfig-${generation}.json`, JSON.stringify(config));
    const { stdout } = await execute(TSC, ["-p", `${folder}/tsconfig-${generation}.json`]).catch(
      (error: { stdout: string }) => error,
    );
    // Other packages' declarations are their own affair.
    const ours = stdout
      .split("\n")
      .filter((line) => /^\S.*error TS/u.test(line) && !line.includes("node_modules/"));
    expect(ours).toEqual([]);
    expect(stdout, "the compiler has looked").not.toContain("TS18003");
  },
  120_000,
);
