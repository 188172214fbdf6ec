/** An agent of the AI SDK works with exec and wait in place of its tools, over two turns, and is checked. */
import { deepStrictEqual, ok } from "node:assert/strict";
import { type ModelMessage, ToolLoopAgent, wrapLanguageModel } from "ai";
import { type CodeModeResult, createAgentRuntime } from "codecell/surface";
import { checkingPayload, toAiTools } from "codecell/ai";
import { scriptedModel } from "./scripted-model.ts";
import { counting, messages, refunds, tools } from "./shop.ts";

const FIND = `\
const wishes = ["give the customer their money back", "message the team", "count the stock"];
const found = await Promise.all(wishes.map((words) => tools.search(words, { limit: 1 })));
return found.map(([tool]) => tool.id)`;

const WORK = `\
const late = (await tools.list_orders()).filter(({ daysLate }) => daysLate > 7);
await Promise.all(late.map(({ id }) => tools.refund_order({ id })));
const names = late.map(({ customer }) => customer).join(" and ");
await tools.post_message({ channel: "support", text: "Refunded " + names });
text("I refunded " + names);
const { pallets } = await tools.count_stock();
text("There are " + pallets + " pallets");
return { refunded: late.length, pallets }`;

/** What a model would say and call; a real one goes here. */
const model = scriptedModel([
  () => ({ call: "exec", input: { code: FIND } }),
  () => ({ call: "exec", input: { code: WORK } }),
  (last) => ({ say: `${textOf(last)}. The stock is being counted.` }),
  (last) => ({ call: "wait", input: { runId: last.status === "waiting" ? last.runId : "" } }),
  (last) => ({ say: `${textOf(last)}.` }),
]);

function textOf({ output = [] }: CodeModeResult): string {
  return output.map((item) => (item.type === "text" ? item.text : JSON.stringify(item.value))).join(", ");
}

function title(text: string): void {
  console.log(`\n── ${text} ${"─".repeat(Math.max(0, 72 - text.length))}\n`);
}

const runtime = createAgentRuntime();
const run = runtime.prepareAgentRun({
  // A program may wait for five seconds before the model hears of it; ten are usual.
  config: { enabled: true, timeoutMs: 5000 },
  tools,
  policy: { deny: ["core:core:delete_everything"] },
  context: { agentId: "shop", runId: "task-1", sessionId: "chat-1", sessionKey: "ana" },
});

const agent = new ToolLoopAgent({
  model: wrapLanguageModel({ model, middleware: checkingPayload(run) }),
  instructions: "You help in a shop.",
  tools: toAiTools(run.visibleTools),
});

const conversation: ModelMessage[] = [];

async function say(content: string): Promise<string> {
  console.log(`User:  ${content}`);
  conversation.push({ role: "user", content });
  const { text, responseMessages } = await agent.generate({ messages: conversation });
  conversation.push(...responseMessages);
  console.log(`Agent: ${text}`);
  return text;
}

title("Two turns");
const first = await say("Refund what is late, tell the team, and have the stock counted.");
console.log(`       (programs suspended meanwhile: ${runtime.suspendedPrograms})`);
deepStrictEqual([refunds, messages], [["A-2", "A-3"], ["support: Refunded Bo and Cleo"]]);
deepStrictEqual(runtime.suspendedPrograms, 1);
counting.resolve({ pallets: 7 });
const second = await say("Is the count done?");
deepStrictEqual(first, "I refunded Bo and Cleo. The stock is being counted.");
deepStrictEqual(second, "There are 7 pallets.");
// Nothing was done twice.
deepStrictEqual(refunds.length, 2);

title("What the model was sent in place of four tools");
const sent = model.doGenerateCalls.map(({ tools: given = [] }) => given.map(({ name }) => name).join(", "));
console.log(`${sent.length} requests, each with: ${[...new Set(sent)].join(" | ")}`);
deepStrictEqual(new Set(sent), new Set(["exec, wait"]));

title("What its programs did");
const { calls, entries } = await run.trajectory();
for (const { parentToolCallId, tool, status } of calls) {
  console.log(`${parentToolCallId} → ${tool}: ${status}`);
}
deepStrictEqual(
  calls.map(({ parentToolCallId, status }) => [parentToolCallId, status]),
  Array.from({ length: 5 }, () => ["call_2", "completed"]),
);
const [found] = entries;
ok(
  found?.result?.includes(
    '["plugin:billing:refund_order","mcp:chat:post_message","mcp:warehouse:count_stock"]',
  ),
);
deepStrictEqual(runtime.suspendedPrograms, 0);
await run[Symbol.asyncDispose]();
await runtime[Symbol.asyncDispose]();
console.log("\nAll as expected.");
