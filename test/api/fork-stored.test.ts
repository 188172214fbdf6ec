/** A fork in a store is a run like any other: its past holds wherever it goes on. */
import { createHost, type Ledger, type ToolSet } from "codecell";
import { createMemoryStore } from "codecell/store";
import { expect, test } from "vitest";
import { host } from "./harness.ts";
import { instead, mortal, until, untilClaimable } from "./store-doubles.ts";

const sealKey = new Uint8Array(32).fill(5);

const source = `
  const price = await tools.price({});
  const paid = await tools.pay({ price });
  const noted = await tools.note({ paid });
  return [price, paid, noted, await tools.look({})];`;

/** `look` answers only if `mayLook` is true. */
function desk(mayLook: boolean): { readonly tools: ToolSet; readonly made: unknown[] } {
  const made: unknown[] = [];
  const tool = (name: string): ToolSet[string] => ({
    execute: (input: unknown) => {
      made.push([name, input]);
      return name;
    },
  });
  const look: ToolSet[string] = {
    readOnly: true,
    execute: () => {
      made.push(["look"]);
      return mayLook ? "seen" : new Promise(() => {});
    },
  };
  return { made, tools: { price: tool("price"), pay: tool("pay"), note: tool("note"), look } };
}

async function recorded(): Promise<Ledger> {
  const handle = host.start({ source, tools: desk(true).tools });
  expect(await handle.result).toMatchObject({ value: ["price", "pay", "note", "seen"] });
  return handle.ledger();
}

test("a fork that is left and taken up sets no timer again that fired in its past [ledger:fork]", async () => {
  await using store = createMemoryStore();
  const waiting = `
    await new Promise((resolve) => setTimeout(resolve, 20));
    await tools.look({});
    await new Promise(() => {});`;
  const run = host.start({ source: waiting, tools: desk(true).tools });
  expect(await run.result).toMatchObject({ failure: { code: "deadlock" } });
  const before = desk(false);
  const first = createHost({ workers: 1, store, sealKey });
  const fork = first.fork(run.ledger(), { atCall: 0, tools: before.tools });
  await until(() => before.made.length === 1);
  await first[Symbol.asyncDispose]();
  await using second = createHost({ workers: 1, store, sealKey });
  const resumed = second.resume({ id: fork.runId, tools: desk(true).tools });
  expect(await resumed.result).toMatchObject({ failure: { code: "deadlock" } });
  const items = resumed.ledger().deliveries.flatMap((delivery) => delivery.items);
  expect(items.filter(({ kind }) => kind === "timer").length).toBe(1);
});

const NOTED = ["note", { paid: "given" }];

test("a fork whose process dies at once sees its given outcome, and makes later calls once [ledger:fork]", async () => {
  await using store = createMemoryStore();
  const { store: dying, die } = mortal(store);
  const stillborn = instead(dying, {
    put: async (run, lease) => {
      const claim = await store.put(run, lease);
      die();
      return claim;
    },
  });
  const first = createHost({ workers: 1, store: stillborn, sealKey, leaseMs: 50 });
  const before = desk(false);
  const fork = first.fork(await recorded(), { atCall: 1, outcome: { output: "given" }, tools: before.tools });
  await untilClaimable(store);
  await using second = createHost({ workers: 1, store, sealKey });
  const after = desk(true);
  const resumed = second.resume({ id: fork.runId, tools: after.tools });
  expect(await resumed.result).toMatchObject({ value: ["price", "given", "note", "seen"] });
  expect(before.made).toEqual([]);
  expect(after.made).toEqual([NOTED, ["look"]]);
  expect(await store.list()).toEqual([]);
});

test("a fork whose process dies later goes on after what it did [ledger:fork]", async () => {
  await using store = createMemoryStore();
  const { store: dying, die } = mortal(store);
  const first = createHost({ workers: 1, store: dying, sealKey, leaseMs: 50 });
  const before = desk(false);
  const outcome = { error: { name: "Broke", message: "given" } };
  const caught = source.replace(
    "await tools.pay({ price })",
    "await tools.pay({ price }).catch((e) => e.message)",
  );
  const fork = first.fork(await recorded(), { atCall: 1, outcome, source: caught, tools: before.tools });
  await until(() => before.made.length === 2);
  die();
  await untilClaimable(store);
  await using second = createHost({ workers: 1, store, sealKey });
  const after = desk(true);
  const resumed = second.resume({ id: fork.runId, tools: after.tools });
  expect(await resumed.result).toMatchObject({ value: ["price", "given", "note", "seen"] });
  expect(before.made).toEqual([NOTED, ["look"]]);
  expect(after.made).toEqual([["look"]]);
});
