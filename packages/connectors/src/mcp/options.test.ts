import { describe, expect, test } from "vitest";
import { mcp } from "./mcp.ts";
import type { McpOptions } from "./options.ts";

const secret = "secret-canary";

describe("options of an MCP connector", () => {
  test.each([
    [{ id: "" }, 'An MCP connector needs an "id", a text'],
    [{ id: "a" }, 'Cannot use the MCP connector "a": it needs either "command" or "url"'],
    [{ id: "a", command: "x", url: "http://x" }, 'it needs either "command" or "url"'],
    [{ id: "a", command: "x", header: {} }, "nobody reads its options header"],
    [{ id: "a", url: "http://x", env: {} }, "nobody reads its options env"],
    [{ id: "a", command: "" }, '"command" has to be the name of a program'],
    [{ id: "a", command: "x", args: secret }, '"args" has to be a list of texts'],
    [{ id: "a", command: "x", env: { KEY: 4711 } }, '"env.KEY" has to be a text'],
    [{ id: "a", url: secret }, '"url" has to be a URL'],
    [{ id: "a", url: `file:///${secret}` }, '"url" has to begin with http: or https:'],
    [{ id: "a", url: `http://a:${secret}@x` }, '"url" has credentials'],
    [{ id: "a", url: "http://x", headers: { "x-key": `a\n${secret}` } }, '"headers.x-key" is no header'],
    [{ id: "a", command: "x", timeoutMs: 0 }, '"timeoutMs" has to be a number from 1 to 2147483647'],
  ])("%j are refused", (options, message) => {
    const make = (): unknown => mcp(options as McpOptions);
    expect(make).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
    expect(make).toThrow(message);
    expect(make).not.toThrow(secret);
  });

  test("are complete without most of them", async () => {
    await using connector = mcp({ id: "a", command: "x" });
    expect(connector).toMatchObject({
      id: "a",
      kind: "mcp",
      card: { name: "a", description: 'The MCP server "a"' },
      facts: { transport: "stdio", timeoutMs: 60_000, startTimeoutMs: 30_000 },
      isTrusted: false,
    });
  });

  test("decide what the same service is, whatever its credentials are", async () => {
    const identityOf = async (options: McpOptions): Promise<string> => {
      await using connector = mcp(options);
      return connector.identity;
    };
    const url = "http://x/mcp";
    const identity = await identityOf({ id: "a", url });
    expect(identity).toMatch(/^mcp:[0-9a-f]{32}$/u);
    expect(await identityOf({ id: "b", url, headers: { authorization: secret } })).toBe(identity);
    expect(await identityOf({ id: "a", url: "http://x/other" })).not.toBe(identity);
    expect(await identityOf({ id: "a", command: url })).not.toBe(identity);
  });
});
