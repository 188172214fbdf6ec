/** A store without a key: after this process nobody can open what it keeps. */
import { createHost } from "codecell";
import { createMemoryStore, createShapeMemory, type Store } from "codecell/store";
import { openSqliteStore } from "codecell/store/sqlite";
import { afterEach, beforeEach, describe, expect, type MockInstance, test, vi } from "vitest";

const sealKey = new Uint8Array(32).fill(7);
let warned: MockInstance<typeof process.emitWarning>;

beforeEach(() => {
  warned = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
  vi.stubEnv("CODECELL_SEAL_KEY", undefined);
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

/** A memory store that claims to outlive the process. */
function lasting(): Store {
  return { ...createMemoryStore(), isVolatile: false };
}

describe("a host with a store", () => {
  test("that ends with the process, or with a key, does not warn", async () => {
    await using _memory = createHost({ workers: 1, store: createMemoryStore() });
    await using _file = createHost({ workers: 1, store: await openSqliteStore({ path: ":memory:" }) });
    await using _keyed = createHost({ workers: 1, store: lasting(), sealKey });
    vi.stubEnv("CODECELL_SEAL_KEY", Buffer.from(sealKey).toString("base64"));
    await using _environment = createHost({ workers: 1, store: lasting() });
    createShapeMemory({ store: lasting(), sealKey });
    expect(warned).not.toHaveBeenCalled();
  });

  test("that lasts, without a key, warns once for the process [suspend:lost]", async () => {
    await using _one = createHost({ workers: 1, store: lasting() });
    await using _other = createHost({ workers: 1, store: lasting() });
    createShapeMemory({ store: lasting() });
    expect(warned.mock.calls).toEqual([
      [
        expect.stringMatching(/CODECELL_SEAL_KEY.*sealKey of createHost.*openssl rand/u),
        { type: "CodecellWarning", code: "CODECELL_SEAL_KEY" },
      ],
    ]);
  });
});
