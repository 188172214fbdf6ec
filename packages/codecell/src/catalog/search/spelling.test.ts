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
  expect([...spelling.ofRequest()(wrong)].sort()).toEqual([...expected].sort());
});

test("corrects the first words of a request, up to a bound on work, and all words of the next request", () => {
  const many = Array.from({ length: 1000 }, (_, at) => `work${String.fromCharCode(97 + (at % 26))}${at}`);
  const built = buildSpelling([...many, "weather"], () => false);
  const closestTo = built.ofRequest();
  expect(closestTo("wether")).toEqual(["weather"]);
  for (let word = 0; word < 1000; word++) closestTo("workxyz");
  expect(closestTo("wether")).toEqual([]);
  expect(built.ofRequest()("wether")).toEqual(["weather"]);
});
