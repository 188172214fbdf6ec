/** Tests that a compact token of another build of the engine is refused in words, without making a call. */
import { atOnce } from "../loop/turn.ts";
import { expect, test } from "vitest";
import type { ToolSet } from "../contract/tool.ts";
import { parseHeader, parseSuspendedRun, sealableSteps } from "./suspended-run.ts";
import { Vault } from "../seal/vault.ts";
import { createHost } from "../run/host/host.ts";

const sealKey = new Uint8Array(32).fill(3);

test("refuses a compact token that another build made [suspend:resume]", async () => {
  let calls = 0;
  const tools: ToolSet = {
    rows: {
      execute: () => {
        calls++;
        return "x".repeat(100_000);
      },
    },
    ask: { execute: (_input, call) => call.resolution ?? call.suspend(null) },
  };
  await using host = createHost({ workers: 1, sealKey, compactTokens: true });
  const source = "const { length } = await tools.rows({}); return length + await tools.ask({});";
  const result = await host.start({ source, tools }).result;
  if (result.status !== "suspended") throw new Error(result.status);
  const { sealer } = new Vault({ sealKey });
  const opened = sealer.openText(result.suspension.token, "token", 1e8);
  const header = opened.ok ? parseHeader(opened.header) : undefined;
  const content = opened.ok ? opened.content() : undefined;
  if (header === undefined || content === undefined) throw new Error("Not opened");
  const run = atOnce(parseSuspendedRun(header, content));
  if (run?.snapshot === undefined) throw new Error("No snapshot");
  expect(run.ledger.hollow).toBe(true);
  // The snapshot begins with the build's digest.
  const snapshot = new Uint8Array(run.snapshot);
  snapshot.set([(snapshot[0] ?? 0) ^ 1]);
  const token = sealer.sealText(atOnce(sealableSteps({ ...run, snapshot })), "token");
  const resolutions = { [result.suspension.pending[0]?.callId ?? ""]: { resolution: 1 } };
  const refused = await host.resume({ token, tools, resolutions }).result;
  expect(refused).toMatchObject({
    status: "failed",
    failure: {
      code: "token_version",
      message: expect.stringContaining("only with the engine build that made it") as string,
    },
  });
  expect(calls).toBe(1);
});
