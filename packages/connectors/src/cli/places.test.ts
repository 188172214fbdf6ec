import { describe, expect, test } from "vitest";
import { Places } from "./places.ts";

const nobody = new AbortController().signal;

describe("places", () => {
  test("are given in order, and again when they are left, once", async () => {
    const places = new Places(1);
    const entered: number[] = [];
    const leave = await places.enter(nobody);
    const second = places.enter(nobody).then((go) => (entered.push(2), go));
    const third = places.enter(nobody).then((go) => (entered.push(3), go));
    leave();
    leave();
    const leaveSecond = await second;
    expect(entered).toEqual([2]);
    leaveSecond();
    (await third)();
    (await places.enter(nobody))();
  });

  test("are not waited for in vain", async () => {
    const places = new Places(1);
    const leave = await places.enter(nobody);
    const caller = new AbortController();
    const waiting = places.enter(caller.signal);
    caller.abort(new Error("gone"));
    await expect(waiting).rejects.toThrow("gone");
    await expect(places.enter(caller.signal)).rejects.toThrow("gone");
    leave();
    (await places.enter(nobody))();
  });
});
