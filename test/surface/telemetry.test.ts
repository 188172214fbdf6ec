/** An agent run counts exactly, over all execs and waits, and keeps nothing of the data that passed through it. */
import { afterEach, describe, expect, test, vi } from "vitest";
import type { CodeModeTelemetry } from "codecell/surface";
import { CONTEXT, type Desk, IDS, openDesk, until } from "./fixtures.ts";
import { failedOf, valueOf, waitingOf } from "./results.ts";

afterEach(() => {
  vi.useRealTimers();
});

const snapshotsOf = (desk: Desk): CodeModeTelemetry["snapshots"] => desk.run.telemetry().snapshots;

describe("telemetry", () => {
  test("has names, sizes, counts, failures and snapshots [exec-wait:92]", async () => {
    await using desk = openDesk({ config: { enabled: true, timeoutMs: 1000, memoryLimitBytes: 16 << 20 } });
    expect(desk.run.telemetry()).toEqual({
      visibleTools: ["exec", "wait"],
      catalog: { size: IDS.length, sources: { client: 1, core: 8, mcp: 1, plugin: 1 } },
      counts: { exec: 0, wait: 0, search: 0, describe: 0, call: 0 },
      calledTools: [],
      failures: {},
      snapshots: { created: 0, restored: 0, expired: 0, dropped: 0 },
    });
    await failedOf(desk.exec("for (;;);"));
    await failedOf(desk.exec("const a = []; for (;;) a.push(new Uint8Array(1 << 20))"));
    await failedOf(desk.exec(`return "x".repeat(${5 << 20})`));
    await failedOf(desk.exec("return ("));
    await failedOf(desk.wait("nobody"));
    const { runId } = await waitingOf(
      desk.exec(
        "await tools.boom({}).catch(() => {}); await tools.echo(1); await tools.echo(2); await yield_control(); return 1",
      ),
    );
    const done = await desk.wait(runId);
    expect(done.telemetry).toEqual({
      visibleTools: ["exec", "wait"],
      catalog: { size: IDS.length, sources: { client: 1, core: 8, mcp: 1, plugin: 1 } },
      counts: { exec: 5, wait: 2, search: 0, describe: 0, call: 3 },
      calledTools: ["core:core:boom", "core:core:echo"],
      failures: { timeout: 1, memory_limit_exceeded: 1, output_limit_exceeded: 1, invalid_input: 2 },
      snapshots: { created: 1, restored: 1, expired: 0, dropped: 0 },
    });
    expect(desk.run.telemetry()).toEqual(done.telemetry);
    expect(desk.run.visibleTools.map(({ name }) => name)).toEqual(done.telemetry.visibleTools);
  });

  test("counts failures because of caps [exec-wait:92]", async () => {
    await using desk = openDesk({ config: { enabled: true, maxSnapshotBytes: 4096 } });
    await failedOf(
      desk.exec("const kept = await tools.big({ n: 500_000 }); await yield_control(); return kept.length"),
    );
    await failedOf(desk.exec("await Promise.all(Array.from({ length: 2000 }, () => tools.echo(1)))"));
    const { failures, snapshots } = desk.run.telemetry();
    expect(failures).toEqual({ snapshot_limit_exceeded: 1, too_many_pending_tool_calls: 1 });
    expect(snapshots).toEqual({ created: 0, restored: 0, expired: 0, dropped: 0 });
  });

  test("follows each snapshot to its end [exec-wait:92]", async () => {
    await using desk = openDesk({ config: { enabled: true, snapshotTtlSeconds: 1 } });
    const code = "await yield_control(); await yield_control(); return 1";
    const twice = await waitingOf(desk.exec(code));
    await waitingOf(desk.wait(twice.runId));
    await valueOf(desk.wait(twice.runId));
    expect(snapshotsOf(desk)).toEqual({ created: 2, restored: 2, expired: 0, dropped: 0 });
    await waitingOf(desk.exec(code));
    await until(() => snapshotsOf(desk).expired === 1);
    expect(snapshotsOf(desk)).toEqual({ created: 3, restored: 2, expired: 1, dropped: 0 });
    await waitingOf(desk.exec(code));
    await desk.run.end();
    expect(snapshotsOf(desk)).toEqual({ created: 4, restored: 2, expired: 1, dropped: 1 });
  });

  test("counts a snapshot once when its run is aborted in a wait [exec-wait:92]", async () => {
    const abort = new AbortController();
    await using desk = openDesk({ context: { ...CONTEXT, abortSignal: abort.signal } });
    const { runId } = await waitingOf(desk.exec("await yield_control(); return tools.gate({})"));
    const result = desk.wait(runId);
    await until(() => desk.gate.open === 1);
    abort.abort();
    expect((await failedOf(result)).code).toBe("aborted");
    expect(snapshotsOf(desk)).toEqual({ created: 1, restored: 1, expired: 0, dropped: 0 });
  });

  test("is exact, over waits too [exec-wait:93]", async () => {
    await using desk = openDesk();
    const code = `await tools.search("file"); await tools.describe("core:core:echo"); await tools.echo(1);
      await yield_control();
      await tools.search("issue"); await tools.call("core:core:echo", 2);
      await yield_control();
      await tools.read({ path: "a" }); return 1`;
    const first = await waitingOf(desk.exec(code));
    expect(first.telemetry.counts).toEqual({ exec: 1, wait: 0, search: 1, describe: 1, call: 1 });
    const second = await waitingOf(desk.wait(first.runId));
    expect(second.telemetry.counts).toEqual({ exec: 1, wait: 1, search: 2, describe: 1, call: 2 });
    const third = await desk.wait(first.runId);
    expect(third.telemetry.counts).toEqual({ exec: 1, wait: 2, search: 2, describe: 1, call: 3 });
    expect(third.telemetry.calledTools).toEqual(["core:core:echo", "core:core:read"]);
    // Telemetry that was given before has not changed.
    expect(first.telemetry.counts.call).toBe(1);
  });

  test("counts a call once, however often its program is suspended [exec-wait:93]", async () => {
    await using desk = openDesk({ config: { enabled: true, timeoutMs: 300 } });
    await valueOf(desk.exec("return 1"));
    const { runId } = await waitingOf(desk.exec("return tools.gate({})"));
    await waitingOf(desk.wait(runId));
    await waitingOf(desk.wait(runId));
    desk.gate.release();
    const done = await desk.wait(runId);
    expect(await valueOf(done)).toBe("released");
    expect(done.telemetry.counts).toEqual({ exec: 2, wait: 3, search: 0, describe: 0, call: 1 });
    expect(done.telemetry.snapshots).toEqual({ created: 3, restored: 3, expired: 0, dropped: 0 });
  });

  test("counts a call of an unknown tool as nothing else [exec-wait:93]", async () => {
    await using desk = openDesk();
    const code = `const codes = [];
      for (const id of [7, "catalog.search", "catalog.describe", "catalog.load", "yield_control"]) {
        codes.push(await tools.call(id, null).then(() => "fine", (e) => e.code));
      }
      return codes`;
    const unknown = "unknown_tool";
    const result = await desk.exec(code);
    // The program itself refuses a value that is not an id.
    expect(await valueOf(result)).toEqual([null, unknown, unknown, unknown, unknown]);
    expect(result.telemetry.counts).toEqual({ exec: 1, wait: 0, search: 0, describe: 0, call: 0 });
  });

  test("has one count for each agent run [exec-wait:93]", async () => {
    await using desk = openDesk();
    const other = desk.prepare({ context: { ...CONTEXT, runId: "r2" } });
    await valueOf(desk.exec("return tools.echo(1)"));
    await valueOf(other.exec({ code: "return 1" }));
    expect(other.telemetry().counts).toEqual({ exec: 1, wait: 0, search: 0, describe: 0, call: 0 });
    expect(desk.run.telemetry().counts.call).toBe(1);
  });

  test("has no data that passed through the run [exec-wait:94]", async () => {
    const secret = "S3CRET-94";
    process.env["CODECELL_TEST_94"] = secret;
    try {
      await using desk = openDesk({ context: { ...CONTEXT, sender: secret } });
      const programs = [
        `await tools.echo({ key: "${secret}" }); text("${secret}"); return "${secret}"`,
        `await tools.search("${secret}"); await tools.describe("${secret}").catch(() => {}); return 1`,
        `await tools.call("${secret}").catch(() => {}); throw new Error("${secret}")`,
        `await tools.read({ "${secret}": 1 })`,
        `await tools.boom({ key: "${secret}" })`,
        `console.log("${secret}"); await yield_control("${secret}")`,
      ];
      for (const code of programs) await desk.run.exec({ code }, { toolCallId: secret });
      await desk.wait(secret);
      await desk.run.exec({ code: "return 1", language: secret });
      const told = JSON.stringify(desk.run.telemetry());
      expect(told).not.toContain(secret);
      expect(told).not.toContain("nope");
      expect(told).not.toContain(CONTEXT.sessionKey + '"');
      expect(desk.run.telemetry().calledTools).toEqual(["core:core:echo", "core:core:boom"]);
    } finally {
      delete process.env["CODECELL_TEST_94"];
    }
  });
});
