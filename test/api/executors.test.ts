/** Calls that go on in the process where their run was suspended: what the next process keeps of them. */
import { createHost, type Host, type RunHandle, type ToolSet } from "codecell";
import { createMemoryStore, type Store, StoreError } from "codecell/store";
import { expect, test } from "vitest";
import { instead, mortal, until } from "./store-doubles.ts";

const sealKey = new Uint8Array(32).fill(19);

function open(store: Store): Host {
  return createHost({ workers: 1, store, sealKey, leaseMs: 200 });
}

/** `pay` asks first. After the first answer it ends when told to. `ask` keeps the run waiting. */
function desk(): {
  readonly tools: ToolSet;
  readonly answers: unknown[];
  readonly finish: (paid: string) => void;
} {
  const answers: unknown[] = [];
  const slow = Promise.withResolvers<string>();
  return {
    answers,
    finish: slow.resolve,
    tools: {
      ask: { execute: (_input, call) => call.resolution ?? call.suspend("go on?") },
      pay: {
        idempotent: true,
        execute: (_input, call) => {
          answers.push(call.resolution);
          if (call.resolution === undefined) call.suspend("pay?");
          return answers.length === 2 ? slow.promise : "paid again";
        },
      },
    },
  };
}

const SOURCE = "return await Promise.all([tools.ask({}), tools.pay({})])";

/** A run that is suspended while the approved call of `pay` goes on in the first host. */
async function approved(host: Host, tools: ToolSet): Promise<string> {
  const { runId: id } = await host.start({ source: SOURCE, tools }).result;
  const resolutions = { [`${id}:1`]: { resolution: "yes" } };
  expect(await host.resume({ id, resolutions, tools }).result).toMatchObject({ status: "suspended" });
  return id;
}

function decide(host: Host, id: string, tools: ToolSet): RunHandle {
  return host.resume({ id, resolutions: { [`${id}:0`]: { resolution: "go" } }, tools });
}

test("a call that is made again after its executor died still has its decision [store:executor]", async () => {
  await using store = createMemoryStore();
  const { tools, answers } = desk();
  const { store: dying, die } = mortal(store);
  const id = await approved(open(dying), tools);
  die();
  await using second = open(store);
  expect(await decide(second, id, tools).result).toMatchObject({ value: ["go", "paid again"] });
  expect(answers).toEqual([undefined, "yes", "yes"]);
});

test("it has its decision also when the run was suspended again meanwhile [store:executor]", async () => {
  await using store = createMemoryStore();
  const { tools, answers } = desk();
  const { store: dying, die } = mortal(store);
  const id = await approved(open(dying), tools);
  await using second = open(store);
  expect(await second.resume({ id, tools }).result).toMatchObject({ status: "suspended" });
  die();
  expect(await decide(second, id, tools).result).toMatchObject({ value: ["go", "paid again"] });
  expect(answers).toEqual([undefined, "yes", "yes"]);
});

test("an outcome that comes while the run is resumed and suspended again is kept [store:executor]", async () => {
  await using store = createMemoryStore();
  const { tools, answers, finish } = desk();
  await using first = open(store);
  const id = await approved(first, tools);
  // Posted while the next state is being written, by a process that does not know of this outcome.
  const late = instead(store, {
    release: async (claim, next) => {
      finish("paid");
      await until(async () => (await store.outcomes(id))?.has(1) === true);
      await store.release(claim, next);
    },
  });
  await using second = open(late);
  expect(await second.resume({ id, tools }).result).toMatchObject({ status: "suspended" });
  expect(await decide(first, id, tools).result).toMatchObject({ value: ["go", "paid"] });
  expect(answers).toEqual([undefined, "yes"]);
});

/** A store that refuses the first watch, and the number of its watchers. */
function watching(store: Store): { readonly store: Store; readonly watchers: () => number } {
  let refusals = 0;
  let watchers = 0;
  const watch: Store["watch"] = async (id, onChange) => {
    if (refusals++ === 0) throw new StoreError("unavailable", "Locked");
    const unwatch = await store.watch(id, onChange);
    watchers++;
    return () => {
      watchers--;
      unwatch();
    };
  };
  return { store: instead(store, { watch }), watchers: () => watchers };
}

test("a run waits for an executor although the store refused the first watch [store:executor]", async () => {
  await using store = createMemoryStore();
  const { tools, finish } = desk();
  await using first = open(store);
  const id = await approved(first, tools);
  const { store: faltering, watchers } = watching(store);
  await using second = open(faltering);
  const resumed = decide(second, id, tools);
  await until(() => watchers() === 1);
  finish("paid");
  expect(await resumed.result).toMatchObject({ value: ["go", "paid"] });
});

test("nobody waits for an executor once the run has ended here [store:executor]", async () => {
  await using store = createMemoryStore();
  const { tools } = desk();
  await using first = open(store);
  const id = await approved(first, tools);
  const { store: watched, watchers } = watching(store);
  await using second = open(watched);
  const wrong = second.resume({ id, tools, resolutions: { "x:0": { resolution: 1 } } });
  expect(await wrong.result).toMatchObject({
    failure: { code: "resume_invalid", message: expect.stringContaining("no call") },
  });
  expect(await second.resume({ id, tools }).result).toMatchObject({ status: "suspended" });
  await until(() => watchers() === 0);
});
