import { expect, test } from "vitest";
import { buildSpelling } from "./spelling.ts";

const spelling = buildSpelling(
  ["weather", "whether", "calendar", "mail", "mall", "repositori"],
  (term) => term === "main",
);

test.each([
  ["wether", ["weather", "whether"]],
  ["wheather", ["weather", "whether"]],
  ["calender", ["calendar"]],
  ["claendar", ["calendar"]],
  ["maill", ["mail", "mall"]],
  ["repozitry", []],
  ["repostori", ["repositori"]],
  ["repsoitroi", ["repositori"]],
  ["xeather", []],
  ["mai", []],
  ["main", []],
  ["mai1", []],
])("%s", (wrong, expected) => {
  expect([...spelling.closestTo(wrong)].sort()).toEqual([...expected].sort());
});
