import { expect, test } from "vitest";
import { sharedHeapBudget } from "./heap-budget.ts";
import { NodePool } from "./node-pool.ts";
import { resolveLimits } from "../contract/limits.ts";
import { toCellLimits } from "../run/cell-limits.ts";

test("cells for which no thread can be started are lost at once, all of them", async () => {
  // What Node.js refuses to start, as it does where a process may have no more threads.
  await using pool = new NodePool({
    workers: 1,
    maxWorkers: 2,
    computeWorkers: 1,
    workerUrl: new URL("http://localhost/"),
    budget: sharedHeapBudget(),
  });
  const start = {
    source: "return 1",
    language: "javascript",
    seed: "",
    clock: 0,
    toolNames: "[]",
    limits: toCellLimits(resolveLimits({})),
    history: [],
  } as const;
  const losses = await Promise.all(
    [1, 2, 3].map(
      () =>
        new Promise((resolve) => {
          pool.place(start, { onReport: resolve, onLost: (...loss) => resolve(loss), onEvict: () => false });
        }),
    ),
  );
  const loss = ["unavailable", expect.objectContaining({ code: "ERR_INVALID_URL_SCHEME" })];
  expect(losses).toEqual([loss, loss, loss]);
});
