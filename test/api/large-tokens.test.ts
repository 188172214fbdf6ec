/** Tokens of runs that moved much data: they are opened in turns, and only a resume that goes on uses them up. */
import { createHost, type Host, type ResumeOptions, type RunResult, type ToolSet } from "codecell";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { largestTurnMs } from "../fuzz/thread-time.ts";

let host: Host;
beforeEach(() => void (host = createHost({ workers: 1, limits: { wallTimeMs: 110_000 } })));
afterEach(() => host[Symbol.asyncDispose]());

const tools: ToolSet = {
  echo: { execute: (input: unknown) => input },
  ask: {
    execute: (input, { resolution, suspend }) => (resolution === undefined ? suspend({ input }) : resolution),
  },
};

/** Names cost most: there are many, and inputs are read name by name. */
const MUCH = `
  const names = Object.fromEntries(Array.from({ length: 40000 }, (_, n) => ["name " + n, n]));
  for (let n = 0; n < 8; n++) await tools.echo(names);
  return await tools.ask(names)`;

async function suspendedBy(source: string): Promise<Extract<RunResult, { status: "suspended" }>> {
  const result = await host.start({ source, tools }).result;
  if (result.status !== "suspended") throw new Error(`It is ${result.status}`);
  return result;
}

function resolutionsOf({
  suspension: { pending },
}: Awaited<ReturnType<typeof suspendedBy>>): NonNullable<ResumeOptions["resolutions"]> {
  return Object.fromEntries(pending.map(({ callId }) => [callId, { resolution: "yes" }]));
}

describe("a large token", () => {
  test("goes on, under the run's id, and is used once [suspend:single-use]", async () => {
    const suspended = await suspendedBy(MUCH);
    const { token } = suspended.suspension;
    const resolutions = resolutionsOf(suspended);
    const handle = host.resume({ token, tools, resolutions });
    expect(handle.runId).toBe(suspended.runId);
    expect(handle.ledger().calls).toHaveLength(9);
    const second = host.resume({ token, tools, resolutions });
    expect(await second.result).toMatchObject({ failure: { code: "token_used" } });
    expect(await handle.result).toMatchObject({ status: "completed", value: "yes", runId: suspended.runId });
  });

  test("that cannot go on now can go on later: without its tool, aborted, or on a host that closes", async () => {
    const suspended = await suspendedBy(MUCH);
    const { token } = suspended.suspension;
    const resolutions = resolutionsOf(suspended);
    const lacking = await host.resume({ token, tools: {}, resolutions }).result;
    expect(lacking).toMatchObject({ failure: { code: "tool_missing" } });
    const abort = new AbortController();
    const aborted = host.resume({ token, tools, resolutions, signal: abort.signal });
    abort.abort();
    expect(await aborted.result).toMatchObject({ failure: { code: "aborted" } });
    const strange = await host.resume({ token, tools, resolutions: { nobody: { resolution: 1 } } }).result;
    expect(strange).toMatchObject({ failure: { code: "resume_invalid" } });
    expect(await host.resume({ token, tools, resolutions }).result).toMatchObject({ value: "yes" });
  });

  test("can be discarded", async () => {
    const { token } = (await suspendedBy(MUCH)).suspension;
    expect(await host.discard({ token })).toBe(true);
    expect(await host.discard({ token })).toBe(false);
  });

  test("does not block the host's thread [host:short-turns]", async () => {
    const suspended = await Promise.all([1, 2, 3, 4].map(() => suspendedBy(MUCH)));
    let next = 0;
    const longest = await largestTurnMs(
      () => {
        const one = suspended[next++ % 4];
        if (one === undefined) throw new Error("There are four");
        const resolutions = resolutionsOf(one);
        return () => host.resume({ token: one.suspension.token, tools, resolutions }).result;
      },
      { attempts: 4, enough: 50 },
    );
    expect(longest).toBeLessThan(50);
  }, 120_000);
});
