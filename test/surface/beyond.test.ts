/** What the contract does not ask for: large catalogs, details of pending calls, synonyms, restarts. */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Host, RunHandle } from "codecell";
import { createMemoryStore } from "codecell/store";
import type { AgentTools, CodeModeResult } from "codecell/surface";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { instead } from "../api/store-doubles.ts";
import { CONTEXT, openDesk, openWarmDesk, until, waitingOf } from "./fixtures.ts";
import { SOURCE_FLAGS } from "../../scripts/source-flags.ts";

const SOON = { enabled: true, timeoutMs: 300 };

/** Each tool has a description and a schema, as real tools do. */
function toolsOf(count: number): AgentTools {
  const named = Array.from({ length: count }, (_, n) => [
    `service_${n}`,
    {
      description: `Does what service number ${n} does, for whoever asks for it with an id and a reason`,
      input: { type: "object", properties: { id: { type: "string" }, reason: { type: "string" } } },
      execute: (input: unknown) => ({ n, input }),
    },
  ]);
  return { mcp: { many: Object.fromEntries(named) as NonNullable<AgentTools["core"]> } };
}

/** Collects every run that the host starts from now on. */
function watchRuns(host: Host): RunHandle[] {
  const handles: RunHandle[] = [];
  const keep = (handle: RunHandle): RunHandle => {
    handles.push(handle);
    return handle;
  };
  const [start, resume] = [host.start.bind(host), host.resume.bind(host)];
  vi.spyOn(host, "start").mockImplementation((options) => keep(start(options)));
  vi.spyOn(host, "resume").mockImplementation((options) => keep(resume(options)));
  return handles;
}

describe("a catalog of 5,000 tools", () => {
  const SMALL = 10;
  const LARGE = 5000;

  interface Size {
    /** Size of the ledger from which a program is rebuilt. */
    readonly ledger: number;
    /** Size of the program's snapshot, if there is one. */
    readonly snapshot: number;
  }

  async function suspend(count: number, work: string): Promise<Size> {
    const store = createMemoryStore();
    let snapshot = 0;
    const measuring = instead(store, {
      release: (claim, next) => {
        if (next !== undefined && "snapshot" in next) snapshot = next.snapshot?.length ?? 0;
        return store.release(claim, next);
      },
    });
    await using desk = openDesk({ tools: toolsOf(count), hosting: { store: measuring } });
    const handles = watchRuns(desk.host);
    const { runId } = waitingOf(await desk.exec(`${work} await yield_control(); return 3`));
    const ledger = Buffer.byteLength(JSON.stringify(handles[0]?.ledger()));
    const size = { ledger, snapshot };
    expect(await desk.wait(runId)).toMatchObject({ status: "completed", value: 3 });
    return size;
  }

  test.each([
    ["calls tools by name", "for (const id of ['a', 'b', 'c']) await tools.service_3({ id });"],
    [
      "searches, describes and calls by id",
      "const [{ id }] = await tools.search('service number 7', { limit: 1 }); await tools.describe(id); await tools.call(id, {});",
    ],
  ])(
    "[exec-wait:100] makes a suspended program that %s at most twice as large as 10 tools do",
    async (_, work) => {
      const [small, large] = [await suspend(SMALL, work), await suspend(LARGE, work)];
      expect(small.ledger).toBeGreaterThan(500);
      expect(large.ledger).toBeLessThan(2 * small.ledger);
    },
  );

  test("[exec-wait:100] makes the snapshot of a program at most twice as large as 10 tools do", async () => {
    const work =
      "let n = 0; for (let i = 0; i < 3e6; i++) n += i % 7; await tools.service_1({ id: String(n) });";
    const [small, large] = [await suspend(SMALL, work), await suspend(LARGE, work)];
    expect(small.snapshot).toBeGreaterThan(500);
    expect(large.snapshot).toBeLessThan(2 * small.snapshot);
  });

  test("[exec-wait:100] can be listed whole by a program that is suspended, within the default limit", async () => {
    await using desk = openDesk({ tools: toolsOf(LARGE) });
    const { runId } = waitingOf(
      await desk.exec("const all = ALL_TOOLS.length; await yield_control(); return [all, ALL_TOOLS.length]"),
    );
    expect(await desk.wait(runId)).toMatchObject({ status: "completed", value: [LARGE, LARGE] });
  });
});

describe("pending calls", () => {
  test("[exec-wait:101] have their tool, their start and the beginning of their input", async () => {
    await using desk = await openWarmDesk({ config: SOON });
    const before = Date.now();
    const { runId, pendingToolCalls = [] } = waitingOf(
      await desk.exec(
        "return await Promise.all([tools.gate({ n: 1 }), tools.call('core:core:gate', { text: 'é😀'.repeat(500) })])",
      ),
    );
    expect(pendingToolCalls.map(({ tool }) => tool)).toEqual(["core:core:gate", "core:core:gate"]);
    expect(pendingToolCalls[0]?.input).toBe('{"n":1}');
    const long = pendingToolCalls[1]?.input ?? "";
    expect(long.startsWith('{"text":"é😀')).toBe(true);
    expect(long.endsWith("…")).toBe(true);
    expect(long.length).toBeLessThanOrEqual(201);
    expect(long.isWellFormed()).toBe(true);
    for (const { id, startedAt } of pendingToolCalls) {
      expect(id.startsWith(`${runId}:`)).toBe(true);
      expect(new Date(startedAt).toISOString()).toBe(startedAt);
      expect(Date.parse(startedAt)).toBeGreaterThanOrEqual(before);
      expect(Date.parse(startedAt)).toBeLessThanOrEqual(Date.now());
    }
    // Calls that were answered are no longer pending.
    desk.gate.release("one");
    const later = waitingOf(await desk.wait(runId));
    expect(later.pendingToolCalls).toEqual([pendingToolCalls[1]]);
  });
});

describe("search", () => {
  const named = (description: string) => ({ description, execute: () => null });
  const tools: AgentTools = {
    core: { web_search: named("Searches the web for pages"), read_file: named("Reads a file") },
    plugin: { media: { img_resize: named("Resizes an image file to a width and height") } },
    mcp: {
      stripe: { stripe_refund: named("Refunds a charge to the card it was paid with") },
      slack: { slack_post: named("Posts to a Slack channel") },
      mail: { send_email: named("Sends an email to an address") },
      calendar: { create_event: named("Creates an event in a calendar") },
    },
  };

  test.each([
    ["give the customer their money back", ["mcp:stripe:stripe_refund"]],
    ["refund", ["mcp:stripe:stripe_refund"]],
    ["message the team", ["mcp:slack:slack_post", "mcp:mail:send_email"]],
    ["make this picture smaller", ["plugin:media:img_resize"]],
    ["look at picture", ["plugin:media:img_resize"]],
  ])("[exec-wait:102] in a program understands %j", async (words, wanted) => {
    await using desk = openDesk({ tools });
    const result = await desk.exec(
      `return (await tools.search(${JSON.stringify(words)}, { limit: 3 })).map(({ id }) => id)`,
    );
    const found = result.status === "completed" ? (result.value as string[]) : [];
    for (const id of wanted) expect(found).toContain(id);
    expect(wanted).toContain(found[0]);
  });
});

describe("the same program", () => {
  /** A bit of everything that could differ: time, randomness, order, numbers, a heap that was used before. */
  const program = (work: string): string => `
    ${work}
    const seen = new Map([["a", 1.1], ["b", -0], ["c", 2n ** 70n]].map(([k, v]) => [k, String(v)]));
    const got = await Promise.all([3, 1, 2].map((n) => tools.echo({ n })));
    text("half");
    PAUSE
    seen.set("late", await Promise.race([tools.echo("x"), new Promise((end) => setTimeout(end, 1e6))]));
    json([...seen]);
    const sorted = [5, 1, 4].toSorted((a, b) => a - b);
    return { got, sorted, text: "é😀".normalize("NFD").length, re: "a1b22".replaceAll(/\\d+/gu, (d) => d * 2), deep: structuredClone({ at: [1, { n: null }] }) }`;

  test.each([
    ["that is rebuilt", ""],
    ["that is restored", "let n = 0; for (let i = 0; i < 3e6; i++) n += i % 7;"],
  ])("[exec-wait:103] gives the same value live, after a suspension %s, and replayed", async (_, work) => {
    await using desk = openDesk();
    const handles = watchRuns(desk.host);
    const live = await desk.exec(program(work).replace("PAUSE", ""));
    const first = waitingOf(await desk.exec(program(work).replace("PAUSE", "await yield_control();")));
    const second = await desk.wait(first.runId);
    const replayed = await desk.host.replay(handles.at(-1)?.ledger() ?? raise()).result;
    expect(live.status).toBe("completed");
    const value = live.status === "completed" ? live.value : undefined;
    expect(second).toMatchObject({ status: "completed", value });
    expect([...(first.output ?? []), ...(second.output ?? [])]).toEqual(live.output);
    expect(replayed).toMatchObject({ status: "completed", value });
    expect(replayed.logs).toHaveLength(live.output?.length ?? 0);
  });
});

function raise(): never {
  throw new Error("There is no ledger");
}

describe("a restart", () => {
  let folder = "";
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "codecell-restart-"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const sealKey = randomBytes(32).toString("base64");
  /** What another process prints. It may end in any way. */
  function inProcess(...args: string[]): Promise<CodeModeResult> {
    const fixture = join(import.meta.dirname, "restart.fixture.ts");
    const [mode = "", ...rest] = args;
    return new Promise((resolve, reject) => {
      execFile(
        process.execPath,
        [...SOURCE_FLAGS, fixture, mode, folder, ...rest],
        { env: { ...process.env, CODECELL_SEAL_KEY: sealKey }, encoding: "utf8" },
        (error, stdout, stderr) => {
          if (stdout.startsWith("{")) resolve(JSON.parse(stdout) as CodeModeResult);
          else reject(error ?? new Error(stderr));
        },
      );
    });
  }

  test.each(["killed", "shut down"])(
    "[exec-wait:104] a suspended program goes on in another process after its own was %s",
    async (ending) => {
      const first = waitingOf(await inProcess("exec", "durable", ending));
      expect(first).toMatchObject({ output: [{ type: "text", text: "before" }] });
      const second = await inProcess("wait", "durable", "shut down", first.runId);
      expect(second).toMatchObject({
        status: "completed",
        value: { list: [1, 2, 3], paid: { amount: 7 }, looked: "found" },
        output: [{ type: "text", text: "after" }],
        // The output cap and the counts begin anew with the process, since nothing keeps them.
        telemetry: { counts: { exec: 0, wait: 1 }, snapshots: { created: 0, restored: 1 } },
      });
      expect(readFileSync(join(folder, "payments.txt"), "utf8")).toBe("7\n");
      expect(await inProcess("wait", "durable", "shut down", first.runId)).toMatchObject({
        status: "failed",
        code: "invalid_input",
        error: expect.stringContaining("start anew with exec") as string,
      });
    },
  );

  test("[exec-wait:104] without a store the program is gone, and the message says what to do", async () => {
    const first = waitingOf(await inProcess("exec", "fleeting", "shut down"));
    expect(await inProcess("wait", "fleeting", "shut down", first.runId)).toMatchObject({
      status: "failed",
      code: "invalid_input",
      error: expect.stringMatching(/no suspended program .* start anew with exec/u) as string,
    });
  });

  test("[exec-wait:104] only the scope of a program can continue it", async () => {
    const store = createMemoryStore();
    const hosting = { store, leaseMs: 200 };
    const here = openDesk({ hosting });
    const { runId } = waitingOf(await here.exec("await yield_control(); return await tools.gate({})"));
    await here[Symbol.asyncDispose]();
    await using there = openDesk({ hosting });
    const foreign = there.prepare({
      context: { ...CONTEXT, agentId: "a2" },
    });
    expect(await foreign.wait({ runId })).toMatchObject({ status: "failed", code: "invalid_input" });
    const waited = there.wait(runId);
    await until(() => there.gate.open === 1);
    there.gate.release("there");
    expect(await waited).toMatchObject({ status: "completed", value: "there" });
  });
});
