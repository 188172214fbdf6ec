import { expectTypeOf, test } from "vitest";
import type { StartOptions } from "../run/host/host.ts";
import type { PendingCall, RunResult, Suspension } from "./result.ts";

test("a suspension tells pending calls and yields apart", () => {
  expectTypeOf<Suspension["pending"]>().toEqualTypeOf<readonly PendingCall[]>();
  expectTypeOf<Suspension["yielded"]>().toEqualTypeOf<readonly string[]>();
  expectTypeOf<Extract<RunResult, { status: "suspended" }>["suspension"]>().toEqualTypeOf<Suspension>();
});

test("whether a program may yield is said when its run is started", () => {
  expectTypeOf<StartOptions>().toHaveProperty("mayYield").toEqualTypeOf<boolean | undefined>();
});
