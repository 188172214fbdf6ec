/**
 * Programs for property tests, as fast-check arbitraries of source text.
 *
 * - What a program of `stableProgram` returns depends neither on how long its tools take nor on randomness.
 * - A program of `anyProgram` may also read the clock and the random source, and end in any way.
 * - Both may yield: a test has to allow that, and resumes them until they end.
 */
import fc from "fast-check";

/** Tools that answer at once, after a microtask, after a turn of the event loop, after some milliseconds. */
const TOOLS = ["now", "micro", "turn", "wait"] as const;

const call = fc
  .record({ tool: fc.constantFrom(...TOOLS), v: fc.nat(99), ms: fc.integer({ min: 1, max: 12 }) })
  .map(({ tool, v, ms }) => `tools.${tool}({ v: ${v}, ms: ${ms} })`);

const awaitCall = call.map((text) => `out.push(await ${text});`);

const failedCall = fc.constantFrom(
  `try { await tools.fail({}); } catch (e: any) { out.push([e.name, e.code, e.toolCode, e.message]); }`,
  `try { await tools.missing({}); } catch (e: any) { out.push(e.code); }`,
  `out.push(await tools.fail({}).catch((e: any) => e.message));`,
);

const ownThrow = fc
  .nat(9)
  .map(
    (n) =>
      `try { throw new RangeError("own ${n}"); } catch (e: any) { out.push(e.message); } finally { out.push("finally"); }`,
  );

const computed = fc
  .nat(2000)
  .map((n) => `{ let sum = 0; for (let i = 0; i < ${n}; i++) sum += i; out.push(sum); }`);

const timer = fc.integer({ min: 0, max: 8 }).map((ms) => `await new Promise((r) => setTimeout(r, ${ms}));`);

const clearedTimer = fc.constant(
  `{ const t = setTimeout(() => out.push("never"), 500); await tools.now({ v: 1 }); clearTimeout(t); }`,
);

/** Not cleared, so that they may be due when the program ends. They have no visible effect. */
const liveTimer = fc.integer({ min: 0, max: 9 }).map((ms) => `setTimeout(() => { ticks++; }, ${ms});`);

/** Inputs so large that a rebuilt program could not pass all of them again at once. */
const largeInput = fc.constant(`await tools.now({ v: "x".repeat(900_000) });`);

const nested = fc
  .tuple(fc.integer({ min: 1, max: 4 }), call)
  .map(
    ([depth, text]) =>
      `out.push(await (async function f(n: number): Promise<any> { return n === 0 ? (await ${text}).v : (await f(n - 1)) + 1; })(${depth}));`,
  );

const race = fc
  .nat(99)
  .map((v) => `out.push(await Promise.race([tools.late({ v: "late" }), tools.now({ v: ${v} })]));`);

const log = fc.nat(99).map((n) => `console.log("line", ${n}, { n: [${n}] }); console.warn("w${n}");`);

const detached = call.map((text) => `void ${text};`);

/**
 * Yields alone, together, and beside calls that execute or wait for a decision. Always awaited: a run with an open
 * yield is suspended after a while whatever it waits for, and then losers of races may come first.
 */
const yields = fc
  .nat(9)
  .chain((n) =>
    fc.constantFrom(
      `out.push((await yield_control("step ${n}")) === undefined);`,
      `out.push((await Promise.all([yield_control("${n}"), yield_control()])).length);`,
      `out.push((await Promise.all([tools.turn({ v: ${n} }), yield_control("beside"), tools.wait({ v: 1, ms: ${n} })]))[0]);`,
      `try { await yield_control(${n} as any); } catch (e: any) { out.push(e.message); }`,
    ),
  );

const simple = fc.oneof(awaitCall, failedCall, ownThrow, computed, timer, nested, yields);

/** An async function, so that branches run side by side. */
const branch = fc
  .array(simple, { minLength: 1, maxLength: 3 })
  .map((steps) => `(async () => { const out: any[] = []; ${steps.join(" ")} return out; })()`);

const branches = fc.array(branch, { minLength: 1, maxLength: 4 }).map((texts) => texts.join(", "));

const parallel = fc
  .tuple(fc.constantFrom("all", "allSettled"), branches)
  .map(([kind, texts]) => `out.push(await Promise.${kind}([${texts}]));`);

const many = fc
  .integer({ min: 2, max: 12 })
  .map(
    (n) =>
      `out.push((await Promise.all(Array.from({ length: ${n} }, (_, i) => tools.wait({ v: i, ms: (i * 7) % 5 })))).map((x: any) => x.v));`,
  );

const stableStep = fc.oneof(
  { weight: 4, arbitrary: simple },
  { weight: 2, arbitrary: parallel },
  many,
  race,
  log,
  clearedTimer,
  liveTimer,
  largeInput,
  detached,
);

const chance = fc.constantFrom(
  `void yield_control("detached");`,
  `out.push((await Promise.race([yield_control("slow"), tools.turn({ v: 1 }), tools.wait({ v: 2, ms: 2 })])) ?? "yielded");`,
  `out.push(Date.now(), new Date().toISOString());`,
  `out.push(Math.random(), crypto.randomUUID());`,
  `if (Math.random() < 0.5) out.push(await tools.turn({ v: 1 })); else out.push(await tools.wait({ v: 2, ms: 2 }));`,
  `{ const started = Date.now(); await tools.wait({ v: 0, ms: 3 }); out.push(Date.now() - started); }`,
  `out.push(await Promise.race([tools.wait({ v: 1, ms: 2 }), tools.wait({ v: 2, ms: 2 }), tools.turn({ v: 3 })]));`,
  `await Promise.all([1, 2, 3].map(async (n) => { await tools.wait({ v: n, ms: 2 }); console.log("done", n); out.push(n); }));`,
);

const RETURN = "return out;";

const ending = fc.constantFrom(
  RETURN,
  RETURN,
  `throw new TypeError("the end of " + out.length);`,
  `await tools.fail({}); return out;`,
  `await new Promise(() => {});`,
  `Promise.reject(new Error("nobody handles this")); return out;`,
  `return { n: 1n };`,
  `tools.wait({ v: 1, ms: 3 }).then(() => console.log("after the return")); return out;`,
);

function toProgram(steps: readonly string[], last: string): string {
  return ["const out: any[] = []; let ticks = 0;", ...steps, last].join("\n");
}

export const stableProgram = fc
  .array(stableStep, { minLength: 1, maxLength: 6 })
  .map((steps) => toProgram(steps, RETURN));

export const anyProgram = fc
  .tuple(
    fc.array(fc.oneof({ weight: 3, arbitrary: stableStep }, { weight: 2, arbitrary: chance }), {
      minLength: 1,
      maxLength: 6,
    }),
    ending,
  )
  .map(([steps, last]) => toProgram(steps, last));
