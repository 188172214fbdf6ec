/**
 * A new feature is an entry in the table, an installer, and an option with the tool that serves its calls. Here it is one
 * that only this test has, with a namespace of its own: no other file of the library is exchanged.
 */
import { fileURLToPath } from "node:url";
import { createHost, type Host, type StartOptions } from "codecell";
import { createChecker } from "codecell/check";
import { createMemoryStore } from "codecell/store";
import type { Plugin } from "esbuild";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type * as Features from "../../packages/codecell/src/contract/feature-table.ts";
import { declareFeatures, reservedNames } from "../../packages/codecell/src/contract/features.ts";
import type * as Options from "../../packages/codecell/src/run/host/feature-options.ts";
import { renderWorkerText } from "../../scripts/build-embedded.ts";
import { renderPreludeModule } from "../../scripts/build-guest.ts";
import { keepBundle } from "../../scripts/bundle.ts";
import { suspensionOf } from "../api/suspension-of.ts";
import type { ShelfOptions } from "./shelf.ts";

vi.mock("../../packages/codecell/src/contract/feature-table.ts", async (importOriginal) => {
  const { FEATURE_TABLE } = await importOriginal<typeof Features>();
  const { SHELF_FEATURE } = await import("./shelf.ts");
  return { FEATURE_TABLE: { ...FEATURE_TABLE, ...SHELF_FEATURE } };
});

vi.mock("../../packages/codecell/src/run/host/feature-options.ts", async (importOriginal) => {
  const { FEATURE_OPTIONS } = await importOriginal<typeof Options>();
  const { SHELF_OPTION } = await import("./shelf.ts");
  return { FEATURE_OPTIONS: { ...FEATURE_OPTIONS, ...SHELF_OPTION } };
});

const TABLE = new URL("./shelf-table.ts", import.meta.url);
const INSTALLERS = new URL(
  "../../packages/codecell/src/guest/inside/testing/shelf-installers.ts",
  import.meta.url,
);
const EXCHANGED: ReadonlyMap<string, string> = new Map([
  ["feature-table.ts", fileURLToPath(TABLE)],
  ["installers.ts", fileURLToPath(INSTALLERS)],
]);

/** The worker and its prelude, with the table and the installers exchanged. */
const exchange: Plugin = {
  name: "exchange",
  setup: (bundling) => {
    bundling.onResolve({ filter: /\/(feature-table|installers)\.ts$/ }, ({ path, importer }) => {
      const file = EXCHANGED.get(path.slice(path.lastIndexOf("/") + 1));
      return file === undefined || file === importer ? undefined : { path: file };
    });
    bundling.onLoad({ filter: /\/prelude\.generated\.ts$/ }, async () => ({
      contents: await renderPreludeModule([exchange]),
      loader: "ts",
    }));
  },
};

const sealKey = new Uint8Array(32).fill(7);
const checker = createChecker({ checkTimeMs: 60_000 });
let workerUrl: URL;
let host: Host;
let other: Host;

beforeAll(async () => {
  workerUrl = await keepBundle("shelf-worker", await renderWorkerText([exchange]));
  host = createHost({ workers: 1, workerUrl, sealKey, check: { checker } });
  other = createHost({ workers: 1, workerUrl, sealKey });
});

afterAll(async () => {
  await host[Symbol.asyncDispose]();
  await other[Symbol.asyncDispose]();
  await checker[Symbol.asyncDispose]();
});

type Shelf = NonNullable<ShelfOptions["shelf"]>;

function withShelf(source: string, shelf: Shelf, more: Partial<StartOptions> = {}): StartOptions {
  return { source, ...more, shelf } as StartOptions;
}

describe("a feature with a namespace of its own", () => {
  test("is there for a program that is given it, and for no other", async () => {
    const things: unknown[] = [];
    const source = `const place = await shelf.put({ a: 1 }); return [place, shelf.label, Object.keys(shelf), Object.keys(globalThis).sort()]`;
    const run = host.start(withShelf(source, { label: "top", things }));
    expect(await run.result).toMatchObject({
      status: "completed",
      value: [1, "top", ["label", "put"], ["shelf", "tools"]],
    });
    expect(things).toEqual([{ a: 1 }]);
    expect(run.ledger()).toMatchObject({
      features: { shelf: "top" },
      calls: [{ tool: "shelf.put", input: '{"a":1}' }],
    });
    expect(await other.start({ source: "return typeof shelf" }).result).toMatchObject({ value: "undefined" });
  });

  test("works together with all other features", async () => {
    const catalog = { names: new Set<string>(), allTools: () => '[{"id":"x"}]' };
    const source = "return [ALL_TOOLS, shelf.label, typeof yield_control, typeof tools.search]";
    const options = { catalog, mayYield: true, detachedCalls: "fail" } as const;
    const run = other.start(withShelf(source, { label: "top", things: [] }, options));
    expect(await run.result).toMatchObject({ value: [[{ id: "x" }], "top", "function", "function"] });
    expect(run.ledger().features).toEqual({
      catalog: '[{"id":"x"}]',
      detachedFails: true,
      yield: true,
      shelf: "top",
    });
  });

  test("adds a function to tools, and leaves tools in the direct profile", async () => {
    const things: unknown[] = [];
    const inputs: unknown[] = [];
    const source = `
      const place = await tools.shelve("a");
      const missing = await tools.shelf({}).catch((error) => error.code);
      let change; try { tools.mine = 1 } catch (error) { change = error.name }
      await tools.take();
      return [place, missing, change, Object.keys(tools)]`;
    const tools = { take: { execute: (input: unknown) => void inputs.push(input) } };
    const result = await other.start(withShelf(source, { label: "", things }, { tools })).result;
    expect(result).toMatchObject({ value: [1, "unknown_tool", "TypeError", ["take", "shelve"]] });
    expect(things).toEqual(["a"]);
    expect(inputs).toEqual([null]);
    const implied = await other.start(withShelf("tools.shelve(1)", { label: "", things })).result;
    expect(implied).toMatchObject({ value: 2 });
  });

  test("has calls that are made again after a crash, where its entry says so", async () => {
    const store = createMemoryStore();
    const put = (sort: string): string => `shelf.put({ sort: "${sort}" }).catch((error) => error.code)`;
    const source = `return await Promise.all([${put("letter")}, ${put("book")}])`;
    const begun: unknown[] = [];
    const waiting = Object.assign([], {
      push: (thing: unknown) => {
        begun.push(thing);
        return new Promise(() => {});
      },
    });
    const one = createHost({ workers: 1, workerUrl, sealKey, store });
    const run = one.start(withShelf(source, { label: "", things: waiting }));
    while (begun.length < 2) await new Promise(setImmediate);
    await one[Symbol.asyncDispose]();
    await using next = createHost({ workers: 1, workerUrl, sealKey, store });
    const things: unknown[] = [];
    const result = await next.resume({ id: run.runId, shelf: { label: "", things } } as never).result;
    expect(result).toMatchObject({ status: "completed", value: [1, "outcome_unknown"] });
    expect(things).toEqual([{ sort: "letter" }]);
  });

  test("is served by the host itself: nobody asks the policy", async () => {
    const authorize = vi.fn(() => ({ deny: "no" }));
    const shelf = { label: "", things: [] };
    const run = other.start(withShelf("return await shelf.put(1)", shelf, { authorize }));
    expect(await run.result).toMatchObject({ value: 1 });
    expect(authorize).not.toHaveBeenCalled();
  });

  test("outlives a suspension, and is replayed without being used again", async () => {
    const things: unknown[] = [];
    const source = "await shelf.put(1); await yield_control(); return [await shelf.put(2), shelf.label]";
    const first = other.start(withShelf(source, { label: "top", things }, { mayYield: true }));
    const { token } = suspensionOf(await first.result);
    const second = host.resume({ token, shelf: { label: "other", things } } as never);
    expect(await second.result).toMatchObject({ status: "completed", value: [2, "top"] });
    expect(await other.replay(second.ledger()).result).toMatchObject({ value: [2, "top"] });
    expect(things).toEqual([1, 2]);
  });

  test("fails if the resuming host cannot serve it", async () => {
    const source = "await yield_control(); return await shelf.put(2)";
    const first = other.start(withShelf(source, { label: "", things: [] }, { mayYield: true }));
    const { token } = suspensionOf(await first.result);
    expect(await other.resume({ token }).result).toMatchObject({
      status: "failed",
      failure: {
        code: "tool_failed",
        message: expect.stringContaining("A use of the shelf failed") as string,
      },
    });
  });

  test("is named in messages as the program writes it, not as a tool", async () => {
    const shelf = { label: "", things: [] };
    const refused = "return await shelf.put(null).catch((error) => [error.code, error.message])";
    expect(await other.start(withShelf(refused, shelf)).result).toMatchObject({
      value: ["invalid_input", expect.stringMatching(/^Cannot call shelf\.put: input/u) as string],
    });
    const things = Object.assign([], { push: () => 10n });
    const unusable = "return await shelf.put(1).catch((error) => [error.code, error.message])";
    expect(await other.start(withShelf(unusable, { label: "", things })).result).toMatchObject({
      value: ["invalid_output", expect.stringMatching(/^shelf\.put gave an/u) as string],
    });
  });

  test("refuses an option of the wrong kind, wherever a run begins or goes on", async () => {
    const wrong = { label: 7, things: [] } as unknown as Shelf;
    expect(() => other.start(withShelf("", wrong))).toThrow("Cannot start a run: shelf must have a label");
    const first = other.start(
      withShelf("await yield_control()", { label: "", things: [] }, { mayYield: true }),
    );
    const { token } = suspensionOf(await first.result);
    expect(() => other.resume({ token, shelf: wrong } as never)).toThrow(
      "Cannot resume a run: shelf must have a label",
    );
    expect(() => other.fork(first.ledger(), { atCall: 0, shelf: wrong } as never)).toThrow(
      "Cannot fork a run: shelf must have a label",
    );
    expect(await other.resume({ token }).result).toMatchObject({ status: "completed" });
  });

  test("reserves its names: no tool has the name of its calls or of its functions", async () => {
    const tools = { "shelf.put": { execute: () => 1 } };
    const shelf = { label: "", things: [] };
    expect(() => other.start(withShelf("", shelf, { tools }))).toThrow(
      'its program has shelf.put, so no tool can be named "shelf.put"',
    );
    const source = `return await tools["shelf.put"](1).catch((error) => [error.code, error.message])`;
    expect(await other.start(withShelf(source, shelf)).result).toMatchObject({
      value: ["unknown_tool", expect.stringContaining("await shelf.put(value)") as string],
    });
    expect(await other.start({ source: source.replace(".catch", ".then"), tools }).result).toMatchObject({
      status: "completed",
    });
    expect(reservedNames("shelf")).toEqual(expect.arrayContaining(["label", "put"]));
    expect(reservedNames("tools")).not.toContain("put");
  });

  test("is known to the check before a run", async () => {
    const shelf = { label: "", things: [] };
    expect(declareFeatures({ shelf: "" } as never).join()).toContain("declare const shelf: {");
    const misspelt = await host.start(withShelf("return await shelf.putt(1)", shelf)).result;
    expect(misspelt).toMatchObject({ status: "failed", failure: { code: "check_failed" } });
    const source = "await shelf.put(1); throw new Error('x')";
    const known = await host.start(withShelf(source, shelf)).result;
    expect(known).toMatchObject({ status: "failed", failure: { code: "guest_error" } });
    expect(known).not.toHaveProperty("failure.advice");
    const without = await host.start({ source }).result;
    expect(without).toHaveProperty("failure.advice", [
      expect.objectContaining({ message: expect.stringContaining("'shelf'") as string }),
    ]);
  });
});
