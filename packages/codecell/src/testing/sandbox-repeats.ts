/** Tests of a sandbox: a cell is a function of its start and its deliveries, and of nothing else. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { type DrivenCell, type Said, toOutput, toStart } from "./driven-cell.ts";
import { createPlacer, type Placer, settle, untilKept } from "./sandbox-cases.ts";

/** A program that uses all that could differ: time, randomness, the order of outcomes, timers, what it keeps. */
const VARIED = `
  const seen: unknown[] = [Date.now(), Math.random(), crypto.randomUUID()];
  const note = (name: string) => (value: unknown) => {
    seen.push([name, value, Date.now()]);
    console.log(name, seen.length);
  };
  setTimeout(note("timer"), 5);
  await Promise.all([
    tools.now({ n: seen.length }).then(note("now")),
    tools.late({ n: seen.length }).then(note("late")),
    tools.fail({}).catch((error: Error) => note("fail")(error.message)),
    (async () => { for (let n = 0; n < 3; n++) note("loop")(await tools.turn({ n, random: Math.random() })) })(),
  ]);
  return [seen, [...crypto.getRandomValues(new Uint8Array(4))]];
`;

/** A program that says more in its life than goes into one message. */
const WORDY = `
  const text = "\\u0100" + "x".repeat(400_000);
  for (let n = 0; n < 8; n++) {
    setTimeout(() => {}, 100_000 + n);
    console.log(n);
    await tools.now(text + n);
  }
  return "said";
`;

/** All reports joined to one: the first report of a rebuilt cell. */
function together(said: readonly Said[]): Said {
  const last = said.at(-1);
  if (last === undefined) throw new Error("Nothing was said");
  return {
    ...last,
    calls: said.flatMap(({ calls }) => calls),
    timers: said.flatMap(({ timers }) => timers),
    logs: said.flatMap(({ logs }) => logs),
  };
}

/** Drives a cell by choices until it waits for nothing. */
function driven({ place }: Placer, choices: readonly number[]): Promise<DrivenCell> {
  return untilKept(async (moves) => {
    const cell = await place({ ...toStart(VARIED), moves });
    for (let step = 0; await cell.step(choices[step] ?? 0); step++);
    return cell;
  });
}

export function testRepeats(sandbox: () => Sandbox): void {
  const placer = createPlacer(sandbox);

  describe("the same start and deliveries", () => {
    test("give the same reports", async () => {
      const first = await driven(placer, [2, 1, 3, 0, 1]);
      const second = await driven(placer, [2, 1, 3, 0, 1]);
      expect(first.last?.end).toMatchObject({ status: "returned" });
      expect(second.said).toEqual(first.said);
    });

    test("as history bring a cell to where it was, and it goes on as the first cell did", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(fc.nat(9), { maxLength: 8 }), fc.nat(8), async (choices, at) => {
          const original = await driven(placer, choices);
          const past = original.deliveries.slice(0, at);
          const rebuilt = await placer.place({ ...toStart(VARIED), history: past });
          expect(rebuilt.said).toEqual([together(original.said.slice(0, 1 + past.length))]);
          for (const delivery of original.deliveries.slice(at)) await rebuilt.deliver(delivery);
          expect(rebuilt.said.slice(1)).toEqual(original.said.slice(1 + past.length));
          for (const cell of [original, rebuilt]) cell.placement.drop();
        }),
        { numRuns: 25 },
      );
    });

    test("as a long history bring a cell to where it was, whatever was delivered before it said so", async () => {
      const original = await untilKept(async (moves) => {
        const cell = await placer.place({ ...toStart(WORDY), moves });
        for (let call = 0; call < 8; call++) await cell.deliver(toOutput(call, null));
        return cell;
      });
      expect(original.last?.end).toEqual({ status: "returned", result: '"said"' });
      const rebuilt = await untilKept(async (moves) => {
        const history = original.deliveries.slice(0, 6);
        const cell = placer.put({ ...toStart(WORDY), history, moves });
        for (const delivery of original.deliveries.slice(6)) cell.give(delivery);
        await cell.reports(3);
        return cell;
      });
      expect(rebuilt.said).toEqual([together(original.said.slice(0, 7)), ...original.said.slice(7)]);
    });

    test("as a long history say nothing after the cell was dropped at its first word", async () => {
      const history = Array.from({ length: 8 }, (_, call) => toOutput(call, null));
      const heard: string[] = [];
      const { promise, resolve } = Promise.withResolvers<void>();
      const hear = (what: string) => (): void => {
        heard.push(what);
        placement.drop();
        resolve();
      };
      const placement = sandbox().place(
        { ...toStart(WORDY), history },
        { onPiece: hear("piece"), onReport: hear("report"), onLost: hear("loss"), onEvict: () => false },
      );
      await promise;
      await settle(placer, toStart("return 0"));
      expect(heard).toHaveLength(1);
    });

    test("with another seed give other randomness", async () => {
      const start = toStart("return [Math.random(), crypto.randomUUID()]");
      const ends = await Promise.all([start, start, { ...start, seed: "02".repeat(32) }].map(placer.place));
      const [first, second, other] = ends.map((cell) => cell.last?.end);
      expect(second).toEqual(first);
      expect(other).not.toEqual(first);
    });

    test("give the same reports beside many other cells", async () => {
      const alone = await driven(placer, [1, 2]);
      const crowd = await Promise.all(Array.from({ length: 40 }, () => driven(placer, [1, 2])));
      for (const one of crowd) expect(one.said).toEqual(alone.said);
    });
  });
}
