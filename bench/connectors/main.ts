/**
 * Measures connectors and their handles: `npm run bench:connectors`.
 *
 * - A call through a handle is compared with the same call of the official client, block by block in turn, on one
 *   server for each; the medians of the blocks are compared.
 * - A program that starts with many backends is compared with one that starts with few.
 * - GitHub's description is read in processes of their own, without a cache and from one: `--github` is such a process.
 *   Its host has run a program before, which takes as long with any backend.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import {
  type Connector,
  createHandles,
  http,
  type HttpAction,
  mcp,
  openapi,
  openDescriptionCache,
} from "@codecell/connectors";
import { createHost, unwrap } from "codecell";
import { residentMb } from "../harness/resident-memory.ts";
import { median } from "../harness/statistics.ts";

const ROUNDS = 30;
const IN_A_ROW = 20;
const AT_ONCE = 32;
const COMMAND = process.execPath;
const ARGS = [
  fileURLToPath(
    new URL("../../node_modules/@modelcontextprotocol/server-everything/dist/index.js", import.meta.url),
  ),
  "stdio",
];
const host = createHost();

/** Milliseconds of one run of the work. */
async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

/** Medians of two kinds of work that take turns. The first rounds warm up. */
async function inTurn(
  one: () => Promise<unknown>,
  other: () => Promise<unknown>,
): Promise<readonly [number, number]> {
  const [first, second]: [number[], number[]] = [[], []];
  for (let round = -5; round < ROUNDS; round++) {
    const times = [await timed(one), await timed(other)] as const;
    if (round < 0) continue;
    first.push(times[0]);
    second.push(times[1]);
  }
  return [median(first), median(second)];
}

function tell(what: string, ours: number, base: number, bar: number): void {
  const ratio = ours / base;
  const verdict = ratio <= bar ? "met" : "missed";
  console.log(
    `${what}: ${ours.toFixed(2)} ms, ${base.toFixed(2)} ms, ${ratio.toFixed(2)} times (bar ${bar}, ${verdict})`,
  );
}

async function compareCalls(): Promise<void> {
  const client = new Client({ name: "bench", version: "1" });
  await client.connect(new StdioClientTransport({ command: COMMAND, args: ARGS, stderr: "ignore" }));
  await using connector = mcp({
    id: "everything",
    card: { name: "Everything", description: "A server of everything" },
    command: COMMAND,
    args: ARGS,
  });
  const connectors = createHandles([connector]);
  const runs = async (source: string): Promise<unknown> =>
    unwrap(await host.start({ source, connectors }).result);
  const bare = (): Promise<unknown> => client.callTool({ name: "echo", arguments: { message: "hello" } });
  const call = `connectors.everything.callTool("echo", { message: "hello" })`;
  const [base, ours] = await inTurn(
    async () => {
      for (let made = 0; made < IN_A_ROW; made++) await bare();
    },
    () =>
      runs(
        `for (let call = 0; call < ${IN_A_ROW}; call++) if (!(await ${call}).ok) throw new Error("failed")`,
      ),
  );
  tell("a call of a handle, and of the official client", ours / IN_A_ROW, base / IN_A_ROW, 1.5);
  const [baseAtOnce, oursAtOnce] = await inTurn(
    () => Promise.all(Array.from({ length: AT_ONCE }, bare)),
    () => runs(`await Promise.all(Array.from({ length: ${AT_ONCE} }, () => ${call}))`),
  );
  tell(`${AT_ONCE} calls at once`, oursAtOnce, baseAtOnce, 1.2);
  await client.close();
}

function backend(at: number, tools: number): Connector {
  const actions = Array.from({ length: tools }, (_, index): HttpAction => ({
    name: `tool_${index}`,
    description: `Does work number ${index} of backend ${at}`,
    method: "GET",
    path: "/",
  }));
  const card = { name: `Backend ${at}`, description: `The backend number ${at}` };
  return http({ id: `backend-${at}`, card, baseUrl: "http://127.0.0.1:9", actions });
}

async function compareStarts(): Promise<void> {
  const many = createHandles(Array.from({ length: 100 }, (_, at) => backend(at, 50)));
  const few = createHandles([backend(0, 10)]);
  const starts = async (connectors: typeof few): Promise<void> => {
    for (let run = 0; run < IN_A_ROW; run++)
      unwrap(await host.start({ source: `return connectors["backend-0"].id`, connectors }).result);
  };
  const [base, ours] = await inTurn(
    () => starts(few),
    () => starts(many),
  );
  tell("a start with 5,000 tools of 100 backends, and with 10 of one", ours / IN_A_ROW, base / IN_A_ROW, 1.2);
}

/** Watches how much processor time each turn of the event loop takes, until it is asked. In milliseconds. */
function watchTurns(): () => number {
  const spent = (): number => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  };
  let last = spent();
  let most = 0;
  let next = setImmediate(function look() {
    const now = spent();
    most = Math.max(most, now - last);
    last = now;
    next = setImmediate(look);
  });
  return () => {
    clearImmediate(next);
    return most;
  };
}

/** For how long this thread has waited while others had the processor, in milliseconds. Only Linux tells it. */
function waitedMs(): number {
  try {
    return Number(readFileSync("/proc/self/schedstat", "utf8").split(" ")[1]) / 1e6;
  } catch {
    return 0;
  }
}

/** In a process of its own: nothing else is compiled or in memory. */
async function readGithub(folder: string | undefined): Promise<void> {
  const path = fileURLToPath(
    new URL("../../node_modules/@octokit/openapi/generated/api.github.com.json", import.meta.url),
  );
  const card = { name: "GitHub", description: "The API of GitHub" };
  unwrap(await host.start({ source: "return 1" }).result);
  const before = residentMb();
  const longestTurn = watchTurns();
  const [startedAt, waitedBefore] = [performance.now(), waitedMs()];
  const cache = folder === undefined ? {} : { cache: openDescriptionCache({ folder }) };
  await using github = openapi({ id: "github", card, document: path, ...cache });
  const connectors = createHandles([github]);
  const source = `return (await connectors.github.searchTools("create an issue")).items[0].name`;
  const found = unwrap(await host.start({ source, connectors }).result);
  const ms = performance.now() - startedAt;
  const waited = waitedMs() - waitedBefore;
  const turn = longestTurn();
  const [from, bar] = folder === undefined ? ["cold", 4000] : ["from the cache", 300];
  console.log(
    `GitHub's description until the first search (${JSON.stringify(found)}), ${from}: ${ms.toFixed(0)} ms, ` +
      `${waited.toFixed(0)} of them behind other processes (bar ${bar}, ${ms - waited <= bar ? "met" : "missed"}), its longest turn had the host's thread for ` +
      `${turn.toFixed(0)} ms (bar 50, ${turn <= 50 ? "met" : "missed"}), ` +
      `${(residentMb() - before).toFixed(0)} MB more`,
  );
}

const at = process.argv.indexOf("--github");
if (at >= 0) {
  await readGithub(process.argv[at + 1]);
} else {
  await compareCalls();
  await compareStarts();
  const folder = await mkdtemp(`${tmpdir()}/codecell-descriptions-`);
  const main = [...process.execArgv, fileURLToPath(import.meta.url), "--github"];
  spawnSync(process.execPath, main, { stdio: "inherit" });
  // The first one fills it.
  spawnSync(process.execPath, [...main, folder], { stdio: "ignore" });
  spawnSync(process.execPath, [...main, folder], { stdio: "inherit" });
  await rm(folder, { recursive: true });
}
await host[Symbol.asyncDispose]();
