/**
 * Runs anywhere. Knows in which sandbox the runs of a host live, for values that belong to no run.
 *
 * - The sandbox is no member of `Host`: whoever has a host may start runs, and nothing else.
 */
import type { Sandbox } from "../../sandbox/sandbox.ts";
import type { Host } from "./host-options.ts";

const sandboxes = new WeakMap<Host, Sandbox>();

export function noteSandbox(host: Host, sandbox: Sandbox | undefined): void {
  if (sandbox !== undefined) sandboxes.set(host, sandbox);
}

/** Undefined for a host that somebody else wrote. */
export function sandboxOf(host: Host): Sandbox | undefined {
  return sandboxes.get(host);
}
