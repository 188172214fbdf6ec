/** One host per test file, and the two ways a run is expected to end. */
import { setTimeout } from "node:timers/promises";
import { createHost, type Failure, type Host, type Json, type StartOptions, type ToolSet } from "codecell";
import { afterAll } from "vitest";

export const host: Host = createHost({ workers: 2 });
afterAll(() => host[Symbol.asyncDispose]());

export type Options = Omit<StartOptions, "source">;

/** The value of a program that is expected to complete. */
export async function valueOf(source: string, options: Options = {}): Promise<Json> {
  const result = await host.start({ source, ...options }).result;
  if (result.status !== "completed") throw new Error(`Not completed: ${JSON.stringify(result)}`);
  return result.value;
}

/** The failure of a program that is expected to fail. */
export async function failureOf(source: string, options: Options = {}): Promise<Failure> {
  const result = await host.start({ source, ...options }).result;
  if (result.status !== "failed") throw new Error(`Not failed: ${JSON.stringify(result)}`);
  return result.failure;
}

export const echo: ToolSet = { echo: { execute: (input: unknown) => input } };

/** Settles after a while, or when the signal aborts. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, signal === undefined ? {} : { signal });
}
