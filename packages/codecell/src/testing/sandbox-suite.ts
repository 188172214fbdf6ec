/**
 * Runs in tests. What every sandbox has to do: the sentences of the Sandbox contract, as tests.
 *
 * - Nothing waits for time to pass, and no test looks at the clock.
 * - One sandbox serves most tests, so that a test finds what the cells before it left behind.
 */
import { afterAll, beforeAll, describe, test } from "vitest";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { testBounds } from "./sandbox-bounds.ts";
import type { OpenSandbox, SandboxTest, SandboxTestSkip } from "./sandbox-cases.ts";
import { testCells } from "./sandbox-cells.ts";
import { testSandboxLife } from "./sandbox-life.ts";
import { testRepeats } from "./sandbox-repeats.ts";
import { testSnapshots } from "./sandbox-snapshots.ts";

/** On a busy machine too, only a test that hangs takes this long. */
const TIMEOUT_MS = 120_000;

/** Declares the tests of a sandbox; call it at the top of a test file. */
export function testSandbox(name: string, open: OpenSandbox, skip: readonly SandboxTestSkip[] = []): void {
  const unless = (title: SandboxTest): typeof test =>
    skip.some((one) => one.test === title) ? (test.skip as typeof test) : test;

  describe(`sandbox: ${name}`, { timeout: TIMEOUT_MS }, () => {
    let opened: Sandbox;
    const sandbox = (): Sandbox => opened;
    beforeAll(async () => {
      opened = await open({});
    }, TIMEOUT_MS);
    afterAll(() => opened[Symbol.asyncDispose](), TIMEOUT_MS);

    testCells(sandbox);
    testRepeats(sandbox);
    testSnapshots(sandbox, open);
    testBounds(sandbox, unless);
    testSandboxLife(sandbox, open, unless);
  });
}
