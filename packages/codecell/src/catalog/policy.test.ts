import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { resolveConvenienceNames } from "./convenience-names.ts";
import { createPolicy } from "./policy.ts";
import { toToolId } from "./tool-id.ts";

function tool(id: string): { id: string; name: string } {
  return { id, name: id.split(":")[2] ?? "" };
}

const issue = tool("mcp:github:create_issue");

describe("policy", () => {
  test.each([
    ["its id", "mcp:github:create_issue"],
    ["its name", "create_issue"],
    ["all of its owner", "mcp:github:*"],
    ["all of its kind", "mcp:*:*"],
    ["some of any owner", "mcp:*:create_*"],
    ["a part of its name", "*_iss*e"],
    ["everything", "*"],
  ])("a pattern matches a tool by %s", (_what, pattern) => {
    expect(createPolicy({ allow: [pattern] })(issue)).toBe(true);
    expect(createPolicy({ deny: [pattern] })(issue)).toBe(false);
  });

  test.each([
    "mcp:gitlab:*",
    "github",
    "mcp:github:create",
    "create_issue_",
    "Create_Issue",
    "*:*:issue",
    "create*x",
  ])("%j does not match the tool", (pattern) => {
    expect(createPolicy({ allow: [pattern] })(issue)).toBe(false);
    expect(createPolicy({ deny: [pattern] })(issue)).toBe(true);
  });

  test("deny wins over allow", () => {
    expect(createPolicy({ allow: ["mcp:github:create_issue"], deny: ["mcp:*:*"] })(issue)).toBe(false);
  });

  test("without lists everything is allowed, with an empty allow list nothing", () => {
    expect(createPolicy({})(issue)).toBe(true);
    expect(createPolicy({ allow: [] })(issue)).toBe(false);
  });

  test("deny also matches the name that programs would call, allow only the tool's own name", () => {
    const removal = { id: "mcp:github:delete-user", name: "delete-user" };
    const cafe = { id: "mcp:x:cafe\u0301", name: "cafe\u0301" };
    expect(createPolicy({ deny: ["delete_user"] })(removal)).toBe(false);
    expect(createPolicy({ deny: ["delete_*"] })(removal)).toBe(false);
    expect(createPolicy({ deny: ["caf\u00E9"] })(cafe)).toBe(false);
    expect(createPolicy({ allow: ["delete_user"] })(removal)).toBe(false);
    expect(createPolicy({ allow: ["delete-user"] })(removal)).toBe(true);
  });

  test.each(["mcp:*:delete_*", "mcp:github:delete_user", "*:*:*_user"])(
    "%j denies a tool by the name that programs would call, but does not allow it",
    (pattern) => {
      const removal = { id: "mcp:github:delete-user", name: "delete-user" };
      expect(createPolicy({ deny: [pattern] })(removal)).toBe(false);
      expect(createPolicy({ allow: [pattern] })(removal)).toBe(false);
      expect(createPolicy({ deny: [pattern] })({ ...removal, id: "mcp:gitlab:x", name: "x" })).toBe(true);
    },
  );

  /** Names that an id escapes, and that change when they become identifiers. */
  const name = fc.string({
    unit: fc.constantFrom(..."ab1-_. :%*$é\u0301\u00A0".split("")),
    minLength: 1,
    maxLength: 8,
  });
  const glob = fc.string({ unit: fc.constantFrom(..."ab1_$é*".split("")), minLength: 1, maxLength: 4 });

  test("no allowed tool can be called by a denied name, however the pattern is written", () => {
    fc.assert(
      fc.property(fc.array(name, { maxLength: 6 }), glob, (names, pattern) => {
        for (const deny of [pattern, `mcp:*:${pattern}`, `*:own*:${pattern}`]) {
          const isAllowed = createPolicy({ deny: [deny] });
          const tools = [...new Set(names)].map((one) => ({ id: toToolId("mcp", "owner", one), name: one }));
          const left = tools.filter(isAllowed);
          const callable = [...resolveConvenienceNames(left).keys(), ...left.map((one) => one.name)];
          const isDenied = new RegExp(`^${pattern.replaceAll("$", "\\$").replaceAll("*", ".*")}$`, "su");
          expect(callable.filter((one) => isDenied.test(one) && deny === pattern)).toEqual([]);
          expect([...resolveConvenienceNames(left).keys()].filter((one) => isDenied.test(one))).toEqual([]);
        }
      }),
    );
  });

  test("a pattern may write an id's parts escaped or plain", () => {
    const spaced = { id: toToolId("mcp", "my server", "x\u00A0y"), name: "x\u00A0y" };
    for (const pattern of ["mcp:my server:*", "mcp:my%20server:*", "mcp:*:x\u00A0y", spaced.id]) {
      expect(createPolicy({ deny: [pattern] })(spaced), pattern).toBe(false);
    }
  });

  test.each(["", "mcp:github", "a:b:c:d", "mcp::x", ":github:x", "MCP:x:*", 7 as unknown as string])(
    "%j is refused, because it would match nothing",
    (pattern) => {
      expect(() => createPolicy({ deny: [pattern] })).toThrow(TypeError);
    },
  );

  test("a pattern without stars matches one tool", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme", minLength: 1 }),
        fc.string({ minLength: 1 }),
        (one, other) => {
          const id = toToolId("mcp", "owner", one);
          const rule = createPolicy({ allow: [id] });
          expect(rule({ id, name: one })).toBe(true);
          const otherId = toToolId("mcp", "owner", other);
          expect(rule({ id: otherId, name: other })).toBe(otherId === id);
        },
      ),
    );
  });

  test("many stars in a long name take no time", () => {
    const pattern = `${"a*".repeat(50)}b`;
    expect(createPolicy({ allow: [pattern] })({ id: "x:y:z", name: "a".repeat(20_000) })).toBe(false);
  });
});

describe("a name that its id has escaped", () => {
  const odd = { id: toToolId("mcp", "my server", "delete file"), name: "delete file" };

  test.each([
    "mcp:my server:*",
    "mcp:my%20server:*",
    "mcp:*:delete file",
    "delete file",
    "*:my server:delete*",
  ])("is denied by %j", (pattern) => {
    expect(createPolicy({ deny: [pattern] })(odd)).toBe(false);
  });

  test("is allowed by its plain name and by its id", () => {
    expect(createPolicy({ allow: ["mcp:my%20server:delete%20file"] })(odd)).toBe(true);
    expect(createPolicy({ allow: ["mcp:my server:*"] })(odd)).toBe(true);
  });

  test("is denied by its id even if it contains separators", () => {
    const colons = { id: toToolId("mcp", "a:b", "c%d"), name: "c%d" };
    expect(createPolicy({ deny: [colons.id] })(colons)).toBe(false);
    expect(createPolicy({ deny: ["mcp:a:b"] })(colons)).toBe(true);
  });
});
