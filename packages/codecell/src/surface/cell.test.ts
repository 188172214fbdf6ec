import { expect, test } from "vitest";
import { Cell } from "./cell.ts";

test("keeps what a hook made of an input until the call is settled, not only until it waits", () => {
  const cell = new Cell("t");
  cell.hook("c", { path: "b" });
  cell.begin("c", "tool", { path: "a" });
  cell.end("c");
  expect(cell.isHooked("c")).toBe(true);
  expect(cell.inputOf("c", { path: "a" })).toEqual({ path: "b" });
  cell.settle("c");
  expect(cell.isHooked("c")).toBe(false);
  expect(cell.pending).toEqual([]);
  expect(cell.isKnown("c")).toBe(true);
});
