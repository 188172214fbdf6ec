import { expect, test } from "vitest";
import { FAILURE_CODES, type FailureCode } from "../../../contract/failure.ts";
import { toError } from "../to-error.ts";
import { Losses } from "./losses.ts";

test("a program that could not go on counts as lost, whatever class its failure has [suspend:lost]", () => {
  const told: string[] = [];
  const losses = new Losses(new Map([["js", ({ code }) => void told.push(code)]]));
  for (const code of Object.keys(FAILURE_CODES) as FailureCode[]) {
    const error = toError({ code, message: "No" }, { js: "", limits: {}, errorOf: () => undefined });
    losses.refused("js", code, error);
  }
  losses.refused("js", "other", new TypeError("No"));
  expect(told).toEqual([
    "too_many_runs",
    "unavailable",
    "replay_diverged",
    "token_invalid",
    "token_version",
    "token_key",
    "token_scope",
    "token_expired",
    "run_unknown",
    "tool_missing",
    "resume_invalid",
    "store_failed",
  ]);
});
