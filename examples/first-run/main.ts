/** Runs the program against the desk, tells the story as it happens, and checks how it ends. */
import { deepStrictEqual } from "node:assert/strict";
import { type Authorize, createHost, type RunEvent } from "codecell";
import { refunds, tools } from "./desk.ts";
import { PROGRAM } from "./program.ts";

const EXPECTED = {
  refunded: [{ order: "A-102", receipt: "R-1" }],
  left: [
    { order: "A-104", why: 'Cannot call tool "refund": refunds over 100 need a person' },
    { order: "A-103", why: "nobody to refund" },
  ],
};

/** Decided on the host, per call, on the validated input. */
const authorize: Authorize = ({ tool, input }) =>
  tool === "refund" && (input as { amount: number }).amount > 100
    ? { deny: "refunds over 100 need a person" }
    : "allow";

function title(text: string): void {
  console.log(`\n── ${text} ${"─".repeat(Math.max(0, 72 - text.length))}\n`);
}

function tell(event: RunEvent): string | undefined {
  switch (event.type) {
    case "run-start":
      return "run starts";
    case "call-start":
      return `#${event.index} → ${event.tool}(${JSON.stringify(event.input)})`;
    case "call-progress":
      return `#${event.callId.split(":").at(-1)} … ${JSON.stringify(event.output)}`;
    case "call-end": {
      const { index, outcome, tool } = event;
      const ms = `${Math.round(event.durationMs)} ms`;
      return outcome.status === "completed"
        ? `#${index} ← ${tool}, ${outcome.outputBytes} bytes after ${ms}`
        : `#${index} ✗ ${tool}, ${outcome.failure.code}: ${outcome.failure.message}`;
    }
    case "log":
      return `   ${event.level}: ${event.text}`;
    case "run-end":
      return `run ends: ${event.result.status}`;
    default:
      return event satisfies never;
  }
}

title("The program a model wrote");
console.log(PROGRAM.replaceAll(/^/gmu, "  ").trimEnd());

title("The run, as it happens");
const host = createHost();
const run = host.start({ source: PROGRAM, tools, authorize });
const startedAt = performance.now();
for await (const event of run.events) {
  const at = `${Math.round(performance.now() - startedAt)} ms`.padStart(8);
  console.log(`${at}  ${tell(event)}`);
}

const result = await run.result;
title("The result");
console.log(result.status === "completed" ? JSON.stringify(result.value, null, 2) : result);
const { calls, wallTimeMs, cpuTimeMs } = result.stats;
const [wall, cpu] = [wallTimeMs.toFixed(0), cpuTimeMs.toFixed(1)];
console.log(`\n${calls} tool calls in one program: ${wall} ms in all, ${cpu} ms of them in the sandbox`);

title("The same run again, from its ledger");
const replayed = await host.replay(run.ledger()).result;
console.log(`Replayed ${run.ledger().calls.length} calls without calling a tool: ${replayed.status}`);

deepStrictEqual(result.status === "completed" ? result.value : result, EXPECTED);
deepStrictEqual(replayed.status === "completed" ? replayed.value : replayed, EXPECTED);
deepStrictEqual(refunds, [{ orderId: "A-102", amount: 80 }]);
await host[Symbol.asyncDispose]();
console.log("\nAll as expected.");
