import { describe, expect, test } from "vitest";
import { resolveSealKeys } from "./seal-keys.ts";

const key = crypto.getRandomValues(new Uint8Array(32));
const older = crypto.getRandomValues(new Uint8Array(16));
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

function idsOf(variable: string): string[] {
  const { keys, isRandom } = resolveSealKeys({}, { CODECELL_SEAL_KEY: variable });
  expect(isRandom).toBe(false);
  return keys.map(({ id }) => hex(id));
}

describe("seal keys", () => {
  const [{ id }] = resolveSealKeys({ sealKey: key }, {}).keys;
  const [{ id: olderId }] = resolveSealKeys({ sealKey: older }, {}).keys;

  test.each(["hex", "base64", "base64url"] as const)("a key in the environment may be in %s", (encoding) => {
    const text = Buffer.from(key).toString(encoding);
    expect(idsOf(text)).toEqual([hex(id)]);
    expect(idsOf(text.replace(/=+$/u, ""))).toEqual([hex(id)]);
    expect(idsOf(` ${text} , ${Buffer.from(older).toString("base64")}\n`)).toEqual([hex(id), hex(olderId)]);
  });

  test("capital hexadecimal digits are the same key", () => {
    expect(idsOf(hex(key).toUpperCase())).toEqual([hex(id)]);
  });

  test("a given key comes before the environment, the environment before a random key", () => {
    const environment = { CODECELL_SEAL_KEY: hex(older) };
    expect(resolveSealKeys({ sealKey: key }, environment).keys[0].id).toEqual(id);
    expect(resolveSealKeys({ sealKeys: [key, older] }, environment).keys.map((one) => one.id)).toEqual([
      id,
      olderId,
    ]);
    expect(resolveSealKeys({}, environment).keys[0].id).toEqual(olderId);
    const random = resolveSealKeys({}, {});
    expect(random.isRandom).toBe(true);
    expect(resolveSealKeys({}, {}).keys).toEqual(random.keys);
  });

  test("derived keys differ from the key and from each other", () => {
    const [one] = resolveSealKeys({ sealKey: key }, {}).keys;
    const uses = [hex(one.id), hex(one.mac.export()), hex(one.encryption.export()), hex(key)];
    for (const use of uses) for (const other of uses) if (use !== other) expect(use).not.toContain(other);
    expect(new Set(uses.map((use) => use.slice(0, 16)))).toHaveProperty("size", 4);
  });

  test("changing the array later changes nothing", () => {
    const own = new Uint8Array(key);
    const { keys } = resolveSealKeys({ sealKey: own }, {});
    const before = hex(keys[0].mac.export());
    own.fill(1);
    expect(hex(keys[0].mac.export())).toBe(before);
  });

  test.each([
    ["too short", { sealKey: new Uint8Array(15).fill(1) }, "has 15 bytes, at least 16"],
    ["never filled", { sealKey: new Uint8Array(32) }, "all its bytes are 0"],
    ["a text", { sealKey: "secret secret secret" as never }, "Uint8Array"],
    ["null", { sealKey: null as never }, "Uint8Array"],
    ["a short one of several", { sealKeys: [key, new Uint8Array(3)] }, "sealKeys[1]: it has 3 bytes"],
    ["an empty list", { sealKeys: [] }, "empty"],
    ["no list", { sealKeys: key as never }, "list of keys"],
    ["both", { sealKey: key, sealKeys: [key] }, "together"],
  ])("%s is refused", (_name, options, message) => {
    expect(() => resolveSealKeys(options, {})).toThrow(message);
  });

  test.each([
    ["empty", "", "neither base64 nor hexadecimal"],
    ["unreadable", "my secret passphrase!", "neither base64 nor hexadecimal"],
    ["half a byte too long", "a".repeat(33), "neither base64 nor hexadecimal"],
    ["ending in a comma", `${hex(key)},`, "key 2 of CODECELL_SEAL_KEY"],
    ["too short", "c2VjcmV0", "key 1 of CODECELL_SEAL_KEY: it has 6 bytes"],
  ])(
    "an environment variable that is %s is refused in words, without quoting it",
    (_name, variable, message) => {
      const make = (): unknown => resolveSealKeys({}, { CODECELL_SEAL_KEY: variable });
      expect(make).toThrow(message);
      expect(make).toThrow("openssl rand -base64 32");
      if (variable.length > 3) expect(make).not.toThrow(variable);
    },
  );
});
