import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Json } from "../../contract/value.ts";
import { Trajectory, type TrajectoryExport, type TrajectoryOptions } from "./trajectory.ts";
import type { TrajectoryRecord } from "./trajectory-record.ts";

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** The trajectory's clock goes on by a second with every look. */
function create(options: TrajectoryOptions = {}): Trajectory {
  let time = Date.UTC(2030, 0, 1);
  return new Trajectory({ now: () => (time += 1000), ...options });
}

const call = (callId: string, input: Json = {}, parentToolCallId = "tc1") => ({
  parentToolCallId,
  callId,
  tool: "core:core:echo",
  input,
});

describe("the trajectory", () => {
  test("one record per nested call, under the exec that started its program [exec-wait:96]", async () => {
    const trajectory = create();
    const exec = trajectory.begin("exec", "tc1", '{"code":"1"}');
    trajectory.startCall(call("run:0", { a: 1 }));
    trajectory.startCall(call("run:1"));
    trajectory.startCall(call("run:2"));
    trajectory.endCall("run:0", { status: "completed", result: { ok: true } });
    trajectory.holdCall("run:2");
    trajectory.end(exec, "waiting", '{"status":"waiting"}');
    const wait = trajectory.begin("wait", "tc2", '{"runId":"r"}');
    trajectory.endCall("run:1", {
      status: "failed",
      error: { code: "tool_failed", name: "Error", message: "nope" },
    });
    trajectory.end(wait, "failed", '{"status":"failed"}');
    trajectory.abortCalls(["run:0", "run:1", "run:2"]);
    expect(await trajectory.export()).toEqual({
      version: 1,
      entries: [
        {
          type: "entry",
          toolCallId: "tc1",
          name: "exec",
          index: 0,
          startedAt: "2030-01-01T00:00:01.000Z",
          endedAt: "2030-01-01T00:00:06.000Z",
          status: "waiting",
          input: '{"code":"1"}',
          result: '{"status":"waiting"}',
        },
        expect.objectContaining({ toolCallId: "tc2", name: "wait", index: 1, status: "failed" }),
      ],
      calls: [
        {
          type: "call",
          parentToolCallId: "tc1",
          callId: "run:0",
          tool: "core:core:echo",
          index: 0,
          startedAt: "2030-01-01T00:00:02.000Z",
          endedAt: "2030-01-01T00:00:05.000Z",
          status: "completed",
          input: { a: 1 },
          result: { ok: true },
        },
        expect.objectContaining({
          parentToolCallId: "tc1",
          index: 1,
          status: "failed",
          error: { code: "tool_failed", name: "Error", message: "nope" },
        }),
        expect.objectContaining({ parentToolCallId: "tc1", index: 2, status: "aborted" }),
      ],
      counts: { entries: 2, calls: 3 },
      omitted: { entries: 0, calls: 0 },
    });
  });

  test("open calls are running or wait for a decision, and a call starts and ends once", async () => {
    const trajectory = create();
    for (const id of ["a", "b", "a"]) trajectory.startCall(call(id));
    trajectory.holdCall("b");
    expect((await trajectory.export()).calls.map(({ status }) => status)).toEqual(["running", "waiting"]);
    trajectory.endCall("a", { status: "completed", result: 1 });
    trajectory.endCall("a", { status: "aborted" });
    trajectory.holdCall("a");
    trajectory.endCall("unknown", { status: "aborted" });
    expect((await trajectory.export()).calls[0]).toMatchObject({ status: "completed", result: 1 });
  });

  test("entries give back every text byte for byte [exec-wait:95]", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }))),
        async (texts) => {
          const trajectory = create();
          for (const [input, result] of texts)
            trajectory.end(trajectory.begin("exec", "same id", input), "completed", result);
          const exported = JSON.parse(JSON.stringify(await trajectory.export())) as TrajectoryExport;
          expect(exported.entries.map(({ input, result }) => [input, result])).toEqual(texts);
        },
      ),
    );
  });

  test("values are copies, and large ones are cut to valid JSON", async () => {
    const trajectory = create({ maxValueBytes: 1000 });
    const input = { list: [1] };
    trajectory.startCall(call("a", input));
    input.list.push(2);
    const rows = Array.from({ length: 1000 }, (_, id) => ({ id }));
    trajectory.endCall("a", { status: "completed", result: rows });
    const [record] = (await trajectory.export()).calls;
    expect(record?.input).toEqual({ list: [1] });
    expect(record?.result).toMatchObject({ truncated: true, shape: "{ id: number; }[]" });
    expect(bytesOf(record?.result)).toBeLessThanOrEqual(1000);
  });

  test("a value that is not JSON is replaced by words or by its JSON form", async () => {
    const trajectory = create();
    const loop: Record<string, unknown> = {};
    loop["loop"] = loop;
    trajectory.startCall(call("a", loop as Json));
    trajectory.endCall("a", { status: "completed", result: undefined as unknown as Json });
    expect((await trajectory.export()).calls[0]).toMatchObject({ input: "… not JSON", result: null });
    const dates = Array.from({ length: 100 }, () => new Date(0)) as unknown as Json;
    const small = create({ maxValueBytes: 256 });
    small.startCall(call("a", dates));
    const [record] = (await small.export()).calls;
    expect(bytesOf(record?.input)).toBeLessThanOrEqual(256);
    expect(record?.input).toMatchObject({ prefix: expect.arrayContaining(["1970-01-01T00:00:00.000Z"]) });
  });

  test("never exceeds maxBytes, and counts every call and entry", async () => {
    const action = fc.record({
      kind: fc.constantFrom("begin", "end", "start", "complete", "fail", "abort"),
      size: fc.oneof(fc.nat(20), fc.nat(5000)),
      of: fc.nat(30),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(action, { maxLength: 120 }),
        fc.integer({ min: 30_000, max: 80_000 }),
        async (actions, maxBytes) => {
          const trajectory = create({ maxBytes, maxValueBytes: 2000, maxRecords: 50 });
          let entries = 0;
          const started = new Set<string>();
          for (const { kind, size, of } of actions) {
            const id = `c${of}`;
            const text = "ü\n".repeat(size);
            if (kind === "begin" && entries < 20) entries = trajectory.begin("exec", id, text) + 1;
            else if (kind === "end") trajectory.end(of, "completed", text);
            else if (kind === "start") {
              started.add(id);
              trajectory.startCall(call(id, { text }));
            } else if (kind === "complete") trajectory.endCall(id, { status: "completed", result: [text] });
            else if (kind === "fail") trajectory.endCall(id, { status: "failed", error: { message: text } });
            else trajectory.endCall(id, { status: "aborted" });
            const exported = await trajectory.export();
            expect(bytesOf(exported)).toBeLessThanOrEqual(maxBytes);
            expect(exported.calls.length + exported.omitted.calls).toBe(exported.counts.calls);
            expect(exported.entries.length + exported.omitted.entries).toBe(exported.counts.entries);
            expect(exported.counts.entries).toBe(entries);
          }
        },
      ),
    );
  });

  test("the oldest results make room first, then inputs, then texts, then records", async () => {
    const trajectory = create({ maxBytes: 20_000, maxValueBytes: 4000 });
    trajectory.end(trajectory.begin("exec", "tc1", "source"), "completed", "result");
    const add = (id: number): void => {
      trajectory.startCall(call(`c${id}`, "i".repeat(2000)));
      trajectory.endCall(`c${id}`, { status: "completed", result: "r".repeat(3000) });
    };
    for (let id = 0; id < 5; id++) add(id);
    const cut = (value: unknown): boolean => typeof value === "object";
    let { calls, entries } = await trajectory.export();
    expect(calls.map(({ result }) => cut(result))).toEqual([true, true, true, false, false]);
    expect(calls.some(({ input }) => cut(input))).toBe(false);
    expect(calls[0]?.result).toMatchObject({ truncated: true, omittedBytes: expect.any(Number) });
    for (let id = 5; id < 10; id++) add(id);
    ({ calls, entries } = await trajectory.export());
    expect(calls.every(({ result }) => cut(result))).toBe(true);
    expect(cut(calls[0]?.input)).toBe(true);
    expect(entries[0]).toMatchObject({ input: "source", result: "result" });
    for (let id = 10; id < 60; id++) add(id);
    const { entries: last, omitted, counts } = await trajectory.export();
    expect(last[0]).toMatchObject({ status: "completed", omittedBytes: 12 });
    expect(last[0]?.input).toBeUndefined();
    expect(omitted.calls).toBeGreaterThan(20);
    expect(counts.calls).toBe(60);
  });

  test("values of many parts count for more than their text, since they take more memory", async () => {
    const keptWhole = async (result: Json): Promise<number> => {
      const trajectory = create({ maxBytes: 100_000, maxValueBytes: 4000 });
      for (let id = 0; id < 20; id++) {
        trajectory.startCall(call(`c${id}`));
        trajectory.endCall(`c${id}`, { status: "completed", result });
      }
      const { calls } = await trajectory.export();
      return calls.filter((one) => Array.isArray(one.result) || typeof one.result === "string").length;
    };
    expect(await keptWhole("r".repeat(3000))).toBe(20);
    expect(await keptWhole(Array.from({ length: 1000 }, () => []))).toBeLessThan(5);
  });

  test("an export shows what was there when it was asked for, whatever happens meanwhile", async () => {
    const trajectory = create();
    const text = "r".repeat(10_000);
    for (let id = 0; id < 20; id++) {
      trajectory.startCall(call(`c${id}`));
      trajectory.endCall(`c${id}`, { status: "completed", result: text });
    }
    trajectory.startCall(call("open"));
    const exporting = trajectory.export();
    trajectory.endCall("open", { status: "aborted" });
    trajectory.startCall(call("late"));
    const { calls, counts } = await exporting;
    expect(calls).toHaveLength(21);
    expect(counts.calls).toBe(21);
    expect(calls.at(-1)).toMatchObject({ callId: "open", status: "running" });
  });

  test("the result of an old call is cut if later calls have used up the bytes", async () => {
    const trajectory = create({ maxBytes: 10_000, maxValueBytes: 4000 });
    trajectory.startCall(call("old"));
    for (let id = 0; id < 5; id++) {
      trajectory.startCall(call(`c${id}`));
      trajectory.endCall(`c${id}`, { status: "completed", result: "r".repeat(3000) });
    }
    trajectory.endCall("old", { status: "completed", result: "r".repeat(3000) });
    expect((await trajectory.export()).calls[0]).toMatchObject({
      callId: "old",
      result: { truncated: true },
    });
  });
});

describe("redaction on export", () => {
  const filled = (redact: (record: TrajectoryRecord) => unknown): Trajectory => {
    const trajectory = create({ redact: redact as (record: TrajectoryRecord) => TrajectoryRecord });
    trajectory.end(trajectory.begin("exec", "tc1", "S3CRET source"), "completed", "S3CRET result");
    trajectory.startCall(call("a", { key: "S3CRET" }));
    trajectory.endCall("a", { status: "completed", result: "S3CRET" });
    trajectory.startCall(call("b", { key: "S3CRET" }));
    trajectory.endCall("b", { status: "failed", error: { message: "S3CRET" } });
    return trajectory;
  };

  test("changes values but no ids, and marks the record as redacted", async () => {
    const exported = await filled((record) => ({
      ...(JSON.parse(JSON.stringify(record).replaceAll("S3CRET", "***")) as TrajectoryRecord),
      callId: "forged",
      index: 99,
    })).export();
    expect(JSON.stringify(exported)).not.toContain("S3CRET");
    expect(exported.calls).toMatchObject([
      { callId: "a", index: 0, input: { key: "***" }, result: "***", redacted: true },
      { callId: "b", index: 1, error: { message: "***" }, redacted: true },
    ]);
    expect(exported.entries[0]).toMatchObject({ input: "*** source", redacted: true });
  });

  test("does not mark a record that it leaves unchanged", async () => {
    const exported = await filled((record) => record).export();
    expect(exported).toEqual({ ...(await filled((record) => record).export()) });
    expect(JSON.stringify(exported)).not.toContain("redacted");
    expect(exported.calls[0]).toMatchObject({ result: "S3CRET" });
  });

  test.each([
    [
      "throws",
      () => {
        throw new Error("S3CRET");
      },
    ],
    ["gives nothing", () => undefined],
    ["gives a text", () => "S3CRET"],
    [
      "is asynchronous",
      async () => {
        throw new Error("S3CRET");
      },
    ],
    ["gives what is not JSON", () => ({ input: 1n })],
    [
      "changes its copy and throws",
      (record: TrajectoryRecord) => {
        (record as { index: number }).index = 7;
        throw new Error("x");
      },
    ],
  ])("a hook that %s leaves the values out, never the raw ones", async (_, redact) => {
    const exported = await filled(redact).export();
    await new Promise((resolve) => setImmediate(resolve));
    expect(JSON.stringify(exported)).not.toContain("S3CRET");
    expect(exported.calls).toMatchObject([
      { callId: "a", index: 0, status: "completed", withheld: true },
      { callId: "b", index: 1, status: "failed", withheld: true },
    ]);
    expect(exported.entries).toMatchObject([{ toolCallId: "tc1", withheld: true }]);
  });

  test("a text that redaction replaced by another kind of value is left out", async () => {
    const exported = await filled((record) => ({ ...record, input: { a: 1 } })).export();
    expect(exported.entries[0]?.input).toBeUndefined();
    expect(exported.entries[0]).toMatchObject({ result: "S3CRET result", redacted: true });
  });
});
