/** What the tests of the host's memory rely on. */
import { describe, expect, test } from "vitest";
import { lastCase, PATIENT } from "./last-case.ts";

describe("a room of 64 MB", PATIENT, () => {
  test("holds garbage of any size, and live memory up to its size", async () => {
    expect(await lastCase("garbage")).toBe("all of them");
    expect(await lastCase("fits")).toBe("all of them");
  });

  test("does not hold more, in the heap, in buffers or in both together", async () => {
    expect(await lastCase("heap")).toBe("heap: heap out of memory");
    expect(await lastCase("buffers")).toBe("buffers: MB of buffers");
    expect(await lastCase("both")).toBe("both: heap out of memory");
  });
});
