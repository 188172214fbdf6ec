/**
 * Does one thing with code mode, and prints the URL of every script that any thread of the process has parsed. The
 * inspector sees all of them, also in workers that inherit no hooks.
 */
import { Session } from "node:inspector";
import { createHost } from "codecell";
import { createChecker } from "codecell/check";
import { createAgentRuntime } from "codecell/surface";
import { CONTEXT, createFixtures, POLICY } from "./fixtures.ts";

const urls = new Set<string>();
const threads = new Map<string, PromiseWithResolvers<void>>();
const session = new Session();
session.connect();
session.on("Debugger.scriptParsed", ({ params }) => void urls.add(params.url));
session.on("NodeWorker.attachedToWorker", ({ params }) => {
  threads.set(params.sessionId, Promise.withResolvers());
});
session.on("NodeWorker.receivedMessageFromWorker", ({ params: { sessionId, message } }) => {
  const { id, params } = JSON.parse(message) as { id?: number; params?: { url?: string } };
  if (params?.url !== undefined) urls.add(params.url);
  if (id !== undefined) threads.get(sessionId)?.resolve();
});
session.post("Debugger.enable");
session.post("NodeWorker.enable", { waitForDebuggerOnStart: false });

/** Asks every thread for all scripts it has parsed so far. The answer comes after the list. */
async function listScripts(): Promise<void> {
  const message = JSON.stringify({ id: 1, method: "Debugger.enable" });
  for (const sessionId of threads.keys())
    session.post("NodeWorker.sendMessageToWorker", { sessionId, message });
  // Idle workers do not keep a process alive.
  const alive = setInterval(() => {}, 1000);
  await Promise.all([...threads.values()].map(({ promise }) => promise));
  clearInterval(alive);
}

const { tools } = createFixtures();

/** An agent run, and the results of its programs. */
async function inCodeMode(config: unknown, ...inputs: readonly object[]): Promise<unknown[]> {
  const host = createHost({ workers: 1 });
  const runtime = createAgentRuntime({ host });
  const run = runtime.prepareAgentRun({ config, tools, policy: POLICY, context: CONTEXT });
  const statuses: unknown[] = [];
  for (const input of inputs) statuses.push((await run.exec(input)).status);
  await listScripts();
  await runtime[Symbol.asyncDispose]();
  await host[Symbol.asyncDispose]();
  return statuses;
}

const JAVASCRIPT = { code: 'await tools.search("read"); return await tools.echo({})' };
const TYPESCRIPT = { code: "const x: number = 1; return x", language: "typescript" };

const CASES: Readonly<Record<string, () => Promise<unknown[]>>> = {
  disabled: () => inCodeMode(false, JAVASCRIPT),
  unused: () => inCodeMode(true),
  javascript: () => inCodeMode(true, JAVASCRIPT),
  typescript: () => inCodeMode(true, TYPESCRIPT),
  /** Shows that the test would see a compiler. */
  checked: async () => {
    const checker = createChecker();
    const host = createHost({ workers: 1, check: { checker } });
    const { status } = await host.start({ source: "return 1" }).result;
    await listScripts();
    await host[Symbol.asyncDispose]();
    await checker[Symbol.asyncDispose]();
    return [status];
  },
};

const statuses = await CASES[process.argv[2] ?? ""]?.();
console.log(JSON.stringify({ statuses, urls: [...urls] }));
