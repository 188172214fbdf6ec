import { describe, expect, test } from "vitest";
import { closestNames } from "./closest-names.ts";

const names = ["gmail_search", "gmail_send", "create_issue", "listIssues", "weather"];

describe("closestNames", () => {
  test.each([
    ["gmail_serach", "gmail_search"],
    ["gmailSearch", "gmail_search"],
    ["GMAIL.SEND", "gmail_send"],
    ["create-issue", "create_issue"],
    ["list_issues", "listIssues"],
    ["wether", "weather"],
    ["getWeather", "weather"],
  ])("%s is meant for %s", (wanted, meant) => {
    expect(closestNames(wanted, names)[0]).toBe(meant);
  });

  test("a name that is like no other gets no advice", () => {
    expect(closestNames("zzzzzz", names)).toEqual([]);
    expect(closestNames("c", ["a", "b"])).toEqual([]);
    expect(closestNames("nope", ["zopt", "note"])).toEqual(["note"]);
  });

  test("names at most three, and the same three in any order of the tools", () => {
    const many = Array.from({ length: 50 }, (_, index) => `tool_${index}`);
    expect(closestNames("tool_", many)).toEqual(closestNames("tool_", many.toReversed()));
    expect(closestNames("tool_", many)).toHaveLength(3);
  });

  test("finds the best of very many names", () => {
    const many = Array.from({ length: 10_000 }, (_, index) => `do_something_with_${index}`);
    expect(closestNames("do_something_wiht_7777", many)[0]).toBe("do_something_with_7777");
    expect(closestNames("something_with_7777", many)).toContain("do_something_with_7777");
  });

  test("a huge name costs little", () => {
    expect(closestNames("x".repeat(1_000_000), names)).toEqual([]);
  });
});
