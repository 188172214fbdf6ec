/** Failures of calls in the words of an adapter: what a program sees, whatever the adapter gives. */
import type { StartOptions, ToolSet } from "codecell";
import { describe, expect, test } from "vitest";
import { host, valueOf } from "./harness.ts";

type MapCallFailure = NonNullable<StartOptions["mapCallFailure"]>;

const tools: ToolSet = {
  fail: {
    execute: () => {
      throw Object.assign(new RangeError("No disk"), { code: "ENOSPC" });
    },
  },
};
const CAUGHT =
  "try { await tools.fail() } catch (error) { return [error.name, error.message, error.code, error.toolCode] }";

describe("a failed call", () => {
  test("has the name, message and code that an adapter gives", async () => {
    const mapCallFailure: MapCallFailure = ({ message }, { tool }) => ({
      name: "AdapterError",
      message: `${tool}: ${message}`,
      shownCode: "ADAPTER",
    });
    expect(await valueOf(CAUGHT, { tools, mapCallFailure })).toEqual([
      "AdapterError",
      "fail: No disk",
      "ADAPTER",
      "ENOSPC",
    ]);
  });

  const own = ["RangeError", "No disk", "tool_failed", "ENOSPC"];
  test.each<[string, () => unknown]>([
    ["no words", () => undefined],
    ["null", () => null],
    ["words that are not texts", () => ({ name: 42, message: { toString: () => "x" }, shownCode: () => 7 })],
    ["another code of the host", () => ({ name: "", message: "", code: "denied" })],
    [
      "an error",
      () => {
        throw new Error("The adapter failed");
      },
    ],
  ])("stays as it is when an adapter gives %s", async (_what, give) => {
    expect(await valueOf(CAUGHT, { tools, mapCallFailure: give as MapCallFailure })).toEqual(own);
  });

  test("has a message of bounded length, and its ledger can be replayed", async () => {
    const long = "x".repeat(100_000);
    const mapCallFailure: MapCallFailure = () => ({ name: long, message: long, shownCode: long });
    const source = `const told = await (async () => { ${CAUGHT} })(); return told.map(({ length }) => length)`;
    const handle = host.start({ source, tools, mapCallFailure });
    const result = await handle.result;
    expect(result).toMatchObject({ status: "completed", value: [128, 4096, 128, 6] });
    expect(await host.replay(handle.ledger()).result).toMatchObject({ value: [128, 4096, 128, 6] });
  });
});
