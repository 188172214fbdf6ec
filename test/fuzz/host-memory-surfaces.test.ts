/** What a program chooses makes the host take at most 64 MB beyond the run's own memory. */
import { expect, test } from "vitest";
import { lastCase, PATIENT } from "./last-case.ts";

test("[host:memory] a room of 64 MB holds all work on what a program chooses", PATIENT, async () => {
  expect(await lastCase("surfaces")).toBe("all of them");
});
