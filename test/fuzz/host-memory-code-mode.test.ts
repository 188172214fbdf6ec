/** What a program chooses makes the host take at most 64 MB beyond the run's own memory. */
import { expect, test } from "vitest";
import { lastCase, PATIENT } from "./last-case.ts";

test(
  "[host:memory] a room of 64 MB holds whole programs of code mode beyond their run's own memory",
  PATIENT,
  async () => {
    expect(await lastCase("code mode")).toBe("all of them");
  },
);
