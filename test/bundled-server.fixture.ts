/** What a server does with Codecell, as one program: bundled by test/bundles.test.ts, it prints what came of it. */
import { createHost, run, type ToolSet } from "codecell";
import { defaultWorkerUrl, loadWorkerText } from "codecell/bundle";
import { createChecker } from "codecell/check";
import { openSqliteStore } from "codecell/store/sqlite";

const tools: ToolSet = {
  double: { execute: (n: number) => 2 * n },
  pay: {
    execute: (amount: number, call) => {
      if (call.resolution === undefined) call.suspend({ amount });
      return `${amount} by ${JSON.stringify(call.resolution)}`;
    },
  },
};

/** With a snapshot in the token: what one worker wrote, another one reads. */
async function resumed(): Promise<unknown> {
  const sealKey = crypto.getRandomValues(new Uint8Array(32));
  await using first = createHost({ workers: 1, sealKey });
  const source = "const a = await tools.double(4); return [a, await tools.pay(a)]";
  const waiting = await first.start({ source, tools }).result;
  if (waiting.status !== "suspended") return waiting;
  const { token, pending } = waiting.suspension;
  const resolutions = Object.fromEntries(pending.map(({ callId }) => [callId, { resolution: "ana" }]));
  await using second = createHost({ workers: 1, sealKey });
  const result = await second.resume({ token, resolutions, tools }).result;
  return result.status === "completed" ? result.value : result;
}

async function stored(): Promise<unknown> {
  await using store = await openSqliteStore({ path: "runs.sqlite" });
  await using host = createHost({ workers: 1, store, sealKey: new Uint8Array(32).fill(7) });
  const waiting = await host.start({ source: "return await tools.pay(3)", tools }).result;
  if (waiting.status !== "suspended") return waiting;
  const resolutions = Object.fromEntries(
    waiting.suspension.pending.map(({ callId }) => [callId, { resolution: "bo" }]),
  );
  const result = await host.resume({ id: waiting.runId, resolutions, tools }).result;
  return result.status === "completed" ? result.value : result;
}

/** A loop the engine interrupts, one that only the end of the thread stops, and who comes after them. */
async function hostile(): Promise<unknown> {
  await using host = createHost({ workers: 1, limits: { cpuTimeMs: 200 } });
  const codes: unknown[] = [];
  for (const source of ["for (;;);", "[].indexOf.call({ length: 2 ** 53 - 1 }, 1)", "return 'alive'"]) {
    const result = await host.start({ source }).result;
    codes.push(result.status === "failed" ? result.failure.code : result.status);
  }
  return codes;
}

async function checked(): Promise<unknown> {
  await using checker = createChecker();
  const warmed = await checker.warm().catch(({ message }: Error) => message);
  await using host = createHost({ workers: 1, check: { checker } });
  const result = await host.start({ source: "return 'unchecked'" }).result;
  return [warmed, result.status === "completed" ? result.value : result];
}

async function main(): Promise<void> {
  const result = await run({ source: "return await tools.double(21)", tools });
  const { protocol } = defaultWorkerUrl();
  await using host = createHost({ workers: 1, workerUrl: defaultWorkerUrl() });
  const again = await host.start({ source: "return typeof tools" }).result;
  const said = {
    first: result.status === "completed" ? result.value : result,
    protocol,
    again: again.status,
    text: (await loadWorkerText()).length > 100_000,
    resumed: await resumed(),
    stored: await stored(),
    hostile: await hostile(),
    checked: await checked(),
  };
  process.stdout.write(JSON.stringify(said));
}

// Not thrown: the line of a bundle in which it happened is all of the bundle.
main().catch(({ stack }: Error) => {
  process.stderr.write(stack ?? "failed");
  process.exitCode = 1;
});
