/** Section 4.2 of the contract's tests: when code mode is active, and what the model sees then. */
import { type AgentTools, PayloadError, type PreparedAgentRun } from "codecell/surface";
import { describe, expect, test } from "vitest";
import { createFixtures, IDS, openDesk, POLICY } from "./fixtures.ts";
import { expectStatus } from "./result-schema.ts";

const SEARCH_TOOLS = ["tool_search_code", "tool_search", "tool_describe", "tool_call"];

function namesOf({ visibleTools }: PreparedAgentRun): string[] {
  return visibleTools.map(({ name }) => name);
}

/** The tools of a request, as a loop would send them. */
function payloadOf({
  visibleTools,
}: PreparedAgentRun): { name: string; description?: string; input: unknown }[] {
  return visibleTools.map(({ name, tool: { description = "", input } }) => ({ name, description, input }));
}

describe("the surface", () => {
  test("[exec-wait:8] is exec and wait, and names no other tool outside the description of exec", async () => {
    await using desk = openDesk();
    expect(namesOf(desk.run)).toEqual(["exec", "wait"]);
    const payload = payloadOf(desk.run);
    expect(desk.run.assertPayload(payload)).toEqual(payload);
    const outside = JSON.stringify(
      payload.map((tool) => (tool.name === "exec" ? { ...tool, description: undefined } : tool)),
    );
    const words = new Set(outside.split(/\W+/u));
    const { core = {}, plugin, mcp, client } = desk.tools;
    const sets = [core, ...[plugin, mcp, client].flatMap((owners) => Object.values(owners ?? {}))];
    const entries = sets.flatMap((set) => Object.entries(set)).filter(([name]) => name !== "exec");
    expect(entries.length).toBeGreaterThan(12);
    for (const [name, { description = "", input }] of entries) {
      expect(words, name).not.toContain(name);
      expect(outside).not.toContain(description);
      if (input !== undefined) expect(outside).not.toContain(JSON.stringify(input));
    }
    for (const field of ["path", "command", "title"]) expect(words).not.toContain(field);
    // What may not be called appears nowhere.
    expect(JSON.stringify(payload)).not.toContain("forbidden");
    for (const name of SEARCH_TOOLS) expect(JSON.stringify(payload)).not.toContain(name);
  });

  test("[exec-wait:8] the telemetry names what the model sees", async () => {
    await using desk = openDesk();
    const { telemetry } = await desk.exec("return 1");
    expect(telemetry.visibleTools).toEqual(["exec", "wait"]);
  });
});

describe("a run without tools", () => {
  test.each([
    ["a raw model call", { tools: {} }],
    ["a run with empty sets", { tools: { core: {}, mcp: { github: {} } } }],
    ["disableTools", { disableTools: true }],
    ["an empty allowlist", { policy: { allow: [] } }],
    ["an allowlist that fits nothing", { policy: { allow: ["no_such_tool"] } }],
    ["all denied", { policy: { deny: ["*"] } }],
    ["disableTools with a wrong configuration", { disableTools: true, config: { enabled: true, mode: "x" } }],
  ])("[exec-wait:9] %s gets neither exec nor wait, and its payload is not checked", async (_, options) => {
    await using desk = openDesk(options);
    expect(desk.run.isActive).toBe(false);
    expect(desk.run.visibleTools).toEqual([]);
    for (const payload of [[], [{ name: "something" }], [{ name: "exec" }]]) {
      expect(desk.run.assertPayload(payload)).toBe(payload);
    }
    expect(expectStatus("failed", await desk.exec("return 1")).code).toBe("invalid_input");
  });
});

describe("the policy", () => {
  const idsIn = async (desk: ReturnType<typeof openDesk>): Promise<unknown> =>
    expectStatus("completed", await desk.exec("return ALL_TOOLS.map((tool) => tool.id)")).value;

  test("[exec-wait:10] is applied before anything is catalogued", async () => {
    await using desk = openDesk({ policy: { deny: [...POLICY.deny, "plugin:browser:*", "create_issue"] } });
    const left = IDS.filter((id) => !id.includes("browser") && !id.includes("create_issue"));
    expect(await idsIn(desk)).toEqual(left);
    expect(desk.run.catalog?.entries.map(({ id }) => id)).toEqual(left);
    const tried = await desk.exec(`
      const found = [];
      for (const use of [
        () => tools.call("plugin:browser:browser_request"),
        () => tools.call("browser_request"),
        () => tools.describe("plugin:browser:browser_request"),
      ]) found.push(await use().catch((error) => error.message));
      return [found, typeof tools.browser_request, await tools.search("browser_request")];
    `);
    const { value } = expectStatus("completed", tried);
    const [found, kind, hits] = value as [string[], string, { id: string }[]];
    for (const message of found) expect(message).toContain("no such tool");
    expect(kind).toBe("undefined");
    expect(hits.map(({ id }) => id)).not.toContain("plugin:browser:browser_request");
  });

  test("[exec-wait:10] allows what an allowlist names, except what a deny list names", async () => {
    await using desk = openDesk({ policy: { allow: ["core:core:*", "mcp:*:*"], deny: POLICY.deny } });
    expect(await idsIn(desk)).toEqual(IDS.filter((id) => id.startsWith("core:") || id.startsWith("mcp:")));
  });

  test("[exec-wait:10] [exec-wait:14] holds for tools marked direct-only too", async () => {
    const { tools } = createFixtures();
    const marked: AgentTools = {
      ...tools,
      client: { app: { open: { directOnly: true, execute: () => 1 }, shut: { execute: () => 1 } } },
    };
    await using desk = openDesk({ tools: marked, policy: { deny: [...POLICY.deny, "open"] } });
    expect(namesOf(desk.run)).toEqual(["exec", "wait"]);
  });
});

describe("the payload of a request", () => {
  test("[exec-wait:11] what a late hook adds is left out", async () => {
    await using desk = openDesk();
    const payload = payloadOf(desk.run);
    const broad = [{ name: "echo", input: {} }, ...payload.toReversed(), { name: "Exec", input: {} }];
    expect(desk.run.assertPayload(broad)).toEqual(payload);
  });

  test("[exec-wait:11] is refused if exec or wait is missing or there twice", async () => {
    await using desk = openDesk();
    const [exec, wait] = payloadOf(desk.run);
    const shell = { name: "exec", description: "Runs a command in the shell", input: {} };
    for (const payload of [
      [],
      [exec],
      [wait],
      [{ name: "echo" }],
      [exec, wait, shell],
      [shell, exec, wait],
    ]) {
      const given = payload.filter((tool) => tool !== undefined);
      expect(() => desk.run.assertPayload(given)).toThrow(PayloadError);
    }
  });

  test("[exec-wait:11] a tool that took the place of exec is refused", async () => {
    await using desk = openDesk();
    const [, wait] = payloadOf(desk.run);
    const shell = { name: "exec", description: "Runs a command in the shell" };
    expect(() => desk.run.assertPayload([shell, wait ?? shell])).toThrow(PayloadError);
  });

  test("[exec-wait:11] is checked in the same way if the configuration is wrong", async () => {
    await using desk = openDesk({ config: { enabled: true, runtime: "v8" } });
    const payload = payloadOf(desk.run);
    expect(desk.run.assertPayload([...payload, { name: "echo" }])).toEqual(payload);
    expect(() => desk.run.assertPayload([{ name: "echo" }])).toThrow(PayloadError);
  });
});

describe("two runs at once", () => {
  test("[exec-wait:12] see their own tools only", async () => {
    await using desk = openDesk();
    const called: string[] = [];
    const own = (name: string): AgentTools => ({
      mcp: { [name]: { [`${name}_tool`]: { execute: () => called.push(name) } } },
    });
    const one = desk.prepare({ tools: own("one"), policy: {} });
    const two = desk.prepare({ tools: own("two"), policy: {} });
    const code = (other: string): string => `
      const ids = ALL_TOOLS.map((tool) => tool.id);
      const tries = [];
      for (const id of ["mcp:${other}:${other}_tool", "${other}_tool"]) {
        tries.push(await tools.call(id).then(() => "called", (error) => error.code));
        tries.push(await tools.describe(id).then(() => "described", (error) => error.toolCode));
      }
      return [ids, tries, typeof tools.${other}_tool, (await tools.search("${other}_tool")).map((tool) => tool.id)];
    `;
    const [first, second] = await Promise.all([
      one.exec({ code: code("two") }),
      two.exec({ code: code("one") }),
    ]);
    const refused = ["unknown_tool", "unknown_tool", "unknown_tool", "unknown_tool"];
    for (const [result, name] of [
      [first, "one"],
      [second, "two"],
    ] as const) {
      const id = `mcp:${name}:${name}_tool`;
      const { value } = expectStatus("completed", result);
      const [ids, tries, kind, hits] = value as [string[], string[], string, string[]];
      expect({ ids, tries, kind }).toEqual({ ids: [id], tries: refused, kind: "undefined" });
      expect(hits.filter((hit) => hit !== id)).toEqual([]);
    }
    expect(called).toEqual([]);
  });

  test("[exec-wait:12] load none of each other's saved values", async () => {
    await using desk = openDesk({ config: { enabled: true, maxOutputBytes: 1024 } });
    const { value } = expectStatus("completed", await desk.exec(`return "x".repeat(5000)`));
    const { ref } = value as unknown as { ref: string };
    const load = `return (await load_result("${ref}")).length`;
    expect(await desk.exec(load)).toMatchObject({ value: 5000 });
    expect(await desk.prepare().exec({ code: load })).toMatchObject({ status: "failed" });
  });
});

describe("tool search", () => {
  test("[exec-wait:13] is replaced: not shown, not catalogued, not callable", async () => {
    await using desk = openDesk();
    expect(Object.keys(desk.tools.core ?? {})).toEqual(expect.arrayContaining(SEARCH_TOOLS));
    expect(namesOf(desk.run)).toEqual(["exec", "wait"]);
    const result = await desk.exec(`
      const tries = [];
      for (const name of ${JSON.stringify(SEARCH_TOOLS)}) {
        for (const id of [name, "core:core:" + name]) {
          tries.push(await tools.call(id, {}).then(() => "called", (error) => error.code));
          tries.push(await tools.describe(id).then(() => "described", (error) => error.toolCode));
        }
        tries.push(typeof tools[name], name in tools);
      }
      return [[...new Set(tries)], ALL_TOOLS.map((tool) => tool.id)];
    `);
    expect(expectStatus("completed", result).value).toEqual([["unknown_tool", "undefined", false], IDS]);
  });

  test("[exec-wait:13] its tools are not shown even if they are marked direct-only", async () => {
    const core = Object.fromEntries(
      SEARCH_TOOLS.map((name) => [name, { directOnly: true, execute: () => "never" }]),
    );
    await using desk = openDesk({ tools: { core: { ...core, echo: { execute: () => 1 } } } });
    expect(namesOf(desk.run)).toEqual(["exec", "wait"]);
    expect(desk.run.catalog?.entries.map(({ id }) => id)).toEqual(["core:core:echo"]);
  });
});

describe("direct-only tools", () => {
  const direct = { description: "Speaks to the user", directOnly: true, execute: () => "spoken" };

  test("[exec-wait:14] stay in sight and are not catalogued", async () => {
    const { tools } = createFixtures();
    await using desk = openDesk({ tools: { ...tools, client: { app: { speak: direct } } } });
    expect(namesOf(desk.run)).toEqual(["exec", "wait", "speak"]);
    expect(desk.run.visibleTools[2]?.tool).toBe(direct);
    const result = await desk.exec(`
      return [
        ALL_TOOLS.some((tool) => tool.name === "speak"),
        typeof tools.speak,
        await tools.call("client:app:speak").then(() => "called", (error) => error.code),
      ];
    `);
    expect(result).toMatchObject({ value: [false, "undefined", "unknown_tool"] });
    expect(result.telemetry.visibleTools).toEqual(["exec", "wait", "speak"]);
    const payload = payloadOf(desk.run);
    expect(desk.run.assertPayload([...payload, { name: "echo" }])).toEqual(payload);
    expect(() => desk.run.assertPayload(payload.slice(0, 2))).toThrow(PayloadError);
  });

  test("[exec-wait:14] only `true` marks a tool as direct-only", async () => {
    const { tools } = createFixtures();
    const odd = { ...direct, directOnly: "yes" as unknown as boolean };
    await using desk = openDesk({ tools: { ...tools, client: { app: { speak: odd } } } });
    expect(namesOf(desk.run)).toEqual(["exec", "wait"]);
  });

  test("[exec-wait:14] a tool with the name of exec or of another direct-only tool is refused", async () => {
    await using desk = openDesk();
    expect(() => desk.prepare({ tools: { client: { app: { exec: direct } } } })).toThrow(
      "two tools of one name",
    );
    const twice = { a: { speak: direct }, b: { speak: { ...direct } } };
    expect(() => desk.prepare({ tools: { mcp: twice } })).toThrow("two tools of one name");
  });
});
