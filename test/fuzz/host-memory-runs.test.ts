/** What a program chooses makes the host take at most 64 MB beyond the run's own memory. */
import { expect, test } from "vitest";
import { lastCase, PATIENT } from "./last-case.ts";

test("[host:memory] a room of 64 MB holds whole runs beyond their own memory", PATIENT, async () => {
  expect(await lastCase("runs")).toBe("all of them");
});
