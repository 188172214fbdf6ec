/** A set whose members are MCP servers: a process and one over HTTP. */
import { set, type Connector } from "@codecell/connectors";
import { type ConnectorUnderTest, type KnownCall, testConnector } from "@codecell/connectors/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openHttp, openStdio, START_TIMEOUT_MS } from "./mcp/opened.ts";
import { nobody, requestOf } from "./web-backend.ts";

const card = { name: "Desk", description: "Two servers" };

/** All of these have the id "fixture": in a set each needs a name of its own. */
function named(id: string, connector: Connector): Connector {
  return set({
    id,
    card,
    retryMs: 0,
    memberTimeoutMs: START_TIMEOUT_MS,
    connectors: [connector],
    owned: true,
  });
}

testConnector("set of an MCP server [handles:107]", async (options) => {
  const inner = await openStdio(options);
  const inSet = <Call extends KnownCall>(call: Call): Call => ({ ...call, tool: `fixture.${call.tool}` });
  const connector = named("desk", inner.connector);
  return {
    ...inner,
    connector,
    succeeds: inSet(inner.succeeds),
    fails: inSet(inner.fails),
    hangs: inSet(inner.hangs),
    large: inSet(inner.large),
    [Symbol.asyncDispose]: async () => {
      await connector[Symbol.asyncDispose]();
      await inner[Symbol.asyncDispose]();
    },
  };
});

describe("a set of two MCP servers", () => {
  let servers: readonly ConnectorUnderTest[];
  let desk: Connector;
  beforeAll(async () => {
    const options = { timeoutMs: START_TIMEOUT_MS, responseBytes: 1_000_000 };
    servers = [await openStdio(options), await openHttp(options)];
    const connectors = servers.map(({ connector }, at) => named(at === 0 ? "process" : "http", connector));
    desk = set({ id: "desk", card, retryMs: 0, memberTimeoutMs: START_TIMEOUT_MS, connectors, owned: true });
  });
  afterAll(async () => {
    await desk[Symbol.asyncDispose]();
    for (const server of servers) await server[Symbol.asyncDispose]();
  });
  const context = (): NonNullable<Connector["context"]> => desk.context ?? expect.fail("a set has a context");
  const members = ["process.fixture", "http.fixture"];

  test("has the resources, templates and prompts of both, by names that lead to one [handles:42,43]", async () => {
    const resources = await context().resources({ signal: nobody });
    const templates = await context().resourceTemplates({ signal: nobody });
    const prompts = await context().prompts({ signal: nobody });
    expect(resources.map(({ uri }) => uri)).toEqual(
      members.flatMap((member) => [`${member}.file:///a/pixel.png`, `${member}.note://1`]),
    );
    expect(templates.map(({ uriTemplate }) => uriTemplate)).toEqual(
      members.map((member) => `${member}.note://{owner}/{number}`),
    );
    expect(prompts.map(({ name }) => name)).toEqual(members.map((member) => `${member}.greet`));
    for (const member of members) {
      expect((await context().readResource(`${member}.note://ann/7`, { signal: nobody })).data).toMatchObject(
        {
          contents: [{ uri: "note://ann/7", text: "note://ann/7" }],
        },
      );
      const prompt = await context().getPrompt(`${member}.greet`, { who: "Ann" }, { signal: nobody });
      expect(JSON.stringify(prompt.data)).toContain("Greet Ann");
    }
    await expect(context().getPrompt("http.fixture.none", {}, { signal: nobody })).rejects.toMatchObject({
      code: "PROMPT_NOT_FOUND",
      connector: "desk",
    });
  });

  test("completes what either can complete, with what was said before [handles:44]", async () => {
    const argument = { name: "number", value: "1" };
    for (const member of members) {
      const uri = `${member}.note://{owner}/{number}`;
      const completion = {
        ref: { type: "resourceTemplate", uri } as const,
        argument,
        context: { arguments: { owner: "ann" } },
      };
      const { values } = await context().complete(completion, { signal: nobody });
      expect(values).toEqual(["ann-10", "ann-11"]);
    }
  });

  test("passes on what a tool tells of its progress", async () => {
    const told: unknown[] = [];
    const request = { ...requestOf(), onProgress: (progress: unknown) => void told.push(progress) };
    expect((await desk.callTool("process.fixture.progress", {}, request)).data).toBe("done");
    expect(told).toEqual([{ progress: 1, total: 2, message: "half" }]);
  });

  test("goes on with one when the other is gone, and says which is", async () => {
    const [gone] = servers;
    await gone?.stop();
    const request = requestOf();
    expect((await desk.callTool("http.fixture.add", { a: 1, b: 2 }, request)).data).toEqual({ sum: 3 });
    const { about, prompts } = await desk.check({ signal: nobody });
    expect(prompts).toBe(1);
    expect(about).toMatchObject({ members: 2, down: 1, "down: process": expect.stringContaining("fixture") });
    const names = (await desk.tools({ signal: nobody })).map(({ name }) => name);
    expect(names).toContain("http.fixture.add");
    expect(names.filter((name) => name.startsWith("process."))).toEqual([]);
  });
});
