/** Programs with the globals of the web: who has them, what they outlive, what they cost, and what the check knows. */
import { createHost, type StartOptions, type ToolSet } from "codecell";
import { createChecker } from "codecell/check";
import { afterAll, describe, expect, test } from "vitest";
import { FEATURE_TABLE } from "../../packages/codecell/src/contract/feature-table.ts";
import { suspensionOf } from "./suspension-of.ts";

const sealKey = new Uint8Array(32).fill(7);
const host = createHost({ workers: 1, sealKey });
const other = createHost({ workers: 1, sealKey });
const checker = createChecker({ checkTimeMs: 60_000 });
const checking = createHost({ workers: 1, check: { checker } });
afterAll(async () => {
  for (const one of [host, other, checking, checker]) await one[Symbol.asyncDispose]();
});

const NAMES = FEATURE_TABLE.web.globals;
const KINDS = `return ${JSON.stringify(NAMES)}.filter((name) => name in globalThis)`;

const connectors = {
  setting: { root: "connectors", handles: { desk: "cli:desk:" } },
  tools: {},
  declarations: "",
  withPolicy: () => undefined as never,
} as const;

async function valueOf(source: string, options: Partial<StartOptions> = {}): Promise<unknown> {
  const result = await host.start({ source, ...options }).result;
  if (result.status !== "completed") throw new Error(`Not completed: ${JSON.stringify(result)}`);
  return result.value;
}

/** Something of every kind, before and after a call. */
const PROGRAM = `
  const blob = new Blob(["é", new Uint8Array([1, 2])], { type: "a/b" });
  const form = new FormData();
  form.append("file", new File([blob], "n", { lastModified: 5 }));
  const response = new Response(form);
  let controller;
  const stream = new ReadableStream({ start(c) { controller = c } });
  const reader = stream.getReader();
  const read = reader.read();
  const id = await tools.ask({});
  controller.enqueue(id);
  controller.close();
  const back = await response.formData();
  const through = ReadableStream.from(["x", "y"]).pipeThrough(new TextEncoderStream());
  return [id, (await read).value, (await reader.read()).done, await blob.slice(0, 2).text(), back.get("file").name,
    await back.get("file").text(), await new Response(through).text(), response.headers.get("content-type"), crypto.randomUUID(),
    structuredClone(blob).size, Buffer.from(id).toString("base64"), await new Request("http://a/", { method: "POST", body: blob }).text()];`;

const ask: ToolSet = { ask: { execute: () => "answer" } };

describe("the web's globals [handles:103]", () => {
  test("are there with webGlobals, and in programs with connectors unless it is false", async () => {
    expect(await valueOf(KINDS)).toEqual([]);
    expect(await valueOf(KINDS, { webGlobals: false })).toEqual([]);
    expect(await valueOf(KINDS, { webGlobals: true })).toEqual(NAMES);
    expect(await valueOf(KINDS, { connectors })).toEqual(NAMES);
    expect(await valueOf(KINDS, { connectors, webGlobals: false })).toEqual([]);
    expect(() => host.start({ source: "", webGlobals: 1 as unknown as boolean })).toThrow(
      "Cannot start a run: webGlobals must be a boolean",
    );
  });

  test("stand beside those that every program has", async () => {
    const source = `
      const url = new URL("mailto:a@b"), live = new URL("http://u:p@h:80/a/../b?x=1");
      live.searchParams.append("y", "2");
      const quota = (() => { try { crypto.getRandomValues(new Uint8Array(65537)) } catch (error) { return error.name } })();
      const abort = new AbortController();
      const order = [];
      setTimeout(() => order.push("timer"), 1);
      queueMicrotask(() => order.push("microtask"));
      await new Promise((resolve) => setTimeout(resolve, 5));
      abort.abort();
      return [atob(btoa("x")), url.pathname, live.href, new TextDecoder().decode(new TextEncoder().encode("é")), quota,
        structuredClone(new Map([[1, 2]])).get(1), new Headers({ A: "b" }).get("a"), abort.signal.aborted, order,
        crypto.randomUUID().length]`;
    expect(await valueOf(source, { connectors })).toEqual([
      "x",
      "a@b",
      "http://u:p@h/b?x=1&y=2",
      "é",
      "QuotaExceededError",
      2,
      "b",
      true,
      ["microtask", "timer"],
      36,
    ]);
  });

  test("are of the cell that has them: the next program in the same engine is plain", async () => {
    for (let round = 0; round < 3; round++) {
      expect(await valueOf("globalThis.Blob = 5; return typeof ReadableStream", { webGlobals: true })).toBe(
        "function",
      );
      expect(await valueOf("return typeof Blob")).toBe("undefined");
      expect(await valueOf("return new Blob(['x']).size", { webGlobals: true })).toBe(1);
    }
  });

  test("give the same in a replay, a fork and a run that was resumed elsewhere", async () => {
    const run = host.start({ source: PROGRAM, tools: ask, webGlobals: true });
    const result = await run.result;
    const value = (result as { readonly value?: unknown }).value as unknown[];
    expect(value.slice(0, 7)).toEqual(["answer", "answer", true, "é", "n", "é\u0001\u0002", "xy"]);
    const ledger = run.ledger();
    expect(ledger.features).toEqual({ web: true });
    expect(await other.replay(ledger).result).toMatchObject({ status: "completed", value });
    expect(await other.fork(ledger, { atCall: 0, tools: ask }).result).toMatchObject({ value });

    const suspending = PROGRAM.replace("await tools.ask({})", "(await yield_control(), 'answer')");
    const first = host.start({ source: suspending, webGlobals: true, mayYield: true });
    const { token } = suspensionOf(await first.result);
    const second = other.resume({ token });
    const resumed = await second.result;
    expect((resumed as { readonly value?: unknown[] }).value?.slice(0, 7)).toEqual(value.slice(0, 7));
    expect(await host.replay(second.ledger()).result).toMatchObject({
      value: (resumed as { readonly value?: unknown }).value,
    });
  });

  test("count for the memory of the cell", async () => {
    const hoards: readonly string[] = [
      "const held = []; for (;;) held.push(new Blob([new Uint8Array(1e6)]))",
      "const blob = new Blob([new Uint8Array(1e6)]); const held = []; for (;;) held.push(await blob.bytes())",
      "const stream = new ReadableStream({ start(c) { for (;;) c.enqueue(new Uint8Array(1e6)) } })",
      "const form = new FormData(); for (;;) form.append('a', 'x'.repeat(1e6) + Math.random())",
      "return new Response('x'.repeat(1e7)).text().then(async (text) => { const held = []; for (;;) held.push(await new Response(text + held.length).bytes()) })",
    ];
    for (const source of hoards) {
      const result = await host.start({ source, webGlobals: true, limits: { memoryBytes: 24 * 1024 * 1024 } })
        .result;
      expect(result).toMatchObject({ status: "failed", failure: { code: "memory_limit" } });
    }
    const slices =
      "const blob = new Blob([new Uint8Array(1e6)]); const held = []; for (let i = 0; i < 1000; i++) held.push(blob.slice(i)); return held.at(-1).size";
    expect(await valueOf(slices, { webGlobals: true, limits: { memoryBytes: 24 * 1024 * 1024 } })).toBe(
      999_001,
    );
  });

  test("that are first touched when little stack or memory is left can be touched again", async () => {
    const deep = `
      let failed;
      (function dive() { try { dive() } catch (error) { try { failed = new Blob(["x"]).size } catch (inner) { failed = inner.name } throw error } })`;
    const source = `try { ${deep.trim()}() } catch {} return [typeof failed, new Blob(["xy"]).size]`.replace(
      "try { let failed;",
      "let failed; try {",
    );
    expect(await valueOf(source, { webGlobals: true })).toEqual([expect.stringMatching(/string|number/u), 2]);
  });

  test("cannot cross as a value, unless they say what they are", async () => {
    expect(
      await valueOf("return [new Blob(['x']), new Response('x', { status: 404 })]", { webGlobals: true }),
    ).toEqual([
      {},
      {
        ok: false,
        status: 404,
        statusText: "",
        url: "",
        redirected: false,
        headers: { "content-type": "text/plain;charset=UTF-8" },
      },
    ]);
  });
});

describe("the check of programs [handles:103]", () => {
  async function adviceOn(body: string, options: Partial<StartOptions> = {}): Promise<string[]> {
    const result = await checking.start({ source: `${body}; throw new Error("x")`, ...options }).result;
    if (result.status !== "failed") throw new Error(`Not failed: ${JSON.stringify(result)}`);
    return (result.failure.advice ?? []).map(({ message }) => message);
  }

  test("knows the globals with the feature, and does not know them without it", async () => {
    const uses = `void [${NAMES.join(", ")}]`;
    expect(await adviceOn(uses, { webGlobals: true })).toEqual([]);
    expect(await adviceOn(uses, { connectors })).toEqual([]);
    const advice = await adviceOn(uses);
    for (const name of NAMES) expect(advice.join()).toContain(`'${name}'`);
    expect(await adviceOn("new Blob([]).text()", { webGlobals: false, connectors })).not.toEqual([]);
  });

  test("knows what they take and give", async () => {
    const good = `
      const form: FormData = new FormData(); form.append("a", new Blob(["x"], { type: "a/b" }), "n");
      const request = new Request("https://a/", { method: "POST", body: form, headers: { a: "b" } });
      const response: Response = Response.json({ a: 1 }, { status: 201 });
      const text: string = await response.clone().text();
      const through = new TransformStream<string, number>({ transform(chunk, c) { c.enqueue(chunk.length) } });
      for await (const size of ReadableStream.from(["a"]).pipeThrough(through)) { const one: number = size; void one }
      const { value, done } = await new Blob([]).stream().getReader().read();
      const writer = new WritableStream<string>({ write(chunk) { void chunk.length } }).getWriter(); await writer.write("x");
      const buffer: Buffer = Buffer.concat([Buffer.from("aGk=", "base64"), Buffer.from([1]), Buffer.alloc(4, "x")]).slice(0, 5);
      const size: number = buffer.writeUInt16BE(buffer.readUInt8(0), 1) + Buffer.byteLength("x", "hex"); const hex: string = buffer.toString("hex");
      void [size, hex, request, text, value, done, new CountQueuingStrategy({ highWaterMark: 1 }).size()]`;
    expect(await adviceOn(good, { webGlobals: true })).toEqual([]);
    const wrong = await adviceOn(
      "new Blob([]).sise; new Response('').json(1, 2); new FormData().append('a'); Buffer.from('a', 'b64')",
      { webGlobals: true },
    );
    expect(wrong.length).toBe(4);
  });

  test("knows the response of a fetch, and the class only with the feature", async () => {
    const fetchPolicy = { allowedOrigins: ["https://example.com"] };
    const typed =
      "const one = (): Promise<Response> => fetch('https://example.com/', { method: 'POST', body: 'x' }); void one";
    expect(await adviceOn(typed, { fetchPolicy })).toEqual([]);
    expect(await adviceOn(`${typed}; void new Response('x')`, { fetchPolicy, webGlobals: true })).toEqual([]);
    expect(await adviceOn(`${typed}; void new Response('x')`, { fetchPolicy })).toHaveLength(1);
  });
});
