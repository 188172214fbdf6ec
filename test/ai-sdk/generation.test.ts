/** Each project of vitest.config.ts tests the generation of the AI SDK it is named for, in the adapter's source too. */
import * as models from "ai/test";
import { generateText } from "ai";
import { generateTextWithCodeModeApprovals } from "codecell/ai";
import { expect, test } from "vitest";

const { AI_SDK_GENERATION: wanted } = process.env;
const FOLDERS: Readonly<Record<string, string>> = { "6": "/node_modules/ai6/", "7": "/node_modules/ai/" };

/** The stack from inside a function of the AI SDK: it reads its options. */
async function stackIn(generate: (options: never) => PromiseLike<unknown>): Promise<string> {
  let stack = "";
  const options = {
    prompt: "hello",
    get model() {
      stack ||= new Error("here").stack ?? "";
      return undefined;
    },
  };
  await generate(options as never).then(
    () => {},
    () => {},
  );
  return stack;
}

test("tests and adapter use the generation that the project is named for", async () => {
  const folder = FOLDERS[wanted ?? ""] ?? "none";
  expect(await stackIn(async (options) => generateText(options))).toContain(folder);
  expect(await stackIn(async (options) => generateTextWithCodeModeApprovals(options))).toContain(folder);
  expect("MockLanguageModelV4" in models).toBe(wanted === "7");
});
