/** Runs in tests. The tools, contexts and spies of every test of the agent surface. */
import { createHost, type Host, type HostOptions } from "codecell";
import {
  type AgentContext,
  type AgentRunOptions,
  type AgentRuntime,
  type AgentTools,
  type CodeModeResult,
  type CodeModeWaiting,
  createAgentRuntime,
  type NestedCall,
  type PreparedAgentRun,
} from "codecell/surface";
import { expectResult } from "./result-schema.ts";

export const CONTEXT = {
  agentId: "a1",
  runId: "r1",
  sessionId: "s1",
  sessionKey: "k1",
  sender: "someone",
  channel: "here",
} as const satisfies AgentContext;

/** A tool that answers when the test lets it. */
export class Gate {
  readonly signals: AbortSignal[] = [];
  readonly #waiting: PromiseWithResolvers<unknown>[] = [];
  made = 0;
  most = 0;

  readonly execute = (_input: unknown, call: { readonly signal: AbortSignal }): Promise<unknown> => {
    const waiting = Promise.withResolvers<unknown>();
    this.#waiting.push(waiting);
    this.signals.push(call.signal);
    this.made++;
    this.most = Math.max(this.most, this.#waiting.length);
    call.signal.addEventListener("abort", () => waiting.reject(new Error("aborted")), { once: true });
    return waiting.promise;
  };

  get open(): number {
    return this.#waiting.length;
  }

  /** Answers the oldest call, or the call at this place after it. */
  release(value: unknown = "released", at = 0): void {
    this.#waiting.splice(at, 1)[0]?.resolve(value);
  }

  releaseAll(value: unknown = "released"): void {
    while (this.#waiting.length > 0) this.release(value);
  }
}

export interface Fixtures {
  readonly tools: AgentTools;
  readonly gate: Gate;
  /** Commands that the shell tool got. */
  readonly commands: unknown[];
  /** What each call of `echo` got. */
  readonly told: { readonly input: unknown; readonly context: unknown }[];
  readonly forbidden: { calls: number };
  readonly approved: { calls: number };
  readonly hooked: NestedCall[];
}

/** The policy that denies `forbidden`. */
export const POLICY = { deny: ["core:core:forbidden"] };

export function createFixtures(): Fixtures {
  const gate = new Gate();
  const commands: unknown[] = [];
  const told: { input: unknown; context: unknown }[] = [];
  const forbidden = { calls: 0 };
  const approved = { calls: 0 };
  const control = { description: "A control tool", execute: () => "never" };
  const tools: AgentTools = {
    core: {
      echo: {
        description: "Gives back what it is given",
        execute: (input, call) => {
          told.push({ input, context: call.context });
          return { got: input as unknown };
        },
      },
      read: {
        description: "Reads a file from the local disk",
        input: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
        execute: ({ path }: { path: string }) => `contents of ${path}`,
      },
      exec: {
        description: "Runs a command in the shell",
        input: { type: "object", properties: { command: { type: "string" } }, required: ["command"] },
        execute: (input) => {
          commands.push(input);
          return "ran";
        },
      },
      gate: { description: "Answers when somebody lets it", execute: gate.execute },
      boom: {
        description: "Fails",
        execute: () => {
          throw Object.assign(new Error("nope"), { secret: "S3CRET" });
        },
      },
      slow: {
        description: "Takes a while",
        execute: async ({ ms }: { ms: number }, call) => {
          await new Promise((resolve, reject) => {
            const timer = setTimeout(resolve, ms);
            call.signal.addEventListener("abort", () => {
              clearTimeout(timer);
              reject(new Error("aborted"));
            });
          });
          return ms;
        },
      },
      big: { description: "Gives much", execute: ({ n }: { n: number }) => "x".repeat(n) },
      forbidden: { description: "Must not be called", execute: () => forbidden.calls++ },
      needs_ok: { description: "Needs an approval", execute: () => approved.calls++ },
      tool_search_code: control,
      tool_search: control,
      tool_describe: control,
      tool_call: control,
    },
    plugin: { browser: { browser_request: { description: "Opens a page", execute: () => "page" } } },
    mcp: {
      github: {
        create_issue: {
          description: "Creates an issue in a repository",
          input: { type: "object", properties: { title: { type: "string" } }, required: ["title"] },
          execute: ({ title }: { title: string }) => ({ number: 1, title }),
        },
      },
    },
    client: { app: { select_file: { description: "Lets a person select a file", execute: () => "a.txt" } } },
  };
  return { tools, gate, commands, told, forbidden, approved, hooked: [] };
}

/** Ids of all tools that a program may reach. */
export const IDS: readonly string[] = [
  "client:app:select_file",
  "core:core:big",
  "core:core:boom",
  "core:core:echo",
  "core:core:exec",
  "core:core:gate",
  "core:core:needs_ok",
  "core:core:read",
  "core:core:slow",
  "mcp:github:create_issue",
  "plugin:browser:browser_request",
];

export interface Desk extends Fixtures, AsyncDisposable {
  readonly run: PreparedAgentRun;
  readonly host: Host;
  readonly runtime: AgentRuntime;
  prepare(options?: Partial<AgentRunOptions>): PreparedAgentRun;
  exec(code: string, language?: string): Promise<CodeModeResult>;
  wait(runId: string): Promise<CodeModeResult>;
}

export interface DeskOptions extends Partial<AgentRunOptions> {
  readonly suspendedPrograms?: number;
  /** Options of the host. */
  readonly hosting?: HostOptions;
}

/** An agent run on its own host, with code mode on. */
export function openDesk({ suspendedPrograms, hosting, ...options }: DeskOptions = {}): Desk {
  const fixtures = createFixtures();
  const host = createHost({ workers: 1, sealKey: new Uint8Array(32).fill(3), ...hosting });
  const runtime = createAgentRuntime({
    host,
    ...(suspendedPrograms === undefined ? {} : { suspendedPrograms }),
  });
  const prepare = (given: Partial<AgentRunOptions> = {}): PreparedAgentRun =>
    runtime.prepareAgentRun({
      config: true,
      tools: fixtures.tools,
      policy: POLICY,
      context: CONTEXT,
      ...given,
    });
  const run = prepare({
    beforeToolCall: (call) => {
      fixtures.hooked.push(call);
      return undefined;
    },
    ...options,
  });
  return {
    ...fixtures,
    host,
    runtime,
    run,
    prepare,
    // In every test, every answer has one of the three shapes.
    exec: async (code, language) =>
      expectResult(await run.exec(language === undefined ? { code } : { code, language })),
    wait: async (runId) => expectResult(await run.wait({ runId })),
    [Symbol.asyncDispose]: async () => {
      fixtures.gate.releaseAll();
      await runtime[Symbol.asyncDispose]();
      await host[Symbol.asyncDispose]();
    },
  };
}

/** A desk whose worker has started, for programs with little time. */
export async function openWarmDesk(options: DeskOptions = {}): Promise<Desk> {
  const desk = openDesk(options);
  await desk.host.start({ source: "return 1" }).result;
  return desk;
}

/** Asserts that a result is a waiting one. */
export function waitingOf(result: CodeModeResult): CodeModeWaiting {
  if (result.status !== "waiting") throw new Error(`Not waiting: ${JSON.stringify(result)}`);
  return result;
}

/** Waits for a condition. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise(setImmediate);
}
