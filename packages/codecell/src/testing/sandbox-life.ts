/** Tests of a sandbox: memory that all cells share, judging values, and disposal. */
import { describe, expect, test } from "vitest";
import type { Case } from "../protocol/judges.ts";
import { DrivenCell, toOutput, toStart } from "./driven-cell.ts";
import { createPlacer, type OpenSandbox, type SandboxTest, settle } from "./sandbox-cases.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { nextTurn } from "../loop/turn.ts";

const MiB = 1024 * 1024;

function toCase(schema: object, value: unknown): Case {
  return { schema: JSON.stringify(schema), direction: "input", value: JSON.stringify(value), root: "input" };
}

/** A program that grows, and then waits. */
function toGrown(bytes: number): string {
  return `const kept = new Uint8Array(${bytes}).fill(1); return [kept.length, await tools.now(1)]`;
}

export function testSandboxLife(
  sandbox: () => Sandbox,
  open: OpenSandbox,
  unless: (title: SandboxTest) => typeof test,
): void {
  describe("memory that all cells share", () => {
    const evicting = "memory that others need is asked for";

    unless(evicting)("is taken from a waiting cell that gives it up, and no loss is reported", async () => {
      await using small = await open({ heapBytes: 48 * MiB });
      const waiting = new DrivenCell(small, toStart(toGrown(24 * MiB), { memoryBytes: 32 * MiB }), true);
      await waiting.reports(1);
      const next = new DrivenCell(small, toStart("return 1", { memoryBytes: 32 * MiB }));
      await next.reports(1);
      expect(next.last?.end).toEqual({ status: "returned", result: "1" });
      waiting.give(toOutput(0, null));
      const later = new DrivenCell(small, toStart("return 2", { memoryBytes: 32 * MiB }));
      await later.reports(1);
      expect(waiting).toMatchObject({ asked: 1, said: { length: 1 }, losses: [] });
    });

    unless(evicting)(
      "stays with a cell that does not give it up, and other cells go on all the same",
      async () => {
        await using small = await open({ heapBytes: 48 * MiB });
        const waiting = new DrivenCell(small, toStart(toGrown(24 * MiB), { memoryBytes: 32 * MiB }));
        await waiting.reports(1);
        const next = new DrivenCell(small, toStart("return 1", { memoryBytes: 32 * MiB }));
        await next.reports(1);
        expect(next.last?.end).toEqual({ status: "returned", result: "1" });
        expect(waiting.asked).toBeGreaterThan(0);
        await waiting.deliver(toOutput(0, 2));
        expect(waiting.last?.end).toEqual({ status: "returned", result: `[${24 * MiB},2]` });
      },
    );
  });

  describe("a value", () => {
    test("is judged by its schema", async () => {
      const judge = sandbox().judgeFor("run", new AbortController().signal);
      expect(await judge(toCase({ type: "string", pattern: "^(a+)+$" }, "aaa"))).toEqual({ kind: "fits" });
      expect(await judge(toCase({ type: "string" }, 1))).toEqual({
        kind: "unfit",
        problems: ["input: must be a string, is a number"],
      });
      expect(await judge(toCase({ $ref: "#/nowhere" }, 1))).toEqual({ kind: "faulty" });
    });

    test("is not judged after its owner has ended", async () => {
      const signal = AbortSignal.abort();
      expect(await sandbox().judgeFor("run", signal)(toCase({}, 1))).toEqual({ kind: "unknown" });
    });

    unless("a value that takes for ever is given up")("that takes for ever is given up", async () => {
      const judge = sandbox().judgeFor("run", new AbortController().signal);
      const stuck = toCase({ pattern: "^(a+)+$" }, `${"a".repeat(60)}!`);
      expect(await judge(stuck)).toEqual({ kind: "unknown" });
      expect(await judge(toCase({ type: "number" }, 1))).toEqual({ kind: "fits" });
    });
  });

  describe("a sandbox that was disposed", () => {
    const placer = createPlacer(sandbox);

    test("reports nothing of the cells that it still had", async () => {
      const closing = await open({});
      const waiting = new DrivenCell(closing, toStart("console.log(await tools.now(1))"));
      await waiting.reports(1);
      waiting.give(toOutput(0, 1));
      const unstarted = new DrivenCell(closing, toStart("return 1"));
      const asked = waiting.placement.snapshot();
      await closing[Symbol.asyncDispose]();
      const heard = waiting.said.length;
      expect(await asked).toSatisfy((bytes) => bytes === undefined || bytes instanceof Uint8Array);
      waiting.give(toOutput(0, 1));
      waiting.placement.drop();
      await settle(placer, toStart("return 0"));
      expect([...waiting.losses, ...unstarted.losses]).toEqual([]);
      expect(waiting.said).toHaveLength(heard);
    });

    test("loses cells that are placed later, and none that was dropped before", async () => {
      const closed = await open({});
      await closed[Symbol.asyncDispose]();
      const late = new DrivenCell(closed, toStart("return 1"));
      const dropped = new DrivenCell(closed, toStart("return 1"));
      dropped.placement.drop();
      expect(late.losses).toEqual([]);
      await late.reports(1);
      for (let turn = 0; turn < 10; turn++) await nextTurn();
      expect(late).toMatchObject({ said: [], losses: ["unavailable"], cause: expect.any(Error) });
      expect(dropped).toMatchObject({ said: [], losses: [] });
    });

    test("can be closed before it was used, and again", async () => {
      const unused = await open({});
      await unused[Symbol.asyncDispose]();
      await unused[Symbol.asyncDispose]();
    });

    test("still judges, since calls of suspended runs may end later", async () => {
      const closed = await open({});
      await closed[Symbol.asyncDispose]();
      const judge = closed.judgeFor("run", new AbortController().signal);
      expect(await judge(toCase({ type: "number" }, 1))).toEqual({ kind: "fits" });
    });
  });
}
