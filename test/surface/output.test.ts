/** Section 4.6 of the contract's tests: what programs print and return, and how much of it the model gets. */
import type { Json } from "codecell";
import type { CodeModeOutput, CodeModeResult } from "codecell/surface";
import { afterAll, describe, expect, test } from "vitest";
import { type Desk, openDesk } from "./fixtures.ts";
import { expectStatus, sizeOf } from "./result-schema.ts";

const desk = openDesk();
afterAll(() => desk[Symbol.asyncDispose]());

const CAP = 1024;
const CAPPED = { enabled: true, maxOutputBytes: CAP };

const text = (shown: string): CodeModeOutput => ({ type: "text", text: shown });
const json = (value: Json): CodeModeOutput => ({ type: "json", value });

/** All results of a program, which is continued until it ends. */
async function exchangesOf(on: Desk, code: string): Promise<CodeModeResult[]> {
  const exchanges = [await on.exec(code)];
  for (let last = exchanges[0]; last?.status === "waiting"; last = exchanges.at(-1)) {
    on.gate.releaseAll();
    exchanges.push(await on.wait(last.runId));
  }
  return exchanges;
}

const outputsOf = (exchanges: readonly CodeModeResult[]): CodeModeOutput[][] =>
  exchanges.map(({ output = [] }) => [...output]);

describe("the order", () => {
  test("[exec-wait:42] is that of the program's calls", async () => {
    const { output } = await desk.exec(`
      text("a"); json(1); console.log("b"); text("c");
      await Promise.all([1, 2, 3].map(async (n) => { await tools.echo({}); json(n); }));
      json({ d: 1 }); text("e"); console.error("f");
    `);
    const [first = [], rest = []] = [output?.slice(0, 4), output?.slice(7)];
    expect(first).toEqual([text("a"), json(1), text("b"), text("c")]);
    expect(output?.slice(4, 7)).toEqual(expect.arrayContaining([json(1), json(2), json(3)]));
    expect(rest).toEqual([json({ d: 1 }), text("e"), text("f")]);
  });

  test("[exec-wait:42] [exec-wait:48] is kept over waits, and every item comes once", async () => {
    const exchanges = await exchangesOf(
      desk,
      `for (let i = 0; i < 3; i++) { text("t" + i); json({ i }); await yield_control(); } text("end"); return 1`,
    );
    expect(outputsOf(exchanges)).toEqual([
      [text("t0"), json({ i: 0 })],
      [text("t1"), json({ i: 1 })],
      [text("t2"), json({ i: 2 })],
      [text("end")],
    ]);
  });

  test("[exec-wait:48] the result of an exchange without output has no output field", async () => {
    const exchanges = await exchangesOf(
      desk,
      `text("a"); await yield_control(); await yield_control(); return 1`,
    );
    expect(exchanges.map((exchange) => "output" in exchange)).toEqual([true, false, false]);
  });

  test("[exec-wait:48] an item is not given again by a wait that is too early", async () => {
    await using slow = openDesk({ config: { enabled: true, timeoutMs: 1500 } });
    const first = expectStatus("waiting", await slow.exec(`text("a"); await tools.gate(); text("b")`));
    const second = expectStatus("waiting", await slow.wait(first.runId));
    slow.gate.release();
    const third = await slow.wait(first.runId);
    expect(outputsOf([first, second, third])).toEqual([[text("a")], [], [text("b")]]);
  });
});

describe("text and json", () => {
  test.each<[string, string]>([
    [`"plain"`, "plain"],
    [`""`, ""],
    [`" two\\n lines "`, " two\n lines "],
    [`'"quoted"'`, '"quoted"'],
    [`"ü😀\\u0000"`, "ü😀\u0000"],
    [`5`, "5"],
    [`null`, "null"],
    [`undefined`, "undefined"],
    [`true`, "true"],
    [`{ a: 1, b: [2, { c: null }] }`, '{"a":1,"b":[2,{"c":null}]}'],
    [`[1, "2"]`, '[1,"2"]'],
    [`new Date(0)`, "1970-01-01T00:00:00.000Z"],
    [`10n`, "10"],
  ])("[exec-wait:43] text(%s) shows it as it is, or as JSON", async (value, shown) => {
    expect((await desk.exec(`text(${value})`)).output).toEqual([text(shown)]);
  });

  test.each<Json>([
    "plain",
    "",
    5,
    -0.5,
    null,
    true,
    [],
    {},
    { a: { b: [1, { c: "ü😀" }] } },
    [[[[]]]],
    { type: "text", text: "x" },
    '{"a":1}',
  ])("[exec-wait:43] json(%j) keeps the structure", async (value) => {
    expect((await desk.exec(`json(${JSON.stringify(value)})`)).output).toEqual([json(value)]);
    expect(await desk.exec(`return ${JSON.stringify(value)}`)).toMatchObject({ value });
  });

  test("[exec-wait:43] each call is an item, also without an argument", async () => {
    const { output } = await desk.exec(`text("a"); text("a"); text("b", "c"); json(); text(); json(1, 2)`);
    expect(output).toEqual([text("a"), text("a"), text("b"), json(null), text("undefined"), json(1)]);
  });

  test("[exec-wait:43] a value is printed as it was at that moment", async () => {
    const { output } = await desk.exec(`const a = [1]; json(a); a.push(2); json(a); text(a)`);
    expect(output).toEqual([json([1]), json([1, 2]), text("[1,2]")]);
  });
});

describe("what JSON cannot carry", () => {
  /** An expression, and what is shown in its place. */
  const CASES: readonly (readonly [string, unknown])[] = [
    ["function named() {}", expect.stringContaining("named")],
    ["() => 1", expect.stringContaining("Function")],
    ["class A {}", expect.stringContaining("A")],
    ["Symbol('s')", "Symbol(s)"],
    ["10n", "10"],
    ["-123456789012345678901234567890n", "-123456789012345678901234567890"],
    ["new Date(0)", "1970-01-01T00:00:00.000Z"],
    ["new Error('e')", { name: "Error", message: "e" }],
    ["new TypeError('t')", { name: "TypeError", message: "t" }],
    ["new Map([['k', 1]])", [["k", 1]]],
    ["new Set([1, 2])", [1, 2]],
    ["/a+/g", expect.stringContaining("/a+/")],
    ["NaN", null],
    ["Infinity", null],
    ["new Uint8Array([1, 2, 3])", expect.stringMatching(/Uint8Array.*3/u)],
    ["new ArrayBuffer(8)", expect.stringMatching(/ArrayBuffer.*8/u)],
    ["Promise.resolve(1)", expect.stringContaining("await")],
    ["({ get a() { throw new Error('g') } })", expect.anything()],
    ["({ toJSON() { throw new Error('j') } })", expect.stringContaining("j")],
    ["new Proxy({}, { get() { throw 1 }, ownKeys() { throw 2 } })", expect.anything()],
  ];

  test.each(CASES)(
    "[exec-wait:44] %s is replaced by a text, and nothing around it is lost",
    async (value, shown) => {
      const code = `const x = ${value}; text(x); json(x); json({ before: 1, x, after: [x, 2] }); return { before: 1, x, after: [x, 2] }`;
      const result = expectStatus("completed", await desk.exec(code));
      expect(result.output).toHaveLength(3);
      const around = { before: 1, x: shown, after: [shown, 2] };
      expect(result.value).toEqual(around);
      expect(result.output?.slice(1)).toEqual([
        { type: "json", value: shown },
        { type: "json", value: around },
      ]);
      expect(result.output?.[0]).toEqual({ type: "text", text: expect.any(String) });
    },
  );

  test("[exec-wait:44] a cycle is cut where it closes", async () => {
    const code = `
      const a = { name: "a", list: [1] };
      a.self = a; a.list.push(a, { deep: a });
      const twice = { shared: 1 };
      json(a); text(a); json([twice, twice]);
      return { a, twice: [twice, twice], last: true };
    `;
    const shown = { name: "a", list: [1, "[Circular]", { deep: "[Circular]" }], self: "[Circular]" };
    const result = expectStatus("completed", await desk.exec(code));
    expect(result.output).toEqual([
      json(shown),
      { type: "text", text: JSON.stringify(shown) },
      // A value that is there twice is not a cycle.
      json([{ shared: 1 }, { shared: 1 }]),
    ]);
    expect(result.value).toEqual({ a: shown, twice: [{ shared: 1 }, { shared: 1 }], last: true });
  });

  test("[exec-wait:44] nesting of any depth does not crash", async () => {
    const code = `let a = 1; for (let i = 0; i < 100_000; i++) a = [a]; json(a); text("after"); return a`;
    const result = await desk.exec(code);
    expect(["completed", "failed"]).toContain(result.status);
    expect(await desk.exec("return 1")).toMatchObject({ value: 1 });
  });

  test("[exec-wait:44] console takes all these values too", async () => {
    const code = `const a = {}; a.a = a; console.log(10n, Symbol("s"), a, () => 1, new Error("e"), null, undefined); return 1`;
    const { output } = expectStatus("completed", await desk.exec(code));
    expect(output).toHaveLength(1);
    expect(output?.[0]).toMatchObject({ type: "text", text: expect.stringContaining("10") });
  });

  test.each(["Uint8Array", "Int16Array", "Float64Array", "BigInt64Array", "Uint8ClampedArray"])(
    "[exec-wait:45] a %s does not pass as binary",
    async (kind) => {
      const code = `const bytes = new ${kind}(300); json(bytes); json({ bytes }); text(bytes); return [bytes, bytes.buffer, new DataView(bytes.buffer)]`;
      const result = expectStatus("completed", await desk.exec(code));
      const [first, second] = result.output ?? [];
      expect(first).toEqual({ type: "json", value: expect.stringMatching(new RegExp(`${kind}.*300`, "u")) });
      expect(second).toEqual({ type: "json", value: { bytes: expect.stringContaining(kind) } });
      // It is not shown as a list of numbers either.
      expect(sizeOf(result)).toBeLessThan(600);
    },
  );
});

describe("the cap", () => {
  test.each([
    ["a long text", `return "x".repeat(100_000)`],
    ["a long list", `return Array.from({ length: 20_000 }, (_, i) => i)`],
    ["a wide object", `return Object.fromEntries(Array.from({ length: 5000 }, (_, i) => ["key" + i, i]))`],
    ["much text", `for (let i = 0; i < 3000; i++) text("line " + i)`],
    ["one large text", `text("x".repeat(100_000)); return 1`],
    ["one large value", `json(Array.from({ length: 20_000 }, (_, i) => ({ i }))); return 1`],
    ["log lines", `for (let i = 0; i < 3000; i++) console.log("line", i); return "done"`],
    [
      "everything",
      `text("x".repeat(5000)); json({ a: "y".repeat(5000) }); console.log("z".repeat(5000)); return "v".repeat(5000)`,
    ],
    ["what grows in JSON", `text("\\u0000".repeat(500)); return '"'.repeat(900)`],
    ["code points of four bytes", `text("😀".repeat(500)); return "😀".repeat(500)`],
    ["lone surrogates", `return "\\ud800".repeat(2000)`],
    ["a value on the edge", `return "x".repeat(${CAP - 1})`],
  ])("[exec-wait:46] holds for %s", async (_, code) => {
    await using capped = openDesk({ config: CAPPED });
    const result = expectStatus("completed", await capped.exec(code));
    expect(sizeOf(result)).toBeLessThanOrEqual(CAP);
    const whole = JSON.stringify([result.value, result.output]);
    expect(whole).toMatch(/truncated|omitted|dropped/u);
    expect(result.telemetry.failures).toEqual({});
  });

  test("[exec-wait:46] output that fits is not touched", async () => {
    await using capped = openDesk({ config: CAPPED });
    expect(await capped.exec(`return "x".repeat(${CAP - 2})`)).toMatchObject({ value: "x".repeat(CAP - 2) });
    const whole = await capped.exec(`text("x".repeat(400)); return "y".repeat(400)`);
    expect(whole).toMatchObject({ output: [text("x".repeat(400))], value: "y".repeat(400) });
  });

  test("[exec-wait:46] a cut value says what was left out, and can be loaded whole", async () => {
    await using capped = openDesk({ config: CAPPED });
    const { value } = expectStatus("completed", await capped.exec(`return "x".repeat(5000)`));
    expect(value).toMatchObject({
      truncated: true,
      omittedBytes: expect.any(Number),
      prefix: expect.stringMatching(/^x+/u),
    });
    const { omittedBytes, prefix, ref } = value as { omittedBytes: number; prefix: string; ref: string };
    expect(omittedBytes + Buffer.byteLength(JSON.stringify(prefix))).toBe(5002);
    expect(await capped.exec(`return (await load_result("${ref}")).length`)).toMatchObject({ value: 5000 });
  });

  test.each(["text", "json"])(
    "[exec-wait:46] one %s of many times the cap shows its beginning",
    async (give) => {
      const result = await desk.exec(`${give}("x".repeat(1_000_000)); return 1`);
      expect(result).toMatchObject({ status: "completed", value: 1 });
      expect(JSON.stringify(result.output)).toContain("xxxxxxxxxx");
      expect(sizeOf(result)).toBeLessThanOrEqual(65_536);
    },
  );

  test("[exec-wait:46] a cap of any size holds", async () => {
    await using wide = openDesk({ config: { enabled: true, maxOutputBytes: 10_485_760 } });
    const code = `return (await Promise.all(["a", "b"].map((x) => x.repeat(3_000_000)))).join("")`;
    expect(expectStatus("completed", await wide.exec(code)).value).toHaveLength(6_000_000);
    const much = await wide.exec(`for (let i = 0; i < 90; i++) text("x".repeat(100_000)); return 1`);
    expect(much.output).toHaveLength(90);
  });

  test("[exec-wait:46] output that cannot be delivered in any form fails with its code", async () => {
    const result = expectStatus("failed", await desk.exec(`return "x".repeat(20_000_000)`));
    expect(result.code).toBe("output_limit_exceeded");
    expect(result.telemetry.failures).toMatchObject({ output_limit_exceeded: expect.any(Number) });
  });

  test("[exec-wait:47] holds for waiting results, and over all waits together", async () => {
    await using capped = openDesk({ config: CAPPED });
    const exchanges = await exchangesOf(
      capped,
      `for (let i = 0; i < 6; i++) { text(i + "x".repeat(300)); await yield_control(); } json({ last: "y".repeat(3000) }); return "z".repeat(3000)`,
    );
    expect(exchanges).toHaveLength(7);
    for (const exchange of exchanges) expect(sizeOf(exchange)).toBeLessThanOrEqual(CAP);
    expect(exchanges.reduce((sum, exchange) => sum + sizeOf(exchange), 0)).toBeLessThanOrEqual(CAP);
    expect(JSON.stringify(exchanges[0])).toContain("0xxx");
    // The last result still shows something of the value.
    expect(exchanges.at(-1)).toMatchObject({ value: { truncated: true } });
  });

  test("[exec-wait:47] holds for one waiting result that is far beyond it", async () => {
    await using capped = openDesk({ config: CAPPED });
    const first = expectStatus(
      "waiting",
      await capped.exec(`for (let i = 0; i < 500; i++) json({ i }); await yield_control(); return 1`),
    );
    expect(sizeOf(first)).toBeLessThanOrEqual(CAP);
    expect(first.output?.[0]).toEqual(json({ i: 0 }));
    expect(JSON.stringify(first.output)).toContain("omitted");
    const last = expectStatus("completed", await capped.wait(first.runId));
    expect(last.value).toBe(1);
    expect(sizeOf(first) + sizeOf(last)).toBeLessThanOrEqual(CAP);
  });
});
