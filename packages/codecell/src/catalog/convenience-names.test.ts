import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { resolveConvenienceNames, toConvenienceName } from "./convenience-names.ts";

describe("convenience names", () => {
  test.each([
    ["create_issue", "create_issue"],
    ["create-issue", "create_issue"],
    ["llm-task", "llm_task"],
    ["issues/list for org", "issues_list_for_org"],
    ["getUser", "getUser"],
    ["3d.render", "_3d_render"],
    ["größe", "größe"],
    ["$raw", "$raw"],
    ["--a--", "a"],
    ["_private", "_private"],
  ])("%j becomes %j [exec-wait:22]", (name, expected) => {
    expect(toConvenienceName(name)).toBe(expected);
  });

  test.each([
    "search",
    "describe",
    "call",
    "then",
    "__proto__",
    "constructor",
    "delete",
    "default",
    "await",
    "toString",
    "hasOwnProperty",
    "toJSON",
    "prototype",
    "---",
    "",
    "🔑",
  ])("%j has no convenience name [exec-wait:24]", (name) => {
    expect(toConvenienceName(name)).toBeUndefined();
  });

  test("neither of two tools gets a name that both would have [exec-wait:23]", () => {
    const names = resolveConvenienceNames([
      { id: "mcp:a:create-issue", name: "create-issue" },
      { id: "mcp:b:create_issue", name: "create_issue" },
      { id: "mcp:c:create.issue", name: "create.issue" },
      { id: "mcp:b:other", name: "other" },
    ]);
    expect([...names]).toEqual([["other", "mcp:b:other"]]);
  });

  test("is always an identifier that shadows nothing", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (name) => {
        const convenience = toConvenienceName(name);
        if (convenience === undefined) return;
        expect(convenience).toMatch(/^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u);
        expect(convenience in {}).toBe(false);
        expect(toConvenienceName(convenience)).toBe(convenience);
      }),
    );
  });
});
