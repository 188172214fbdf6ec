/** Runs that are suspended more than once, into tokens and into a store: who asks again, and what stays open. */
import { createHost, type Host, type ToolSet } from "codecell";
import { createMemoryStore } from "codecell/store";
import { afterAll, describe, expect, test } from "vitest";
import { suspensionOf } from "./suspension-of.ts";

const sealKey = new Uint8Array(32).fill(11);

describe.each(["tokens", "a store"])("over %s", (where) => {
  const store = createMemoryStore();
  // Each host goes on where the other stopped.
  const hosts = [1, 2].map(() =>
    createHost({ workers: 1, sealKey, ...(where === "tokens" ? {} : { store }) }),
  ) as [Host, Host];
  afterAll(async () => {
    await Promise.all(hosts.map((host) => host[Symbol.asyncDispose]()));
    expect(await store.list()).toEqual([]);
  });

  test("a tool that asks again is pending again, with its new question and the same id [suspend:resume]", async () => {
    const resolutions: unknown[] = [];
    const tools: ToolSet = {
      pay: {
        execute: (_input, call) => {
          resolutions.push(call.resolution);
          if (call.resolution === undefined) call.suspend("how much?");
          if (typeof call.resolution === "number") call.suspend(`really ${call.resolution}?`);
          return call.resolution;
        },
      },
    };
    const [one, other] = hosts;
    const first = suspensionOf(await one.start({ source: "return await tools.pay({})", tools }).result);
    const callId = first.pending[0]?.callId ?? "";
    const answer = (resolution: string | number) => ({ [callId]: { resolution } });
    const second = suspensionOf(
      await other.resume({ token: first.token, resolutions: answer(5), tools }).result,
    );
    expect(second.pending).toEqual([{ callId, tool: "pay", input: {}, payload: "really 5?" }]);
    expect(second.token).not.toBe(first.token);
    // Nobody answers, so the tool is not called a third time.
    const third = suspensionOf(await one.resume({ token: second.token, tools }).result);
    expect(third.pending).toEqual(second.pending);
    const last = await other.resume({ token: third.token, resolutions: answer("yes"), tools }).result;
    expect(last).toMatchObject({ status: "completed", value: "yes" });
    expect(resolutions).toEqual([undefined, 5, "yes"]);
  });

  test.each([
    ["the first", [0, 1, 2, 3]],
    ["the last", [3, 2, 1, 0]],
    ["one in the middle", [2, 0, 3, 1]],
  ])(
    "calls that are decided one by one, beginning with %s, leave the others their ids and questions [suspend:resume]",
    async (_name, order) => {
      const paid: unknown[] = [];
      const tools: ToolSet = {
        quick: { execute: () => 0 },
        pay: {
          execute: (input: number, call) => {
            if (call.resolution === undefined) call.suspend({ pay: input });
            paid.push([input, call.callId, call.resolution]);
            return call.resolution;
          },
        },
      };
      // One call before and one between, so that ids differ from places in the list of pending calls.
      const source = `
      await tools.quick({});
      const pays = [tools.pay(0), tools.pay(1)];
      await tools.quick({});
      return await Promise.all([...pays, tools.pay(2), tools.pay(3)]);`;
      const { runId, ...started } = await hosts[0].start({ source, tools }).result;
      let suspension = suspensionOf({ runId, ...started });
      const asked = [1, 2, 4, 5].map((index, input) => ({
        callId: `${runId}:${index}`,
        tool: "pay",
        input,
        payload: { pay: input },
      }));
      expect(suspension.pending).toEqual(asked);
      for (const [step, chosen] of order.entries()) {
        const callId = asked[chosen]?.callId ?? "";
        const resolutions = { [callId]: { resolution: `for ${chosen}` } };
        const resumed = (hosts[step % 2] ?? hosts[0]).resume({ token: suspension.token, resolutions, tools });
        const result = await resumed.result;
        expect(paid.at(-1)).toEqual([chosen, callId, `for ${chosen}`]);
        if (step === 3) {
          expect(result).toMatchObject({ value: ["for 0", "for 1", "for 2", "for 3"] });
          break;
        }
        suspension = suspensionOf(result);
        const left = asked.filter((_, one) => !order.slice(0, step + 1).includes(one));
        expect(suspension.pending.toSorted((a, b) => (a.callId < b.callId ? -1 : 1))).toEqual(left);
      }
      expect(paid).toHaveLength(4);
    },
  );
});
