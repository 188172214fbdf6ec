/** Tests of createStore with drivers that behave as databases rarely do. */
import { expect, test } from "vitest";
import { createStore } from "./create-store.ts";
import type { Driver, RunRow } from "./driver.ts";

const ROW: RunRow = {
  id: "a",
  scope: "",
  createdAt: 1,
  changedAt: 1,
  expiresAt: Number.MAX_SAFE_INTEGER,
  facts: "",
  ended: undefined,
  fence: 1,
  owner: undefined,
  leaseUntil: 0,
};

const refuse = (): Promise<never> => Promise.reject(new Error("not asked for"));
const DRIVER: Driver = {
  put: refuse,
  claim: refuse,
  change: refuse,
  post: refuse,
  read: refuse,
  list: refuse,
  expire: refuse,
  putNote: refuse,
  getNote: refuse,
};

test("a run that ends while runs are listed is listed once, as it ended", async () => {
  let isOver = false;
  const store = createStore({
    ...DRIVER,
    list: async ({ isEnded }) => {
      const rows =
        isEnded === isOver ? [{ ...ROW, ended: isEnded ? ("completed" as const) : undefined }] : [];
      await Promise.resolve();
      // The run ends right after the live runs were listed.
      isOver = true;
      return { rows, now: 2 };
    },
  });
  const listed = await store.list({ status: ["running", "suspended", "completed", "failed"] });
  expect(listed).toMatchObject([{ id: "a", status: "completed" }]);
});

test("a claim gives up on a driver whose reads never agree with its claims", async () => {
  let looks = 0;
  const store = createStore({
    ...DRIVER,
    read: async () => {
      looks++;
      return { row: ROW, now: 2 };
    },
    claim: async () => undefined,
  });
  await expect(store.claim("a", { owner: "me", ms: 1000 })).rejects.toMatchObject({ code: "unavailable" });
  expect(looks).toBeGreaterThan(1);
});
