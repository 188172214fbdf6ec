/** Suspended runs that a page can read: the host's `compression` holds for tokens, stored runs and snapshots. */
import { createHost, type Host, type RunResult, type ToolSet } from "codecell";
import { createMemoryStore } from "codecell/store";
import { afterAll, describe, expect, test } from "vitest";
import { createWebLikeSandbox } from "../sandbox/web-like-sandbox.ts";
import { suspensionOf } from "./suspension-of.ts";

const sealKey = new Uint8Array(32).fill(7);
const sandbox = createWebLikeSandbox();
const deflating = createHost({ workers: 1, sealKey, compactTokens: true, compression: "deflate" });
const usual = createHost({ workers: 1, sealKey, compactTokens: true });
/** On what a page gives, beside the server that has the keys. */
const page = createHost({ sandbox, sealKey, compactTokens: true });
afterAll(async () => {
  for (const one of [deflating, usual, page, sandbox]) await one[Symbol.asyncDispose]();
});

const tools: ToolSet = {
  row: { execute: ({ n }: { n: number }) => ({ text: `${n} `.repeat(10_000), n }) },
  ask: { execute: (_input, call) => call.resolution ?? call.suspend("Go on?") },
};

/** Was given much and keeps little: its compact token has its memory, and no other way back. */
const SUMS = `let sum = 0;
for (let n = 0; n < 40; n++) sum += (await tools.row({ n })).n;
sum += await tools.ask({});
sum += await tools.ask({});
return sum;`;
const SUM = 39 * 20 + 2;

const FLAGS_AT = 7;
const ZSTD = 1;
const DEFLATE = 4;

function flagsOf(result: RunResult): number | undefined {
  return Buffer.from(suspensionOf(result).token, "base64url")[FLAGS_AT];
}

async function resumed(host: Host, result: RunResult): Promise<RunResult> {
  const { token, pending } = suspensionOf(result);
  return host.resume({ token, tools, resolutions: { [pending[0]?.callId ?? ""]: { resolution: 1 } } }).result;
}

describe("compression of a host", () => {
  test("applies to its tokens: zstd by default, or deflate", async () => {
    expect(flagsOf(await usual.start({ source: SUMS, tools }).result)).toBe(ZSTD);
    const first = await deflating.start({ source: SUMS, tools }).result;
    expect(flagsOf(first)).toBe(DEFLATE);
    expect(flagsOf(await resumed(deflating, first))).toBe(DEFLATE);
  });

  test("does not matter to readers: each host resumes from snapshots of the other", async () => {
    for (const [one, other] of [
      [usual, deflating],
      [deflating, usual],
    ] as const) {
      const first = await one.start({ source: SUMS, tools }).result;
      const second = await resumed(other, first);
      expect(await resumed(one, second)).toMatchObject({ status: "completed", value: SUM });
    }
  });

  test("a page reads deflate, and every host reads the deflate of a page", async () => {
    const first = await deflating.start({ source: SUMS, tools }).result;
    const second = await resumed(page, first);
    expect(await resumed(usual, second)).toMatchObject({ status: "completed", value: SUM });
  });

  test("a page cannot read zstd: a compact token in zstd is refused like one of another build", async () => {
    const first = await usual.start({ source: SUMS, tools }).result;
    expect(await resumed(page, first)).toMatchObject({
      status: "failed",
      failure: { code: "token_version" },
    });
  });

  test("applies to everything that a store gets, and a resumed run is stored anew", async () => {
    const memory = createMemoryStore();
    const sealed: Uint8Array[] = [];
    const seen = (value: unknown): void => {
      if (value instanceof Uint8Array) sealed.push(value);
      else if (typeof value === "object" && value !== null) Object.values(value).forEach(seen);
    };
    const store = new Proxy(memory, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== "function") return member;
        return (...given: unknown[]): unknown => {
          given.forEach(seen);
          return Reflect.apply(member, target, given);
        };
      },
    });
    const methods = (): Set<number> => new Set(sealed.splice(0).map((bytes) => bytes[FLAGS_AT] ?? -1));
    await using first = createHost({ workers: 1, sealKey, store });
    await using second = createHost({ workers: 1, sealKey, store, compression: "deflate" });
    const asked = await first.start({ source: SUMS, tools }).result;
    expect(methods()).toContain(ZSTD);
    const again = await resumed(second, asked);
    const written = methods();
    expect(written).toContain(DEFLATE);
    expect(written).not.toContain(ZSTD);
    const claimed = await memory.claim(again.runId, { owner: "a page's server", ms: 1000 });
    if (claimed === undefined || !("run" in claimed)) throw new Error("Not claimed");
    const { state, journal, snapshot } = claimed.run;
    for (const bytes of [state, ...journal, ...(snapshot === undefined ? [] : [snapshot])]) {
      expect([0, DEFLATE]).toContain(bytes[FLAGS_AT]);
    }
  });

  test.each(["gzip", "", null, 1, true])("cannot be %j", (compression) => {
    expect(() => createHost({ compression: compression as never })).toThrow(
      'Cannot create a host: compression must be "zstd" or "deflate"',
    );
  });
});
