/** An invocation that was continued and interrupted again still knows which source it is of. */
import { tool } from "ai";
import { type CodeModeInterrupt, continueCodeModeInterrupt, runCodeMode } from "codecell/ai";
import { expect, test } from "vitest";
import { z } from "zod";

const tools = {
  remove: tool({
    inputSchema: z.object({ path: z.string() }),
    needsApproval: true,
    execute: async () => "gone",
  }),
};
const options = { approval: { mode: "interrupt" } } as const;
const js = 'return [await tools.remove({ path: "a" }), await tools.remove({ path: "b" })]';
const resolution = { approved: true };

async function interruptedTwice(): Promise<CodeModeInterrupt> {
  const first = (await runCodeMode({ js, tools, options })) as CodeModeInterrupt;
  return (await continueCodeModeInterrupt({
    interrupt: first,
    resolution,
    tools,
    options,
  })) as CodeModeInterrupt;
}

test("the source that was interrupted continues it", async () => {
  const { continuation, interruptId } = await interruptedTwice();
  const interruptResolution = { interruptId, resolution };
  expect(await runCodeMode({ js, tools, options, continuation, interruptResolution })).toEqual([
    "gone",
    "gone",
  ]);
});

test.each(["", "return 1"])("another one does not: %j", async (other) => {
  const { continuation } = await interruptedTwice();
  const running = runCodeMode({ js: other, tools, options, continuation });
  await expect(running).rejects.toThrow("js is not the source that was interrupted");
});
