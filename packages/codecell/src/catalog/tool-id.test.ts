import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fromToolId, toToolId } from "./tool-id.ts";

describe("tool id [exec-wait:16]", () => {
  test("is its kind, owner and name", () => {
    expect(toToolId("mcp", "github", "create_issue")).toBe("mcp:github:create_issue");
    expect(toToolId("core", "core", "größe/änderung-2")).toBe("core:core:größe/änderung-2");
  });

  test("has three parts and no pattern characters, whatever the names are", () => {
    expect(toToolId("mcp", "a:b", "c*%: d\n")).toBe("mcp:a%3Ab:c%2A%25%3A%20d%0A");
  });

  test.each([
    ["", "a", "b"],
    ["MCP", "a", "b"],
    ["mc:p", "a", "b"],
    ["mcp", "", "b"],
    ["mcp", "a", ""],
  ])("is refused for %j %j %j", (kind, owner, name) => {
    expect(() => toToolId(kind, owner, name)).toThrow(TypeError);
  });

  test("gives back the names that it was made of", () => {
    const odd = fc.constantFrom(
      "\uD800",
      "\uDC00",
      "%uD800",
      "%41",
      "é\u200B",
      "*:%",
      "\u{1F600}",
      "\u{E0001}",
    );
    const text = fc
      .array(fc.oneof(fc.string({ unit: "grapheme" }), odd), { minLength: 1 })
      .map((parts) => parts.join(""))
      .filter((one) => one !== "");
    fc.assert(
      fc.property(text, text, (owner, tool) => {
        expect(fromToolId(toToolId("mcp", owner, tool))).toEqual({ kind: "mcp", owner, tool });
      }),
    );
    for (const none of ["", "a", "a:b", "a:b:", "a::c", "A:b:c", "a:b:c:d", "a:b:%FF"])
      expect(fromToolId(none)).toBeUndefined();
  });

  test("is different for different tools", () => {
    const halves = fc.constantFrom("\uD800", "\uD801", "\uDC00", "%uD800", "\uFFFD");
    const text = fc.oneof(fc.string({ unit: "grapheme", minLength: 1 }), halves);
    fc.assert(
      fc.property(text, text, text, text, (owner, name, otherOwner, otherName) => {
        const isSame = owner === otherOwner && name === otherName;
        const id = toToolId("mcp", owner, name);
        expect(id === toToolId("mcp", otherOwner, otherName)).toBe(isSame);
        expect(id.split(":")).toHaveLength(3);
      }),
    );
  });
});
