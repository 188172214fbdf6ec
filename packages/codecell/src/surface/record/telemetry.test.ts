import { describe, expect, test } from "vitest";
import { Telemetry } from "./telemetry.ts";

const catalog = { size: 300, sources: { core: 200, mcp: 100 } };

describe("telemetry", () => {
  test("begins with the visible tools and the catalog, and nothing counted [exec-wait:92]", () => {
    expect(new Telemetry(["exec", "wait"], catalog).read()).toEqual({
      visibleTools: ["exec", "wait"],
      catalog,
      counts: { exec: 0, wait: 0, search: 0, describe: 0, call: 0 },
      calledTools: [],
      failures: {},
      snapshots: { created: 0, restored: 0, expired: 0, dropped: 0 },
    });
  });

  test("counts exactly, over everything that happens [exec-wait:93]", () => {
    const telemetry = new Telemetry(["exec", "wait"], catalog);
    telemetry.exec();
    for (let count = 0; count < 2; count++) telemetry.search();
    telemetry.describe();
    for (const id of ["mcp:github:create_issue", "core:core:echo", "mcp:github:create_issue"])
      telemetry.call(id);
    telemetry.wait();
    telemetry.wait();
    for (const code of ["timeout", "invalid_input", "timeout"] as const) telemetry.failure(code);
    for (const event of ["created", "created", "restored", "expired", "dropped"] as const)
      telemetry.snapshot(event);
    expect(telemetry.read()).toEqual({
      visibleTools: ["exec", "wait"],
      catalog,
      counts: { exec: 1, wait: 2, search: 2, describe: 1, call: 3 },
      calledTools: ["mcp:github:create_issue", "core:core:echo"],
      failures: { timeout: 2, invalid_input: 1 },
      snapshots: { created: 2, restored: 1, expired: 1, dropped: 1 },
    });
  });

  test("names the first hundred called tools and counts the others", () => {
    const telemetry = new Telemetry([], catalog);
    for (let n = 0; n < 150; n++) telemetry.call(`core:core:t${n}`);
    const { calledTools, moreCalledTools, counts } = telemetry.read();
    expect(calledTools).toHaveLength(100);
    expect(calledTools.at(-1)).toBe("core:core:t99");
    expect(moreCalledTools).toBe(50);
    for (let n = 0; n < 1000; n++) telemetry.call(`no:such:t${n}`);
    expect(telemetry.read()).toMatchObject({ moreCalledTools: 200, counts: { ...counts, call: 1150 } });
  });

  test("copies its inputs, and a reading does not change with later counts", () => {
    const sources = { core: 1 };
    const visible = ["exec"];
    const telemetry = new Telemetry(visible, { size: 1, sources });
    const before = telemetry.read();
    const text = JSON.stringify(before);
    visible.push("wait");
    sources.core = 9;
    telemetry.exec();
    telemetry.call("a");
    telemetry.failure("timeout");
    telemetry.snapshot("created");
    expect(JSON.stringify(before)).toBe(text);
    for (const part of [before, ...Object.values(before)]) expect(Object.isFrozen(part)).toBe(true);
    expect(telemetry.read().catalog.sources).toEqual({ core: 1 });
  });
});
