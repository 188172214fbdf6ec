/** Runs with large ledgers, when they are placed again. */
import { createHost, type Host, type ToolSet } from "codecell";
import { afterEach, beforeEach, expect, test } from "vitest";
import { largestTurnMs } from "../fuzz/thread-time.ts";

let host: Host;
beforeEach(() => void (host = createHost({ workers: 1 })));
afterEach(() => host[Symbol.asyncDispose]());

const tools: ToolSet = { echo: { execute: (input: unknown) => input } };

/** About 30 million UTF-16 units. */
const MUCH = `
  let sum = 0;
  for (let n = 0; n < 16; n++) sum += (await tools.echo(String(n % 10).repeat(1e6 - 10))).length + Number(n);
  return sum`;

test("a large ledger is sent to a worker in turns, and the run gives the same value [host:short-turns]", async () => {
  const handle = host.start({ source: MUCH, tools });
  const first = await handle.result;
  expect(first.status).toBe("completed");
  const ledger = handle.ledger();
  const replayed: unknown[] = [];
  const longest = await largestTurnMs(
    () => async () => {
      const result = await host.replay(ledger).result;
      replayed.push(result.status === "completed" ? result.value : result);
    },
    { attempts: 4, enough: 50 },
  );
  expect(longest).toBeLessThan(50);
  expect(new Set(replayed)).toEqual(new Set(first.status === "completed" ? [first.value] : []));
}, 120_000);

test("deliveries, calls and drops while a ledger is being sent come after it", async () => {
  const gate = Promise.withResolvers<void>();
  const source = MUCH.replace("return sum", "await tools.gate(sum); return sum");
  const gated: ToolSet = { ...tools, gate: { execute: () => gate.promise } };
  const reference = await host.start({ source: MUCH, tools }).result;
  const abort = new AbortController();
  const runs = Array.from({ length: 2 }, () => host.start({ source, tools: gated }));
  const dropped = host.start({ source, tools: gated, signal: abort.signal });
  // A native loop holds the worker, so all other runs are placed again from their ledgers.
  const hold = "Array.prototype.join.call({ length: 2 ** 53 - 1 }, '')";
  const holder = host.start({ source: hold, limits: { cpuTimeMs: 300 } });
  await holder.result;
  abort.abort();
  gate.resolve();
  const results = await Promise.all(runs.map(({ result }) => result));
  for (const result of results) {
    expect(result.status === "completed" && result.value).toBe(
      reference.status === "completed" && reference.value,
    );
  }
  expect((await dropped.result).status).toBe("failed");
}, 120_000);
