/**
 * What follows from the table of guest features, for each of its entries: a feature that somebody forgot somewhere fails here.
 * The snapshots of other features are in ../sandbox/snapshot.test.ts, a feature that is new is in ./new-feature.test.ts.
 */
import { createHost, type StartOptions, type ToolSet } from "codecell";
import { createChecker } from "codecell/check";
import { afterAll, describe, expect, test } from "vitest";
import { toConvenienceName } from "../../packages/codecell/src/catalog/convenience-names.ts";
import { FEATURE_TABLE, type GuestFeature } from "../../packages/codecell/src/contract/feature-table.ts";
import {
  BEHIND_CALLS,
  CATALOG_TOOLS,
  declareFeatures,
  FEATURE_NAMES,
  FETCH_TOOL,
  type FeatureName,
  type FeatureSettings,
} from "../../packages/codecell/src/contract/features.ts";
import { BEHIND, BEHIND_NAMES, FEATURE_FLAGS } from "../../packages/codecell/src/guest/abi.ts";
import { isFeatures } from "../../packages/codecell/src/value/ledger-shape.ts";

/** What gives a program a feature, and what its ledger says then. */
const GIVEN: {
  readonly [Name in FeatureName]: readonly [options: Partial<StartOptions>, setting: FeatureSettings[Name]];
} = {
  catalog: [{ catalog: { names: new Set<string>(), allTools: () => "[]" } }, "[]"],
  detachedFails: [{ detachedCalls: "fail" }, true],
  yield: [{ mayYield: true }, true],
  connectors: [
    {
      connectors: {
        setting: { root: "connectors", handles: { desk: "cli:desk:" } },
        tools: {},
        declarations: "",
        withPolicy: () => undefined as never,
      },
      // Without this, handles bring the feature `web` along.
      webGlobals: false,
    },
    '{"root":"connectors","handles":{"desk":"cli:desk:"}}',
  ],
  fetch: [{ fetchPolicy: { allowedOrigins: ["https://example.com"] } }, true],
  web: [{ webGlobals: true }, true],
};

const checker = createChecker({ checkTimeMs: 60_000 });
const host = createHost({ workers: 1 });
const checking = createHost({ workers: 1, check: { checker } });
afterAll(async () => {
  await host[Symbol.asyncDispose]();
  await checking[Symbol.asyncDispose]();
  await checker[Symbol.asyncDispose]();
});

async function valueOf(source: string, options: Partial<StartOptions> = {}): Promise<unknown> {
  const result = await host.start({ source, ...options }).result;
  if (result.status !== "completed") throw new Error(`Not completed: ${JSON.stringify(result)}`);
  return result.value;
}

/** What the check has to say of a program that fails. */
async function adviceOn(source: string, options: Partial<StartOptions> = {}): Promise<string[]> {
  const result = await checking.start({ source, ...options }).result;
  if (result.status !== "failed") throw new Error(`Not failed: ${JSON.stringify(result)}`);
  expect(result.failure.code).toBe("guest_error");
  return (result.failure.advice ?? []).map(({ message }) => message);
}

const NAMES = "return Object.getOwnPropertyNames(globalThis)";
const plain = (await valueOf(NAMES)) as string[];
const cases = FEATURE_NAMES.map((name) => [name, FEATURE_TABLE[name] as GuestFeature] as const);

test("every program has the globals of the features that are always on", () => {
  const always = Object.values(FEATURE_TABLE as Readonly<Record<string, GuestFeature>>).filter(
    ({ setting }) => setting === "always",
  );
  expect(plain).toEqual(expect.arrayContaining(always.flatMap(({ globals }) => globals)));
});

test("no two features have the same global, or a call of the same name", () => {
  const globals = cases.flatMap(([, feature]) => feature.globals);
  expect(new Set(globals).size).toBe(globals.length);
  expect(new Set(BEHIND_NAMES).size).toBe(BEHIND_NAMES.length);
  expect(BEHIND_NAMES.map((name) => BEHIND[name as keyof typeof BEHIND])).toEqual([...BEHIND_NAMES.keys()]);
  const flags = Object.values(FEATURE_FLAGS);
  expect(flags.reduce((sum, flag) => sum | flag, 0)).toBe(2 ** flags.length - 1);
});

test("the calls that the library names in its code are in the table", () => {
  const named = [FETCH_TOOL, ...Object.values(CATALOG_TOOLS)];
  expect([...BEHIND_CALLS.keys()]).toEqual(expect.arrayContaining(named));
});

test("an unknown feature is not a setting", () => {
  expect(isFeatures({})).toBe(true);
  for (const bad of [{ unheard: true }, { tools: true }, { constructor: true }, null, "fetch"]) {
    expect(isFeatures(bad)).toBe(false);
  }
});

describe.each(cases)("%s", (name, feature) => {
  const [options, setting] = GIVEN[name];

  test("gives a program its globals and no others", async () => {
    const more = ((await valueOf(NAMES, options)) as string[]).filter((one) => !plain.includes(one));
    expect(more.toSorted()).toEqual([...feature.globals].toSorted());
  });

  test("puts its functions into namespaces, where no tool gets such a name", async () => {
    for (const [namespace, members] of Object.entries(feature.namespaces)) {
      const names = (await valueOf(`return Object.keys(${namespace})`, options)) as string[];
      expect(names).toEqual(expect.arrayContaining(Object.keys(members)));
      for (const member of Object.keys(members)) expect(toConvenienceName(member)).toBeUndefined();
    }
  });

  test("is recorded, and comes back with the ledger", async () => {
    const run = host.start({ source: NAMES, ...options });
    const result = await run.result;
    const ledger = JSON.parse(JSON.stringify(run.ledger())) as ReturnType<typeof run.ledger>;
    expect(ledger.features).toEqual({ [name]: setting });
    expect(isFeatures(ledger.features)).toBe(true);
    expect(isFeatures({ [name]: setting === true ? "true" : true })).toBe(false);
    expect(isFeatures({ [name]: false })).toBe(false);
    const { value } = result as { readonly value?: unknown };
    expect(await host.replay(ledger).result).toMatchObject({ value });
  });

  test("refuses tools with the names of its calls, and calls of tools by those names", async () => {
    for (const { name: call, endedBy, instead } of feature.calls) {
      const tools: ToolSet = { [call]: { execute: () => 1 } };
      if (endedBy !== "tool") {
        expect(() => host.start({ source: "", tools, ...options })).toThrow(`no tool can be named "${call}"`);
      }
      expect(await valueOf(`return await tools["${call}"]({})`, { tools })).toBe(1);
      const use = name === "catalog" ? `tools.call("${call}")` : `tools["${call}"]()`;
      const source = `return await ${use}.catch((error) => [error.code, error.message])`;
      const said = `Cannot call tool "${call}": no such tool, ${instead}`;
      expect(await valueOf(source, options)).toEqual(["unknown_tool", said]);
    }
  });

  test("is declared for the check, to programs that have it", async () => {
    const declared = declareFeatures({ [name]: setting }).join("\n");
    const found = [...declared.matchAll(/^declare (?:const|var|function|class) (\w+)/gmu)].map(
      ([, one]) => one,
    );
    expect(found.toSorted()).toEqual([...feature.globals].toSorted());
    const members = Object.entries(feature.namespaces).flatMap(([namespace, functions]) =>
      Object.keys(functions).map((one) => `${namespace}.${one}`),
    );
    const failing = (uses: readonly string[]): string => `void [${uses.join(", ")}]; throw new Error("x")`;
    expect(await adviceOn(failing([...feature.globals, ...members]), options)).toEqual([]);
    const without = await adviceOn(failing(feature.globals));
    expect(without.length).toBe(feature.globals.length);
    for (const global of feature.globals) expect(without.join()).toContain(`'${global}'`);
  });
});
