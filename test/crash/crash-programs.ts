/**
 * The programs of crash tests: those of the property tests, changed to tolerate calls with an unknown outcome.
 *
 * - Their return value does not depend on unknown outcomes: such a call counts as answered, and the report names it.
 * - They end with a report through a tool, so that what a process knew is not lost when it dies.
 * - Some begin with a call so large that a snapshot pays. Such runs are suspended by a last entry of their journal.
 */
import fc from "fast-check";
import { stableProgram } from "../property/programs.ts";

/** Calls go through `safely`, which numbers them and gives a value in place of an unknown outcome. */
const prologue = (program: number): string => `
const done: number[] = [];
const unknown: number[] = [];
let made = 0;
const safely: any = Object.fromEntries(
  ["now", "wait", "micro", "turn", "late", "fail", "ask", "travel", "study", "missing"].map((name) => [name, (input: any) => {
    const n = made++;
    return (tools as any)[name]({ ...input, program: ${program}, n }).then(
      (output: any) => { done.push(n); return output; },
      (error: any) => {
        if (error.code !== "outcome_unknown") { if (name !== "missing") done.push(n); throw error; }
        unknown.push(n);
        if (name === "missing") throw Object.assign(new Error(), { code: "unknown_tool" });
        return { v: input.v };
      },
    );
  }]),
);
`;

const ask = fc.nat(99).map((v) => `out.push(await safely.ask({ v: ${v} }));`);
const asks = fc
  .nat(99)
  .map(
    (v) =>
      `out.push(await Promise.all([safely.ask({ v: ${v} }), safely.now({ v: 1 }), safely.ask({ v: 2 })]));`,
  );

const asksMeanwhile = fc
  .nat(99)
  .map(
    (v) =>
      `out.push(await Promise.all([safely.travel({ v: 1 }), safely.study({ v: 2 }), safely.ask({ v: ${v} })]));`,
  );
const approval = fc.oneof(
  { arbitrary: ask, weight: 2 },
  { arbitrary: asks, weight: 2 },
  { arbitrary: asksMeanwhile, weight: 1 },
);

const LARGE = `await safely.now({ v: 0, bulk: "x".repeat(17_000) });\n`;

/** Gives the source of one program for its number. */
export const crashProgram: fc.Arbitrary<(program: number) => string> = fc
  .tuple(stableProgram, fc.array(approval, { maxLength: 2 }), fc.boolean())
  .map(([text, approvals, isLarge]) => (program: number) => {
    const report = `await tools.report({ program: ${program}, n: -1, report: { out, done, unknown } });`;
    const body = text
      .replaceAll("tools.", "safely.")
      // Tools that durably write down every call make the others wait in line, for longer than the slow tool takes.
      // So the slow tool may win a race, and the outcome must not depend on who wins.
      .replaceAll(
        /late\(\{ v: "late" \}\), safely\.now\(\{ v: (\d+) \}\)/gu,
        "late({ v: $1 }), safely.now({ v: $1 })",
      )
      // Timers go on while nobody holds the run. A timer that must not fire waits longer than any process takes to
      // start.
      .replaceAll("500)", "900_000)")
      .replace(/return out;$/u, () => [...approvals, report, "return out;"].join("\n"));
    return prologue(program) + (isLarge ? LARGE : "") + body;
  });
