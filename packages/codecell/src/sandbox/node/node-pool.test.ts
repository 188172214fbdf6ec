import { expect, test } from "vitest";
import { bundleUrl } from "../../../../../scripts/bundle.ts";
import { liveWorkers } from "../../../../../test/property/worker-threads.ts";
import { DrivenCell, toOutput, toStart } from "../../testing/driven-cell.ts";
import { testSandbox } from "../../testing/sandbox-suite.ts";
import { HeapBudget, sharedHeapBudget } from "./heap-budget.ts";
import { NodePool } from "./node-pool.ts";
import { defaultWorkerUrl } from "./worker-script.ts";

testSandbox("pool of threads", ({ heapBytes }) => {
  const budget = heapBytes === undefined ? sharedHeapBudget() : new HeapBudget(() => heapBytes);
  const workerUrl = bundleUrl("worker");
  return new NodePool({ workers: 2, maxWorkers: 4, computeWorkers: 1, workerUrl, budget });
});

/** How a program ends; it is placed again whenever it is lost for another cell's sake. */
function endOf(pool: NodePool, source: string): Promise<unknown> {
  return new Promise((resolve) => {
    let moves = 0;
    const place = (): void => {
      pool.place(
        { ...toStart(source, { cpuTimeMs: 2000 }), moves },
        {
          onReport: ({ end }) => resolve(end?.status),
          onPiece: () => {},
          onLost: (loss) => {
            if (loss === "computes") moves++;
            if (loss === "overran" || loss === "unavailable") resolve(loss);
            else place();
          },
          onEvict: () => false,
        },
      );
    };
    place();
  });
}

test("with a single worker, native loops and the cells behind them all get their turns", async () => {
  await using pool = new NodePool({
    workers: 1,
    maxWorkers: 1,
    computeWorkers: 0,
    workerUrl: defaultWorkerUrl(),
    budget: sharedHeapBudget(),
  });
  const native = "return Array(2 ** 32 - 1).join('').length";
  const ends = await Promise.all(
    [native, "return 1", "return 2", native, "return 3"].map((one) => endOf(pool, one)),
  );
  expect(ends).toEqual(["overran", "returned", "returned", "overran", "returned"]);
}, 120_000);

test("a thread that says anything of a cell before the next piece was asked for is ended", async () => {
  await using pool = new NodePool({
    workers: 1,
    maxWorkers: 1,
    computeWorkers: 0,
    workerUrl: bundleUrl("worker"),
    budget: sharedHeapBudget(),
  });
  // The thread exists once it has answered.
  await new DrivenCell(pool, toStart("return 1")).reports(1);
  const [thread] = liveWorkers();
  const cell = new DrivenCell(pool, { ...toStart("await tools.now(); return 2"), history: [toOutput(0, 1)] });
  const piece = { kind: "piece", cell: 2, calls: [{ tool: "now", input: "null" }], timers: [] };
  const report = { cell: 2, calls: [], timers: [], logs: [], logsDropped: 0, cpuTimeMs: 0, unhandled: null };
  const forged = { ...report, end: { status: "returned", result: "3" }, isOver: true };
  thread?.emit("message", [piece, forged]);
  await cell.reports(1);
  expect({ losses: cell.losses, said: cell.said }).toEqual({ losses: ["crashed"], said: [] });
});

test("if no thread can be started, all waiting cells are lost at once", async () => {
  // Node.js refuses to start this URL, as it refuses a thread when a process may have no more.
  await using pool = new NodePool({
    workers: 1,
    maxWorkers: 2,
    computeWorkers: 1,
    workerUrl: new URL("http://localhost/"),
    budget: sharedHeapBudget(),
  });
  const losses = await Promise.all(
    [1, 2, 3].map(
      () =>
        new Promise((resolve) => {
          pool.place(toStart("return 1"), {
            onReport: resolve,
            onPiece: () => {},
            onLost: (...loss) => resolve(loss),
            onEvict: () => false,
          });
        }),
    ),
  );
  const loss = ["unavailable", expect.objectContaining({ code: "ERR_INVALID_URL_SCHEME" })];
  expect(losses).toEqual([loss, loss, loss]);
});
