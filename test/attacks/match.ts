/** Compares the result of a run with what a case expects. */
import { isDeepStrictEqual } from "node:util";
import type { Json, RunResult } from "codecell";
import type { ErrorExpectation, Expectation, ValueExpectation } from "./case.ts";
import { classesOf } from "./classes.ts";

/** Says what is wrong with the result; undefined when it is as expected. */
export function mismatch(expected: Expectation, result: RunResult): string | undefined {
  if ("anyOf" in expected) {
    const problems = expected.anyOf.map((one) => mismatch(one, result));
    return problems.includes(undefined) ? undefined : problems.join(", and ");
  }
  return expected.outcome === "value" ? valueMismatch(expected, result) : errorMismatch(expected, result);
}

function valueMismatch(expected: ValueExpectation, result: RunResult): string | undefined {
  if (result.status !== "completed") return "expected a value";
  const { value } = result;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  if (expected.nullish === true && value !== null) return "expected null";
  if (expected.value !== undefined && !isDeepStrictEqual(value, expected.value)) {
    return `expected the value ${JSON.stringify(expected.value)}`;
  }
  if (expected.matches !== undefined && !new RegExp(expected.matches).test(text)) {
    return `expected a value that matches ${expected.matches}`;
  }
  if (expected.notMatches !== undefined && new RegExp(expected.notMatches).test(text)) {
    return `expected a value that does not match ${expected.notMatches}`;
  }
  if (expected.subset !== undefined && !contains(value, expected.subset)) {
    return `expected a value that contains ${JSON.stringify(expected.subset)}`;
  }
  return undefined;
}

function errorMismatch(expected: ErrorExpectation, result: RunResult): string | undefined {
  if (result.status !== "failed") return `expected the failure ${String(expected.class)}`;
  const wanted = typeof expected.class === "string" ? [expected.class] : expected.class;
  const found = classesOf(result.failure);
  if (!found.some((one) => wanted.includes(one))) {
    return `expected the failure ${wanted.join(" or ")}, not ${found.join("/")}`;
  }
  const { messageIncludes } = expected;
  if (messageIncludes !== undefined && !result.failure.message.includes(messageIncludes)) {
    return `expected a message with "${messageIncludes}"`;
  }
  return undefined;
}

function contains(value: Json | undefined, subset: Json): boolean {
  if (typeof subset !== "object" || subset === null) return isDeepStrictEqual(value, subset);
  if (typeof value !== "object" || value === null) return false;
  const fields = value as Readonly<Record<string, Json>>;
  return Object.entries(subset).every(
    ([key, part]) => Object.hasOwn(fields, key) && contains(fields[key], part),
  );
}
