/** Tokens that hold the memory of their program instead of what tools gave to it. */
import { createHost, type Host, type RunResult, type ToolSet } from "codecell";
import { afterAll, describe, expect, test } from "vitest";
import { killWorkers } from "../property/worker-threads.ts";
import { suspensionOf } from "./suspension-of.ts";

const sealKey = new Uint8Array(32).fill(7);
const compact = createHost({ workers: 1, sealKey, compactTokens: true });
const whole = createHost({ workers: 1, sealKey });
afterAll(async () => {
  await compact[Symbol.asyncDispose]();
  await whole[Symbol.asyncDispose]();
});

/** Text that hardly compresses. */
function noise(seed: number): string {
  let state = seed + 1;
  return Array.from({ length: 4096 }, () => {
    state = (state * 48_271) % 2_147_483_647;
    return String.fromCodePoint(33 + (state % 90));
  }).join("");
}

let rows = 0;
const tools: ToolSet = {
  row: {
    execute: ({ n }: { n: number }) => {
      rows++;
      return { text: noise(n), n };
    },
  },
  ask: { execute: (_input, call) => call.resolution ?? call.suspend("Go on?") },
};

/** Keeps one number of each row, asks, and repeats this. */
const SUMS = `let sum = 0;
for (let round = 0; round < 3; round++) {
  for (let n = 0; n < 60; n++) sum += (await tools.row({ n })).n;
  console.log("round", round);
  sum += await tools.ask({ round });
}
return sum;`;
const SUM = 3 * (59 * 30) + 3;

const KEEPS = `const kept = [];
for (let n = 0; n < 60; n++) kept.push((await tools.row({ n })).text);
await tools.ask({});
return kept.length;`;

async function resumed(host: Host, result: RunResult): Promise<RunResult> {
  const { token, pending } = suspensionOf(result);
  const resolutions = { [pending[0]?.callId ?? ""]: { resolution: 1 } };
  return host.resume({ token, tools, resolutions }).result;
}

describe("compact tokens", () => {
  test("are small if a program got much and kept little, and the run goes on from there [suspend:resume]", async () => {
    const [large, small] = await Promise.all(
      [whole, compact].map(async (host) => host.start({ source: SUMS, tools }).result),
    );
    if (large === undefined || small === undefined) throw new Error("Not started");
    expect(suspensionOf(large).token.length).toBeGreaterThan(150_000);
    expect(suspensionOf(small).token.length).toBeLessThan(30_000);
    rows = 0;
    let result = small;
    const logs = [...result.logs];
    while (result.status === "suspended") {
      expect(suspensionOf(result).token.length).toBeLessThan(40_000);
      result = await resumed(compact, result);
      logs.push(...result.logs);
    }
    expect(result).toMatchObject({ status: "completed", value: SUM });
    expect(logs.map(({ text }) => text)).toEqual(["round 0", "round 1", "round 2"]);
    expect(rows, "calls made before are not repeated").toBe(120);
  });

  test("can be resumed by hosts that make full tokens", async () => {
    let result = await compact.start({ source: SUMS, tools }).result;
    while (result.status === "suspended") result = await resumed(whole, result);
    expect(result).toMatchObject({ status: "completed", value: SUM });
  });

  test("still work when every worker dies while the run goes on", async () => {
    const first = await compact.start({ source: SUMS, tools }).result;
    const { token, pending } = suspensionOf(first);
    const resolutions = { [pending[0]?.callId ?? ""]: { resolution: 1 } };
    let killed = 0;
    const killing: ToolSet = {
      ...tools,
      row: {
        execute: ({ n }: { n: number }) => {
          if (n === 30) {
            killed++;
            killWorkers();
          }
          return { text: noise(n), n };
        },
      },
    };
    let result = await compact.resume({ token, tools: killing, resolutions }).result;
    expect(result.stats.rebuilds).toBeGreaterThan(0);
    result = await resumed(compact, await resumed(compact, result));
    expect(result).toMatchObject({ status: "completed", value: SUM });
    expect(killed).toBe(1);
  });

  test("have the full ledger if it is small or if the program kept what it got", async () => {
    const asked = await compact.start({ source: "return await tools.ask({})", tools }).result;
    const kept = await compact.start({ source: KEEPS, tools }).result;
    expect(suspensionOf(kept).token.length).toBeGreaterThan(100_000);
    for (const result of [asked, kept]) {
      const { token, pending } = suspensionOf(result);
      const resolutions = { [pending[0]?.callId ?? ""]: { resolution: 1 } };
      const run = compact.resume({ token, tools, resolutions });
      expect(run.ledger().hollow).toBeUndefined();
      expect(await run.result).toMatchObject({ status: "completed" });
    }
  });

  test("leave a hollow ledger, which replay and fork refuse", async () => {
    const { token, pending } = suspensionOf(await compact.start({ source: SUMS, tools }).result);
    const resolutions = { [pending[0]?.callId ?? ""]: { resolution: 1 } };
    const run = compact.resume({ token, tools, resolutions });
    await run.result;
    const ledger = run.ledger();
    expect(ledger.hollow).toBe(true);
    expect(() => compact.replay(ledger)).toThrow(/hollow/u);
    expect(() => compact.fork(ledger, { atCall: 3, tools })).toThrow(/hollow/u);
  });
});
