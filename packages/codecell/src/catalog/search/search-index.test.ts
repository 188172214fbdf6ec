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
    ["creat an isue", "mcp:github:create_issue"],
    ["delete a bug ticket", "mcp:github:create_issue"],
    ["will it rain tomorrow", "core:weather"],
  ])("%s", (query, expected) => {
    expect(find(query)[0]).toBe(expected);
  });

  test.each(["mcp:github:list_issues", "list_issues", "listIssues", "List Issues", " list-issues "])(
    "[search:exact-first] an exact id or name is first: %s",
    (query) => {
      expect(find(query, 1)).toEqual(["mcp:github:list_issues"]);
    },
  );

  test("[search:exact-first] so is an exact title, and titles are searched", () => {
    const index = createSearchIndex([
      {
        id: "openapi:github:issues_create_milestone",
        name: "issues_create_milestone",
        description: "Creates an issue milestone",
        title: "Create a milestone",
      },
      {
        id: "openapi:github:issues_create",
        name: "issues_create",
        description: "Anybody may open one",
        title: "Create an issue",
      },
      { id: "openapi:github:pulls", name: "pulls", description: "", title: "List zebras" },
    ]);
    expect(index.search("create an issue", { limit: 1 })).toMatchObject([
      { id: "openapi:github:issues_create", exact: true },
    ]);
    expect(index.search("zebra", { limit: 1 })).toMatchObject([{ id: "openapi:github:pulls", exact: false }]);
  });

  test("[search:nothing-found] a query that fits nothing gives an empty list", () => {
    expect(find("photosynthesis")).toEqual([]);
    expect(find("")).toEqual([]);
    expect(find("what is it that I would like to have, please?")).toEqual([]);
    expect(createSearchIndex([]).search("anything")).toEqual([]);
  });

  test("reads only the beginning of a long request, but all of an id", () => {
    expect(find(`forecasts ${"? ".repeat(100_000)}`)).toEqual(["core:weather"]);
    expect(find(`${"? ".repeat(1000)} forecasts`)).toEqual([]);
    const [long] = createSearchIndex([{ id: "x".repeat(3000), name: "long", description: "" }]).search(
      "x".repeat(3000),
    );
    expect(long).toMatchObject({ exact: true });
  });

  test.each([
    ["give the customer their money back", "stripe_refund"],
    ["message the team", "slack_post"],
    ["look at picture", "img_resize"],
  ])("finds a tool that shares no word with the request: %s", (query, expected) => {
    const names: Readonly<Record<string, string>> = {
      stripe_refund: "Refund a charge",
      slack_post: "Post to a channel",
      img_resize: "Resize an image",
      web_search: "Search the web",
      send_email: "Send an email",
      read_file: "Read a file from disk",
    };
    const tools = Object.entries(names).map(([name, description]) => ({ id: name, name, description }));
    const found = createSearchIndex(tools).search(query, { limit: 3 });
    expect(found.map(({ id }) => id)).toContain(expected);
  });

  test("a limit that is not a whole number from 0 on is refused", () => {
    expect(find("issue", 1)).toHaveLength(1);
    expect(find("issue", 0)).toEqual([]);
    expect(() => find("issue", -1)).toThrow(RangeError);
    expect(() => find("issue", Number.NaN)).toThrow(RangeError);
  });
});
