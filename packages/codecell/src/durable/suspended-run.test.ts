import { atOnce } from "../loop/turn.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { resolveLimits } from "../contract/limits.ts";
import type { Sealable } from "../seal/seal.ts";
import { parseHeader, parseSuspendedRun, sealableSteps, type SuspendedRun } from "./suspended-run.ts";

function toSealable(given: SuspendedRun): Sealable {
  return atOnce(sealableSteps(given));
}

const failure = { code: "tool_failed", name: "Error", message: "no" } as const;

const run: SuspendedRun = {
  id: "s",
  scope: "tenant \ud800",
  expiresAt: 5,
  ledger: {
    version: 2,
    runId: "r",
    source: "…",
    language: "typescript",
    seed: "00",
    clock: 1.5,
    limits: resolveLimits(),
    toolNames: ["a"],
    features: {},
    calls: [
      { tool: "a", input: "1" },
      { tool: "a", input: "not JSON" },
      { tool: "a", input: '{"x":"\\ud800"}' },
    ],
    deliveries: [
      {
        clock: 2,
        items: [
          { kind: "output", call: 0, output: "{}" },
          { kind: "failure", call: 1, failure: { ...failure, toolCode: "E" } },
          { kind: "timer", timer: 3 },
        ],
      },
    ],
  },
  seen: { timers: 1, logs: 0, logsDropped: 0, cpuTimeMs: 0 },
  timers: [{ timer: 4, delayMs: 20 }],
  pending: [[2, { ask: ["it"] }]],
  executing: [[1, "executor"]],
  resolutions: [[1, { deny: "no" }]],
};

function read(header: Uint8Array, content: Uint8Array): SuspendedRun | undefined {
  const parsed = parseHeader(header);
  return parsed === undefined ? undefined : atOnce(parseSuspendedRun(parsed, content));
}

function roundTrip(given: SuspendedRun): SuspendedRun | undefined {
  const { header, content } = toSealable(given);
  return read(header, content);
}

/** The same run with another value at one place. */
function withChange(path: readonly (string | number)[], value: unknown): SuspendedRun {
  const copy = structuredClone(run) as unknown as Record<string, unknown>;
  let at = copy;
  for (const name of path.slice(0, -1)) at = at[name] as Record<string, unknown>;
  const last = path.at(-1) ?? "";
  if (value === undefined) delete at[last];
  else at[last] = value;
  return copy as unknown as SuspendedRun;
}

describe("suspended run", () => {
  test("comes back as it was, without a snapshot and with one", () => {
    expect(roundTrip(run)).toEqual(run);
    expect(roundTrip({ ...run, isRepeated: true })).toEqual({ ...run, isRepeated: true });
    fc.assert(
      fc.property(fc.uint8Array(), (snapshot) => {
        const back = roundTrip({ ...run, snapshot });
        expect(Buffer.from(back?.snapshot ?? []).equals(snapshot)).toBe(true);
        expect({ ...back, snapshot }).toEqual({ ...run, snapshot });
      }),
    );
  });

  test("outputs come back as they were, short and long, well-formed or not", () => {
    const text = fc.string({ unit: "binary", maxLength: 2000, size: "max" });
    fc.assert(
      fc.property(fc.array(text, { maxLength: 6 }), (outputs) => {
        const calls = outputs.map(() => ({ tool: "a", input: "1" }));
        const deliveries = outputs.map((output, call) => ({
          clock: 1,
          items: [{ kind: "output", call, output } as const],
        }));
        const ledger = { ...run.ledger, calls, deliveries };
        const given = { ...run, ledger, pending: [], executing: [], resolutions: [] };
        expect(roundTrip(given)).toEqual(given);
        const lone = { ...given, ledger: { ...ledger, deliveries: deliveries.slice(0, 0) } };
        expect(roundTrip(lone)).toEqual(lone);
      }),
    );
  });

  test("outputs that are missing, too few or too many are refused", () => {
    const long = "x".repeat(1000);
    const items = [0, 1].map((call) => ({ kind: "output", call, output: long }) as const);
    const ledger = { ...run.ledger, deliveries: [{ clock: 1, items }] };
    const { header, content } = toSealable({ ...run, ledger });
    expect(read(header, content)?.ledger).toEqual(ledger);
    const parsed = JSON.parse(Buffer.from(header).toString()) as { sections: [string, number][] };
    const resized = (change: number): SuspendedRun | undefined => {
      const sections = parsed.sections.map(([name, length]) => [
        name,
        name === "outputs" ? length + change : length,
      ]);
      const bytes = Buffer.concat([content, Buffer.alloc(10)]).subarray(0, content.length + change);
      return read(Buffer.from(JSON.stringify({ ...parsed, sections })), bytes);
    };
    expect(resized(-1)).toBeUndefined();
    expect(resized(1)).toBeUndefined();
    const without = parsed.sections.slice(0, 1);
    const bare = content.subarray(0, without[0]?.[1] ?? 0);
    expect(read(Buffer.from(JSON.stringify({ ...parsed, sections: without })), bare)).toBeUndefined();
  });

  test("keeps whether the program may yield or fetch", () => {
    expect(roundTrip(withChange(["ledger", "features", "yield"], true))?.ledger.features.yield).toBe(true);
    expect(roundTrip(run)?.ledger.features).not.toHaveProperty("yield");
    expect(roundTrip(withChange(["ledger", "features", "fetch"], true))?.ledger.features.fetch).toBe(true);
    expect(roundTrip(run)?.ledger.features).not.toHaveProperty("fetch");
  });

  test("keeps what happens to detached calls", () => {
    const changed = withChange(["ledger", "features", "detachedFails"], true);
    expect(roundTrip(changed)?.ledger.features.detachedFails).toBe(true);
    expect(roundTrip(run)?.ledger.features).not.toHaveProperty("detachedFails");
  });

  test("a snapshot adds its own bytes and no more", () => {
    const bare = toSealable(run).content.length;
    expect(toSealable({ ...run, snapshot: new Uint8Array(5000) }).content).toHaveLength(bare + 5000);
  });

  test("unknown limits are left out, missing ones get their defaults", () => {
    const limits = { calls: 7, callsOfTomorrow: 3 };
    expect(roundTrip(withChange(["ledger", "limits"], limits))?.ledger.limits).toEqual(
      resolveLimits({ calls: 7 }),
    );
    const vast = roundTrip(withChange(["ledger", "limits", "memoryBytes"], 2 ** 52));
    expect(vast?.ledger.limits.memoryBytes).toBe(2 ** 30);
  });

  test("skips unknown sections", () => {
    const { header, content } = toSealable(run);
    const parsed = JSON.parse(Buffer.from(header).toString()) as { sections: unknown[] };
    const more = { ...parsed, tomorrow: 1, sections: [["tomorrow", 3], ...parsed.sections] };
    const both = Buffer.concat([Buffer.from("abc"), content]);
    expect(read(Buffer.from(JSON.stringify(more)), both)).toEqual(run);
  });

  test.each([
    ["missing", []],
    ["twice", [["run", 0], ["run"]]],
    ["too long", [["run", 1e6]]],
    ["too short", [["run", 10]]],
    ["negative", [["run", -1]]],
    ["odd", ["run"]],
    ["no list", {}],
  ])("sections that are %s are refused", (_name, sections) => {
    const { header, content } = toSealable(run);
    const parsed = JSON.parse(Buffer.from(header).toString()) as object;
    expect(read(Buffer.from(JSON.stringify({ ...parsed, sections })), content)).toBeUndefined();
  });

  test("a section named twice is refused", () => {
    const { header, content } = toSealable(run);
    const parsed = JSON.parse(Buffer.from(header).toString()) as object;
    const sections = [
      ["run", content.length],
      ["run", content.length],
    ];
    const twice = Buffer.from(JSON.stringify({ ...parsed, sections }));
    expect(read(twice, Buffer.concat([content, content]))).toBeUndefined();
  });

  test.each([
    [["id"], 5],
    [["scope"], undefined],
    [["expiresAt"], "5"],
    [["expiresAt"], null],
    [["ledger"], null],
    [["ledger", "version"], 1],
    [["ledger", "version"], 3],
    [["ledger", "runId"], undefined],
    [["ledger", "source"], 1],
    [["ledger", "language"], "python"],
    [["ledger", "clock"], "1"],
    [["ledger", "limits"], null],
    [["ledger", "limits", "calls"], -1],
    [["ledger", "limits", "calls"], "7"],
    [["ledger", "toolNames"], [1]],
    [["ledger", "toolNames"], "a"],
    [["ledger", "features"], undefined],
    [["ledger", "features"], "yield"],
    [["ledger", "features", "yield"], false],
    [["ledger", "features", "yield"], "yes"],
    [["ledger", "features", "detachedFails"], "wait"],
    [["ledger", "features", "detachedFails"], false],
    [["ledger", "features", "fetch"], false],
    [["ledger", "features", "fetch"], 1],
    [["ledger", "features", "catalog"], true],
    [["ledger", "features", "unheard"], true],
    [["ledger", "features", "tools"], true],
    [["ledger", "calls"], {}],
    [["ledger", "calls", 0], null],
    [["ledger", "calls", 0, "input"], 1],
    [["ledger", "deliveries"], undefined],
    [["ledger", "deliveries", 0, "clock"], null],
    [["ledger", "deliveries", 0, "items"], {}],
    [["ledger", "deliveries", 0, "items", 0, "kind"], "tomorrow"],
    [["ledger", "deliveries", 0, "items", 0, "call"], 3],
    [["ledger", "deliveries", 0, "items", 0, "call"], 2],
    [["ledger", "deliveries", 0, "items", 0, "output"], {}],
    [["ledger", "deliveries", 0, "items", 1, "failure", "code"], 1],
    [["ledger", "deliveries", 0, "items", 1, "failure", "toolCode"], 1],
    [["ledger", "deliveries", 0, "items", 2, "timer"], -3],
    [["ledger", "stopped"], { code: "internal", message: "" }],
    [["seen", "logs"], undefined],
    [["seen"], null],
    [["timers", 0, "delayMs"], null],
    [["timers"], {}],
    [["isRepeated"], false],
    [["pending", 0], [2]],
    [["pending", 0, 0], 3],
    [["pending", 0, 0], 1],
    [
      ["pending", 1],
      [2, null],
    ],
    [["pending"], "x"],
  ])("%j as %j is refused", (path, value) => {
    const changed = withChange(path as string[], value);
    // As another version might print it.
    const json = Buffer.from(JSON.stringify(changed));
    const { id, scope, expiresAt } = changed;
    const header = { version: 1, id, scope, expiresAt, sections: [["run", json.length]] };
    expect(read(Buffer.from(JSON.stringify(header)), json)).toBeUndefined();
  });

  test("a header or content that is not JSON, or JSON of another shape, is refused", () => {
    const { header, content } = toSealable(run);
    fc.assert(
      fc.property(fc.uint8Array(), fc.json(), (junk, json) => {
        expect(parseHeader(junk)).toBeUndefined();
        expect(parseHeader(Buffer.from(json))).toBeUndefined();
        expect(read(header, Buffer.concat([Buffer.from(json), content]))).toBeUndefined();
        const parsed = parseHeader(header);
        if (parsed === undefined) throw new Error("no header");
        const sections = [["run", Buffer.byteLength(json)]] as const;
        expect(atOnce(parseSuspendedRun({ ...parsed, sections }, Buffer.from(json)))).toBeUndefined();
      }),
    );
    expect(parseHeader(Buffer.from(JSON.stringify({ version: 2 })))).toBeUndefined();
  });
});
