/** What hosts are told and tell models: the same for both implementations. */
import { type Case, toNameAndCode, toValue } from "./outcome.ts";
import { storage } from "./tools.ts";

const shown = (name: string, js: string, modelOutput: object | undefined): Case => ({
  name,
  does: async ({ mode, tools }) => {
    const made = mode.createCodeModeTool(tools, modelOutput === undefined ? {} : { modelOutput });
    const input = { js };
    const output: unknown = await made.execute(input, { toolCallId: "call_1", messages: [] });
    const told = async (given: object): Promise<unknown> =>
      made.toModelOutput === undefined
        ? typeof output === "string"
          ? { type: "text", value: output }
          : { type: "json", value: output }
        : made.toModelOutput({ toolCallId: "call_1", input: given, output });
    return [output, await told(input), await told({ js })];
  },
});

const failing = async (doing: Promise<unknown>): Promise<unknown> => doing.then(toValue, toNameAndCode);

const SUMMARY = { includeNestedToolSummary: true };
const OUTPUTS = { includeNestedToolOutputs: true };

export const MODEL_OUTPUT: readonly Case[] = [
  shown("a value for the model", "return { a: 1 }", undefined),
  shown("a text for the model", "return 'a'", undefined),
  shown("a summary", "await tools.echo({ secret: 1 }); return 1", SUMMARY),
  shown("a summary of failures", "await tools.fail({}).catch(() => {}); return null", SUMMARY),
  shown(
    "a summary with outputs",
    "await tools.echo({ a: 1 }); await tools.sync({}); await tools.shown({ b: 2 }); return 1",
    OUTPUTS,
  ),
  shown("a summary that is cut", "for (let i = 0; i < 5; i++) await tools.echo({ i }); return 1", {
    ...SUMMARY,
    maxSummaryEntries: 2,
  }),
  shown(
    "no more than 32 in a summary",
    "for (let i = 0; i < 40; i++) await tools.echo({ i }); return 1",
    SUMMARY,
  ),
  shown("fetches only", "await tools.echo({}); return 1", { includeFetchSummary: true }),
];

const broken = (hook: string): Case => ({
  name: `${hook} throws`,
  does: async ({ run, lifecycle }) =>
    run("return await tools.echo({ a: 1 })", {
      options: {
        lifecycle: {
          ...lifecycle,
          [hook]: () => {
            throw new Error("hook");
          },
        },
      },
    }),
});

export const HOOKS: readonly Case[] = [
  broken("onNestedToolCall"),
  broken("onNestedToolResult"),
  broken("onTrace"),
  {
    name: "a hook that rejects, and nobody to tell",
    does: async ({ run }) =>
      run("return await tools.echo({})", {
        options: { lifecycle: { onTrace: async () => Promise.reject(new Error("hook")) } },
      }),
  },
  {
    name: "AsyncLocalStorage in tools",
    does: async ({ run }) => storage.run("mine", async () => run("return await tools.stored({})")),
  },
  {
    name: "aborted before it starts",
    does: async ({ run }) => run("return 1", { execution: { abortSignal: AbortSignal.abort() } }),
  },
  {
    name: "aborted while a tool runs",
    does: async ({ run }) => {
      const controller = new AbortController();
      const options = { lifecycle: { onNestedToolCall: () => setTimeout(() => controller.abort(), 50) } };
      return run("return await tools.untilAborted({})", {
        options,
        execution: { abortSignal: controller.signal },
      });
    },
  },
  {
    name: "more than setMaxWorkers allows",
    does: async ({ run, mode }) => {
      mode.setMaxWorkers(1);
      try {
        const first = run("return await tools.slow({ a: 1 })");
        const second = await failing(run("return 2"));
        await first;
        return [await first, second];
      } finally {
        mode.setMaxWorkers(undefined);
      }
    },
  },
  {
    name: "setMaxWorkers of nothing useful",
    does: async ({ mode }) => failing(Promise.resolve().then(() => mode.setMaxWorkers(0))),
  },
];
