/** How often the flow of approvals verifies the seals in its messages: each once per step, however often it is asked. */
import { generateText, type ModelMessage, streamText } from "ai";
import { createCodeModeTool, withCodeModeApprovals } from "codecell/ai";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Sealer } from "../../packages/codecell/src/seal/seal.ts";
import { answers, messagesOf, requestsIn } from "./conversation.ts";
import { deleted, deleteFile, FOREVER, program, readFile } from "./files.ts";
import { type Move, scriptedModel } from "./scripted-model.ts";

/** For each step, and for what the AI SDK executes before the first one: how often each seal was verified. */
const steps: Map<string, number>[] = [];

/** The real sealer, which counts. */
function countVerifications(): void {
  const openText = Reflect.get(Sealer.prototype, "openText");
  vi.spyOn(Sealer.prototype, "openText").mockImplementation(function (this: Sealer, text, purpose, max) {
    const step = steps.at(-1);
    if (purpose.startsWith("code mode")) step?.set(text, (step.get(text) ?? 0) + 1);
    return openText.call(this, text, purpose, max);
  });
}

beforeEach(() => {
  deleted.length = 0;
  steps.length = 0;
  countVerifications();
});

afterEach(() => {
  vi.restoreAllMocks();
});

const TWO_PROGRAMS: readonly Move[] = [
  program(`return await Promise.all(["a", "b"].map((path) => tools.deleteFile({ path })))`),
  program(`return await tools.deleteFile({ path: "c" })`),
  { say: "Done" },
];

function settingsFor(moves: readonly Move[], more: object) {
  return withCodeModeApprovals({
    model: scriptedModel(moves).model,
    tools: { code_mode: createCodeModeTool({ deleteFile, readFile }), readFile },
    stopWhen: FOREVER,
    prepareStep: () => {
      steps.push(new Map());
      return {};
    },
    ...more,
  });
}

type Settings = ReturnType<typeof settingsFor>;
type Generated = Awaited<ReturnType<typeof generateText<Settings["tools"]>>>;
type Ended = Pick<Generated, "content" | "response" | "text">;

async function stream(settings: Settings, messages: ModelMessage[]): Promise<Ended> {
  const result = streamText({ ...settings, messages });
  const [content, response, text] = [await result.content, await result.response, await result.text];
  const { responseMessages } = result as { responseMessages?: PromiseLike<ModelMessage[]> };
  return Object.assign({ content, response, text }, { responseMessages: await responseMessages });
}

test.each<[string, object, (settings: Settings, messages: ModelMessage[]) => Promise<Ended>]>([
  ["generateText", {}, (settings, messages) => generateText({ ...settings, messages })],
  ["streamText", {}, stream],
  [
    "a toolApproval for all tools",
    {
      toolApproval: ({ toolCall }: { toolCall: { toolName: string } }) =>
        toolCall.toolName === "deleteFile" ? "user-approval" : "not-applicable",
    },
    (settings, messages) => generateText({ ...settings, messages }),
  ],
])("%s verifies each seal once per step", async (_name, more, generate) => {
  const settings = settingsFor(TWO_PROGRAMS, more);
  const messages: ModelMessage[] = [{ role: "user", content: "Go" }];
  let result: Ended | undefined;
  for (const turn of [[], [true, true], [true]]) {
    if (result !== undefined) messages.push(answers(requestsIn(result), turn));
    steps.push(new Map());
    result = await generate(settings, messages);
    messages.push(...messagesOf(result));
  }
  expect(result?.text).toBe("Done");
  // The first two are called side by side: on a busy machine one may have to wait a turn longer than the other.
  expect(deleted.toSorted()).toEqual(["a", "b", "c"]);
  const counts = steps.flatMap((step) => Array.from(step.values()));
  expect(Math.max(...counts)).toBe(1);
});

test("each step verifies again: an interrupt that was altered since an earlier step is refused", async () => {
  const js = `return await tools.deleteFile({ path: "a" })`;
  const settings = settingsFor([program(js), { say: "Done" }], {});
  const messages: ModelMessage[] = [{ role: "user", content: "Go" }];
  const asked = await generateText({ ...settings, messages });
  messages.push(...messagesOf(asked), answers(requestsIn(asked), [true]));
  const parts = messages.flatMap(({ content }) => (Array.isArray(content) ? (content as object[]) : []));
  const paused = parts.find((part): part is PausedPart => JSON.stringify(part).includes("continuation"));
  const [waiting] = paused?.output.value.continuation.pending ?? [];
  Object.assign(waiting?.input ?? {}, { path: "z" });
  const result = await generateText({ ...settings, messages });
  expect(result.text).toBe("Done");
  expect(deleted).toEqual([]);
});

interface PausedPart {
  readonly output: {
    readonly value: { readonly continuation: { readonly pending: readonly { readonly input: object }[] } };
  };
}
