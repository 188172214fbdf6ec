/**
 * The walks of docs/internals/walks.md: which host file calls into which, from real stack frames.
 *
 * - A waypoint is where a walk meets a sandbox, a tool, a store, a seal or the caller. There the test looks at the stack.
 * - Frames end where the event loop takes over, so a walk has several chains.
 */
import { readFileSync } from "node:fs";
import { createHost, run, type RunResult, type ToolSet } from "codecell";
import { createMemoryStore, type Store } from "codecell/store";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Report } from "../packages/codecell/src/protocol/messages.ts";
import { EventStream } from "../packages/codecell/src/run/event-stream.ts";
import { Inbox } from "../packages/codecell/src/run/inbox.ts";
import { NodePool } from "../packages/codecell/src/sandbox/node/node-pool.ts";
import { Sealer } from "../packages/codecell/src/seal/seal.ts";

const SOURCES = "packages/codecell/src/";
const POOL = "sandbox/node/node-pool.ts";
const SEAL = "seal/seal.ts";

/** The files that called each other, outermost first; calls inside a file do not count. */
function chain(): string[] {
  const { stack = "" } = new Error("Where am I?");
  const files = stack.split("\n").flatMap((frame) => {
    const at = frame.indexOf(SOURCES);
    return at === -1 ? [] : [frame.slice(at + SOURCES.length).replace(/\.ts.*$/u, ".ts")];
  });
  return files.toReversed();
}

/** Chains by waypoint, as they were seen the first time. */
let seen: Map<string, string[]>;

/** `place` is where the walk has come to: the test stands in for it on the stack. */
function mark(waypoint: string, place: string): void {
  if (seen.has(waypoint)) return;
  const files = [...chain(), place];
  seen.set(
    waypoint,
    files.filter((file, index) => file !== files[index - 1]),
  );
}

/** Calls `before` with the arguments of every call of a method, which goes on as it is. */
function spy<Key extends string, Target extends Record<Key, (...given: never[]) => unknown>>(
  target: Target,
  key: Key,
  before: (...given: Parameters<Target[Key]>) => void,
): void {
  const original = target[key];
  vi.spyOn(target as Record<string, (...given: never[]) => unknown>, key).mockImplementation(function marked(
    this: unknown,
    ...given
  ) {
    before(...(given as Parameters<Target[Key]>));
    return Reflect.apply(original, this, given) as unknown;
  });
}

const { stackTraceLimit } = Error;

beforeEach(() => {
  seen = new Map();
  Error.stackTraceLimit = 200;
  const place = Reflect.get(NodePool.prototype, "place");
  vi.spyOn(NodePool.prototype, "place").mockImplementation(function marked(this: NodePool, start, listener) {
    mark("the sandbox places the cell", POOL);
    // On a slow machine a program has computed so long that its run is kept as a snapshot, which is another walk.
    const onReport = (report: Report): void => listener.onReport({ ...report, cpuTimeMs: 0 });
    const placement = place.call(this, start, Object.assign(Object.create(listener), { onReport }));
    const deliver = placement.deliver.bind(placement);
    return Object.assign(placement, {
      deliver: (delivery: Parameters<typeof deliver>[0]) => {
        mark("the sandbox delivers the outcome", POOL);
        deliver(delivery);
      },
    });
  });
  spy(Inbox.prototype, "add", () => mark("the outcome is ready", "run/inbox.ts"));
  spy(Inbox.prototype, "end", () => mark("the program has ended", "run/inbox.ts"));
  spy(EventStream.prototype, "emit", ({ type }) => {
    if (type === "run-end") mark("the result is there", "run/event-stream.ts");
  });
  spy(Sealer.prototype, "sealInTurns", (_, purpose) => {
    if (purpose.endsWith(":state")) mark("the run is sealed", SEAL);
  });
  spy(Sealer.prototype, "openInTurns", () => mark("the seal is verified", SEAL));
});

afterEach(() => {
  Error.stackTraceLimit = stackTraceLimit;
  vi.restoreAllMocks();
});

const STORE = "store/create-store.ts";

function markedStore(): Store {
  const store = createMemoryStore();
  return {
    ...store,
    release: (...given) => {
      mark("the store takes the run", STORE);
      return store.release(...given);
    },
    claim: (...given) => {
      mark("the store gives the run", STORE);
      return store.claim(...given);
    },
  };
}

const tools: ToolSet = {
  echo: {
    execute: (input: unknown) => {
      mark("the tool executes", "your tool");
      return input;
    },
  },
  ask: { execute: (_input, call) => call.resolution ?? call.suspend("May I?") },
};
const sealKey = new Uint8Array(32).fill(7);
const asking = "return await tools.ask({})";

/** The chains that the page shows for a walk, by waypoint. */
function documented(title: string): Map<string, string[]> {
  const page = readFileSync(new URL("../docs/internals/walks.md", import.meta.url), "utf8");
  const section = page.split(/^## /mu).find((part) => part.startsWith(title)) ?? "";
  const rows = [...section.matchAll(/^\d+\. (?<waypoint>.+?): (?<files>.+)$/gmu)];
  return new Map(
    rows.map(({ groups: { waypoint = "", files = "" } = {} }) => [
      waypoint,
      [...files.matchAll(/`(?<file>[^`]+)`/gu)].map(({ groups }) => groups?.["file"] ?? ""),
    ]),
  );
}

/** Calls from one file into another. */
function callsOf(chains: ReadonlyMap<string, readonly string[]>): number {
  return [...chains.values()].reduce((sum, files) => sum + files.length - 1, 0);
}

describe("[docs:true] the walk of", () => {
  test("one call is as the page shows it, and takes at most 20 calls between files", async () => {
    expect(await run({ source: "return await tools.echo(1)", tools })).toMatchObject({ value: 1 });
    expect(seen).toEqual(documented("One call"));
    expect(callsOf(seen)).toBeLessThanOrEqual(20);
  });

  test("a suspension with a store is as the page shows it, and takes at most 10", async () => {
    await using host = createHost({ workers: 1, store: markedStore(), sealKey });
    const started = host.start({ source: asking, tools });
    seen.clear();
    expect(await started.result).toMatchObject({ status: "suspended" });
    seen.delete("the sandbox places the cell");
    expect(seen).toEqual(documented("A suspension"));
    expect(callsOf(seen)).toBeLessThanOrEqual(10);
  });

  test("a resumption from a store is as the page shows it, and takes at most 10", async () => {
    await using host = createHost({ workers: 1, store: markedStore(), sealKey });
    const suspended = await host.start({ source: asking, tools }).result;
    seen.clear();
    const resolutions = { [pendingOf(suspended)]: { resolution: "yes" } };
    const resumed = host.resume({ id: suspended.runId, tools, resolutions });
    expect(await resumed.result).toMatchObject({ value: "yes" });
    // From there on it is the walk of a call.
    const resumption = new Map([...seen].slice(0, 3));
    expect(resumption).toEqual(documented("A resumption"));
    expect(callsOf(resumption)).toBeLessThanOrEqual(10);
  });
});

function pendingOf(result: RunResult): string {
  if (result.status !== "suspended") throw new Error(`The run is ${result.status}`);
  return result.suspension.pending[0]?.callId ?? "";
}
