/** Surfaces of interrupts: what `codecell/ai` does with waiting calls whose inputs a program chose. */
import { History } from "../../packages/codecell/src/adapters/ai-sdk/approval-flow/history.ts";
import { Losses } from "../../packages/codecell/src/adapters/ai-sdk/approval-flow/losses.ts";
import { nextCalls } from "../../packages/codecell/src/adapters/ai-sdk/approval-flow/model.ts";
import { Readings } from "../../packages/codecell/src/adapters/ai-sdk/approval-flow/readings.ts";
import {
  attachCodeModeApprovalResult,
  isCodeModeApprovalInterrupt,
} from "../../packages/codecell/src/adapters/ai-sdk/approvals.ts";
import {
  getPendingCodeModeInterrupts,
  isCodeModeInterrupt,
  type Paused,
  toInterrupt,
} from "../../packages/codecell/src/adapters/ai-sdk/continuation.ts";
import {
  APPROVAL_KIND,
  type CodeModeInterrupt,
  requestCodeModeInterrupt,
} from "../../packages/codecell/src/adapters/ai-sdk/interrupt.ts";
import {
  findInterrupt,
  getCodeModeInterrupt,
  replaceCodeModeInterruptResult,
  unwrapCodeModeResult,
} from "../../packages/codecell/src/adapters/ai-sdk/interrupts.ts";
import type { Json } from "../../packages/codecell/src/contract/value.ts";
import { INPUT, parsed, RESULT, type Surface } from "./surface-parts.ts";

/** Calls that wait at the same time: a suspended run has room for no more calls of this size. */
export const WAITING = 4;

const pausedWith = (inputs: readonly Json[]): Paused => {
  const pending = inputs.map((input, at) => ({
    callId: `r:${at}`,
    tool: "t",
    input,
    payload: { payload: { kind: APPROVAL_KIND }, input },
  }));
  const suspension = { token: "t", expiresAt: Date.now() + 60_000, pending, yielded: [] };
  return { runId: "r", suspension, outerToolCallId: "c", source: "s" };
};
const inputsOf = (json: string): Json[] => Array.from({ length: WAITING }, () => parsed(json));
/** An interrupt as it was kept: values that occur twice in it are there twice. */
const keptOf = async (inputs: readonly Json[]): Promise<CodeModeInterrupt> =>
  parsed(JSON.stringify(await toInterrupt(pausedWith(inputs)))) as unknown as CodeModeInterrupt;
const messagesWith = (output: unknown): never => {
  const part = { type: "tool-result", toolCallId: "c", toolName: "code", output };
  return [{ role: "tool", content: [part] }] as never;
};
const flow = {
  codeModeTools: new Set(["code"]),
  hidden: new Set(["t"]),
  toolsOf: new Map([["code", new Set(["t"])]]),
  losses: new Losses(new Map()),
  readings: new Readings(new Set(["code"])),
};
const expectOne = (found: unknown): void => {
  if (found === undefined || found === false) throw new Error("The interrupt was not found");
};

export const INTERRUPT_SURFACES: readonly Surface[] = [
  {
    name: "codecell/ai: tell of calls that wait, and hear of them",
    given: "json",
    most: INPUT,
    prepare: (json) => {
      const inputs = inputsOf(json);
      return async () => History.read(messagesWith(await toInterrupt(pausedWith(inputs))));
    },
  },
  {
    name: "codecell/ai: what is told of an interrupt at once",
    given: "json",
    most: INPUT,
    prepare: async (json) => {
      const interrupt = await keptOf(inputsOf(json));
      return () => {
        expectOne(isCodeModeInterrupt(interrupt));
        expectOne(isCodeModeApprovalInterrupt(interrupt));
        expectOne(getCodeModeInterrupt({ toolResults: [{ output: interrupt }] }));
        expectOne(attachCodeModeApprovalResult({ toolResults: [{ output: interrupt }] }).codeModeApproval);
        unwrapCodeModeResult({ type: "json", value: interrupt });
        return getPendingCodeModeInterrupts(interrupt);
      };
    },
  },
  {
    name: "codecell/ai: an interrupt that has grown since it was sealed",
    given: "json",
    most: INPUT,
    prepare: async (json) => {
      const [interrupt, input] = [await keptOf([null]), parsed(json)];
      const { continuation } = interrupt;
      const pending = continuation.pending.map((one) => ({ ...one, input }));
      return () => isCodeModeInterrupt({ ...interrupt, input, continuation: { ...continuation, pending } });
    },
  },
  {
    name: "codecell/ai: find an interrupt in turns",
    given: "json",
    most: INPUT,
    prepare: async (json) => {
      const interrupt = await keptOf(inputsOf(json));
      return async () => expectOne(await findInterrupt({ toolResults: [{ output: interrupt }] }));
    },
  },
  {
    name: "codecell/ai: replace an interrupt by a result",
    given: "json",
    most: RESULT,
    prepare: async (json) => {
      const [interrupt, result] = [await keptOf([null]), parsed(json)];
      return () => replaceCodeModeInterruptResult(messagesWith(interrupt), interrupt, result);
    },
  },
  {
    name: "codecell/ai: replace an interrupt by the next",
    given: "json",
    most: INPUT,
    prepare: async (json) => {
      const [interrupt, next] = [await keptOf(inputsOf(json)), await keptOf(inputsOf(json))];
      return () => replaceCodeModeInterruptResult(messagesWith(interrupt), interrupt, next);
    },
  },
  {
    name: "codecell/ai: a tool that asks with its input",
    given: "json",
    most: INPUT,
    prepare: (json) => {
      const input = parsed(json);
      return () => {
        try {
          // As tools write it; it need not be JSON.
          requestCodeModeInterrupt({ kind: "k", input, note: undefined });
        } catch {
          // The throw is how a tool asks.
        }
      };
    },
  },
  {
    name: "codecell/ai: calls for the AI SDK to ask for",
    given: "json",
    most: INPUT,
    prepare: async (json) => {
      const history = await History.read(messagesWith(await keptOf(inputsOf(json))), flow.codeModeTools);
      return async () => expectOne((await nextCalls(history, flow))[WAITING - 1]);
    },
  },
  {
    name: "codecell/ai: a conversation with calls that wait, for a model",
    given: "json",
    most: INPUT,
    prepare: async (json) => {
      const messages = messagesWith(await keptOf(inputsOf(json)));
      const history = await History.read(messages, flow.codeModeTools);
      return async () => expectOne((await history.collapse(messages))[0]);
    },
  },
];
