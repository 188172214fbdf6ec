/** Between program and tools only JSON of a bounded size crosses, in both directions. */
import { describe, expect, test } from "vitest";
import { openDesk } from "./fixtures.ts";
import { valueOf } from "./results.ts";

const MiB = 1024 * 1024;

describe("values", () => {
  const cyclic = (): unknown => {
    const self: Record<string, unknown> = {};
    self["self"] = self;
    return self;
  };

  test("cross as JSON only [exec-wait:59]", async () => {
    await using desk = openDesk();
    await valueOf(
      desk.exec(
        `await tools.echo({ gone: undefined, list: [undefined, 1], at: new Date(0), n: NaN }); return 1`,
      ),
    );
    expect(desk.told[0]?.input).toEqual({ list: [null, 1], at: "1970-01-01T00:00:00.000Z", n: null });
    const code = `const seen = [];
      for (const input of [{ f: () => 1 }, () => 1, { s: Symbol("s") }, { p: Promise.resolve(1) }]) {
        try { seen.push(JSON.stringify((await tools.echo(input)).got)) } catch (e) { seen.push("refused") }
      }
      return seen`;
    await valueOf(desk.exec(code));
    const isPlain = (value: unknown): boolean =>
      JSON.stringify(value) === JSON.stringify(structuredClone(value));
    for (const { input } of desk.told) expect(isPlain(input)).toBe(true);
  });

  test("that belong to the host are out of the guest's reach [exec-wait:59]", async () => {
    const kept = { list: [1, 2], deep: { a: 1 } };
    await using desk = openDesk({ tools: { core: { kept: { execute: () => kept } } } });
    const code = `const got = await tools.kept({});
      got.list.push(3); got.deep.a = 2; got.__proto__.polluted = 1; Object.prototype.more = 1;
      return (await tools.kept({}))`;
    expect(await valueOf(desk.exec(code))).toMatchObject({ list: [1, 2], deep: { a: 1 } });
    expect(kept).toEqual({ list: [1, 2], deep: { a: 1 } });
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
  });

  test.each([
    ["a cycle", cyclic],
    ["a BigInt", (): unknown => ({ n: 1n })],
    [
      "a toJSON that throws",
      (): unknown => ({
        toJSON: () => {
          throw new Error("S3CRET");
        },
      }),
    ],
  ])("that are not JSON are refused: %s [exec-wait:59]", async (_what, make) => {
    const execute = (): unknown => make();
    await using desk = openDesk({ tools: { core: { odd: { execute } } } });
    const code = `try { return await tools.odd({}) } catch (e) { return [e.code, e.message] }`;
    const value = await valueOf(desk.exec(code));
    expect(value).toEqual(["invalid_output", expect.stringContaining("not JSON")]);
    expect((await desk.run.trajectory()).calls).toMatchObject([
      { status: "failed", error: { code: "invalid_output" } },
    ]);
    expect(JSON.stringify([value, await desk.run.trajectory()])).not.toContain("S3CRET");
  });

  test("that are too large to cross are an error, and never cut [exec-wait:60]", async () => {
    await using desk = openDesk();
    const code = `try { return (await tools.big({ n: ${5 * MiB} })).length } catch (e) { return [e.code, e.message] }`;
    expect(await valueOf(desk.exec(code))).toEqual([
      "output_limit",
      expect.stringMatching(/5242882 bytes.*4194304/u),
    ]);
    expect((await desk.run.trajectory()).calls).toMatchObject([
      { status: "failed", error: { code: "output_limit" } },
    ]);
    expect(await valueOf(desk.exec(`return (await tools.big({ n: ${4 * MiB - 2} })).length`))).toBe(
      4 * MiB - 2,
    );
  });

  test("that are too large on the way in are an error too [exec-wait:60]", async () => {
    await using desk = openDesk();
    const code = `try { await tools.echo("x".repeat(${2 * MiB})) } catch (e) { return e.code }`;
    expect(await valueOf(desk.exec(code))).toBe("input_limit");
    expect(desk.told).toEqual([]);
  });
});
