import { expect, test } from "vitest";
import { SequentialLock } from "./sequential-lock.ts";

test("a call that is aborted at the moment of its turn does not hold up the others for good", async () => {
  for (let depth = 0; depth < 20; depth++) {
    const lock = new SequentialLock(1);
    const first = Promise.withResolvers<void>();
    const stop = new AbortController();
    const before = lock.execute(new AbortController().signal, () => first.promise);
    // A tool that ignores its abort.
    const ignoring = lock.execute(stop.signal, () => new Promise<never>(() => {}));
    ignoring.catch(() => {});
    first.resolve();
    let moment = before;
    for (let left = depth; left > 0; left--) moment = moment.then(() => {});
    void moment.then(() => stop.abort());
    expect(await lock.execute(new AbortController().signal, async () => depth)).toBe(depth);
  }
});
