/** Invocations with a store each, as in servers that open one for every request. */
import { tool } from "ai";
import { createMemoryStore, type Store } from "codecell/store";
import {
  type CodeModeInterrupt,
  continueCodeModeInterrupt,
  requestCodeModeInterrupt,
  runCodeMode,
} from "codecell/ai";
import { expect, test, vi } from "vitest";
import { z } from "zod";
import { liveWorkers } from "../property/worker-threads.ts";

const tools = {
  ask: tool({
    inputSchema: z.object({}),
    execute: (_input, options) => {
      const { codeModeInterrupt } = options as { codeModeInterrupt?: { resolution: unknown } };
      return codeModeInterrupt === undefined
        ? requestCodeModeInterrupt({ kind: "ask" })
        : codeModeInterrupt.resolution;
    },
  }),
};

async function ask(store: Store): Promise<CodeModeInterrupt> {
  const options = { continuation: { store } };
  return (await runCodeMode({ js: "return await tools.ask({})", tools, options })) as CodeModeInterrupt;
}

test("threads of stores that are not used any more end, and what was interrupted goes on", async () => {
  const stores = Array.from({ length: 12 }, () => createMemoryStore());
  const interrupts: CodeModeInterrupt[] = [];

  for (const store of stores) interrupts.push(await ask(store));
  await vi.waitUntil(() => liveWorkers().length < stores.length, { timeout: 60_000 });
  for (const [index, store] of stores.entries()) {
    const [interrupt, options] = [interrupts[index], { continuation: { store } }];
    if (interrupt === undefined) throw new Error("There is no interrupt");
    const output = await continueCodeModeInterrupt({ interrupt, resolution: index, tools, options });
    expect(output).toBe(index);
  }
}, 60_000);
