import { describe, expect, test } from "vitest";
import type { SearchDocument } from "./document.ts";
import { createSearchIndex } from "./search-index.ts";

const TOOLS: readonly SearchDocument[] = [
  {
    id: "mcp:github:create_issue",
    name: "create_issue",
    description: "Create a new issue in a repository",
    owner: "github",
    inputSchema: {
      type: "object",
      properties: { assignees: { type: "array", description: "Logins of people" } },
    },
  },
  {
    id: "mcp:github:list_issues",
    name: "list_issues",
    description: "List the issues of a repository",
    owner: "github",
  },
  { id: "mcp:gmail:send_email", name: "send_email", description: "Send a message to people", owner: "gmail" },
  { id: "core:weather", name: "getForecast", description: "Weather of the next days", tags: ["meteorology"] },
];

const index = createSearchIndex(TOOLS);
const find = (query: string, limit?: number): string[] =>
  index.search(query, limit === undefined ? {} : { limit }).map(({ id }) => id);

describe("search", () => {
  test.each([
    ["creating issues", "mcp:github:create_issue"],
    ["who are the assignees", "mcp:github:create_issue"],
    ["logins", "mcp:github:create_issue"],
    ["send emails", "mcp:gmail:send_email"],
    ["forecasts", "core:weather"],
    ["meteorology", "core:weather"],
    ["gmail", "mcp:gmail:send_email"],
  ])("%s", (query, expected) => {
    expect(find(query)[0]).toBe(expected);
  });

  test.each(["mcp:github:list_issues", "list_issues", "listIssues", "List Issues", " list-issues "])(
    "an exact id or name is first: %s",
    (query) => {
      expect(find(query, 1)).toEqual(["mcp:github:list_issues"]);
    },
  );

  test("nothing fits: an empty list", () => {
    expect(find("photosynthesis")).toEqual([]);
    expect(find("")).toEqual([]);
    expect(find("what is it that I would like to have, please?")).toEqual([]);
    expect(createSearchIndex([]).search("anything")).toEqual([]);
  });

  test("a limit that is no count is refused", () => {
    expect(find("issue", 1)).toHaveLength(1);
    expect(find("issue", 0)).toEqual([]);
    expect(() => find("issue", -1)).toThrow(RangeError);
    expect(() => find("issue", Number.NaN)).toThrow(RangeError);
  });
});
