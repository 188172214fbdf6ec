/** MCP servers that are processes and do something wrong: each has a clear error, and no other connector notices. */
import { mcp, type ConnectorError } from "@codecell/connectors";
import type { Connector } from "@codecell/connectors";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test, vi } from "vitest";
import { bundleFixture } from "../../../scripts/bundle.ts";
import { SOURCE_FLAGS } from "../../../scripts/source-flags.ts";
import { Control } from "./control.ts";
import { openStdio, START_TIMEOUT_MS } from "./opened.ts";

const nobody = { signal: new AbortController().signal };
const request = { ...nobody, idempotencyKey: "1" };

const opened: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one[Symbol.asyncDispose]();
});

interface Scripted {
  readonly connector: Connector;
  readonly control: Control;
}

async function scripted(fault: string, options: object = {}): Promise<Scripted> {
  const control = await Control.open();
  const connector = mcp({
    id: "scripted",
    command: process.execPath,
    args: [...SOURCE_FLAGS, fileURLToPath(new URL("scripted-server.fixture.ts", import.meta.url))],
    env: { SCRIPTED_FAULT: fault, SCRIPTED_CONTROL: control.url },
    startTimeoutMs: START_TIMEOUT_MS,
    timeoutMs: START_TIMEOUT_MS,
    restartDelayMs: 1,
    ...options,
  });
  // In the order in which they end.
  opened.push(connector, control);
  return { connector, control };
}

const call = (connector: Connector, tool: string): Promise<unknown> =>
  connector.callTool(tool, {}, request).then(({ data }) => data);

async function errorOf(action: Promise<unknown>): Promise<ConnectorError> {
  return (await action.then(
    () => new Error("It should have failed"),
    (error: unknown) => error,
  )) as ConnectorError;
}

const namesOf = async (connector: Connector): Promise<string[]> =>
  (await connector.tools(nobody)).map(({ name }) => name);

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** What has ended may still be known to its parent, which is whoever takes in orphans. */
function isRunning(pid: number): boolean {
  if (!isAlive(pid)) return false;
  if (process.platform !== "linux") return true;
  try {
    return !/\) Z /u.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

describe("a list of tools", () => {
  test("has every page, in an order of its own [handles:21]", async () => {
    const { connector } = await scripted("pages");
    const names = await namesOf(connector);
    expect(names).toHaveLength(125);
    expect(names).toEqual([...names].sort());
  });

  test("that has no end is refused", async () => {
    const { connector } = await scripted("endless-list");
    const error = await errorOf(connector.tools(nobody));
    expect(error).toMatchObject({ code: "DOWNSTREAM_PROTOCOL_ERROR", connector: "scripted" });
    expect(error.message).toBe('Stopped listing the tools: the list of "scripted" has no end');
  });

  test("that has too many items is refused", async () => {
    const { connector } = await scripted("many-items");
    expect(await errorOf(connector.tools(nobody))).toMatchObject({ code: "DOWNSTREAM_PROTOCOL_ERROR" });
  });

  test("that is none is refused", async () => {
    const { connector } = await scripted("malformed-list");
    expect(await errorOf(connector.check(nobody))).toMatchObject({
      code: "DOWNSTREAM_PROTOCOL_ERROR",
      message: 'Stopped listing the tools: "scripted" answered something that the protocol does not allow',
    });
  });

  test("has each name once", async () => {
    const { connector } = await scripted("twice");
    const tools = await connector.tools(nobody);
    expect(tools.map(({ name, title }) => [name, title])).toEqual([
      ["a", undefined],
      ["b", "First"],
    ]);
  });

  test("is empty where the server has none", async () => {
    const { connector } = await scripted("bare");
    expect(await connector.tools(nobody)).toEqual([]);
    expect(await connector.context?.resources(nobody)).toEqual([]);
    expect(await connector.context?.resourceTemplates(nobody)).toEqual([]);
    expect(await connector.context?.prompts(nobody)).toEqual([]);
    expect(await errorOf(call(connector, "echo"))).toMatchObject({ code: "TOOL_NOT_FOUND" });
    const read = connector.context?.readResource("note://1", nobody) ?? Promise.resolve();
    expect(await errorOf(read)).toMatchObject({ code: "UNSUPPORTED_CAPABILITY" });
  });

  test("is read again after the server says that it changed", async () => {
    const { connector } = await scripted("change", { listTtlMs: 1_000_000 });
    const changes: string[] = [];
    const stop = connector.onChange((list) => changes.push(list));
    expect(await namesOf(connector)).toContain("tool-0");
    await call(connector, "fault");
    expect(changes).toEqual(["tools"]);
    expect(await namesOf(connector)).toContain("tool-1");
    stop();
    await call(connector, "fault");
    expect(changes).toEqual(["tools"]);
    expect(await namesOf(connector)).toContain("tool-2");
  });

  test("changes once for those who listen, however often the server says so", async () => {
    const { connector } = await scripted("flood");
    const changes: string[] = [];
    connector.onChange((list) => changes.push(list));
    expect(await call(connector, "fault")).toBe("flooded");
    expect(changes).toEqual(["tools"]);
  });

  test("holds a tool that came without a notice, once somebody asks for it", async () => {
    const { connector } = await scripted("quiet-change", { listTtlMs: 1_000_000 });
    expect(await errorOf(call(connector, "tool-1"))).toMatchObject({ code: "TOOL_NOT_FOUND" });
    await call(connector, "fault");
    expect(await call(connector, "tool-1")).toBe("tool-1");
  });
});

describe("an answer", () => {
  test("of 50 MB fails its own call alone", async () => {
    const { connector } = await scripted("huge");
    await connector.check(nobody);
    const [huge, ...others] = await Promise.allSettled([
      call(connector, "fault"),
      call(connector, "echo"),
      call(connector, "echo"),
    ]);
    expect(huge).toMatchObject({ status: "rejected", reason: { code: "RESPONSE_TOO_LARGE" } });
    expect(others).toMatchObject([{ value: "echo" }, { value: "echo" }]);
    expect(await call(connector, "echo")).toBe("echo");
  });

  test("whose line never ends is not kept", async () => {
    const { connector, control } = await scripted("endless-line");
    await connector.check(nobody);
    const caller = new AbortController();
    const before = process.memoryUsage().arrayBuffers;
    const hanging = errorOf(connector.callTool("fault", {}, { ...request, signal: caller.signal }));
    await control.happened("written");
    const kept = process.memoryUsage().arrayBuffers - before;
    caller.abort();
    expect(await hanging).toMatchObject({ code: "CALL_ABORTED" });
    expect(kept).toBeLessThan(100_000_000);
  });

  test.each(["malformed", "malformed-result"])(
    "that the protocol does not allow fails its call: %s",
    async (fault) => {
      const { connector } = await scripted(fault);
      expect(await errorOf(call(connector, "fault"))).toMatchObject({
        code: "DOWNSTREAM_PROTOCOL_ERROR",
        message: 'Stopped calling "fault": "scripted" answered something that the protocol does not allow',
      });
      expect(await call(connector, "echo")).toBe("echo");
    },
  );

  test("comes, however much the server writes to its standard error", async () => {
    const { connector } = await scripted("noisy");
    expect(await call(connector, "fault")).toBe("noisy");
  });

  test("that is not what the tool's schema promised is given as it is, for whoever judges outputs", async () => {
    const { connector } = await scripted("lie");
    const [tool] = await connector.tools(nobody);
    expect(tool?.outputSchema).toMatchObject({ required: ["a"] });
    expect(await call(connector, "fault")).toBe("this is not what was promised");
  });

  test("does not overtake the progress that comes with it", async () => {
    const { connector } = await scripted("progress");
    const heard = Promise.withResolvers<unknown>();
    await connector.callTool("fault", {}, { ...request, onProgress: heard.resolve });
    expect(await heard.promise).toEqual({ progress: 1 });
  });

  test("comes, though the server asked for what this connector does not hand on", async () => {
    const { connector } = await scripted("ask");
    expect(await call(connector, "fault")).toBe("went on");
  });
});

describe("a process", () => {
  test("that cannot be started is said to be so, without its command", async () => {
    const connector = mcp({
      id: "absent",
      command: "/no/such/program",
      args: ["--key=abc"],
      restartDelayMs: 1,
    });
    opened.push(connector);
    const error = await errorOf(connector.check(nobody));
    expect(error).toMatchObject({ code: "SERVER_UNAVAILABLE", connector: "absent", hasNoEffect: true });
    expect(error.message).toBe(
      'Cannot start "absent": its command or its folder does not exist. Install it, or correct the configuration',
    );
  });

  test("that ends at once says with what, and its last words go to the operator alone", async () => {
    const { connector, control } = await scripted("dies");
    const error = await errorOf(connector.check(nobody));
    expect(error.message).toBe(
      'Cannot start "scripted": its process ended with code 11 before it answered. Start the configured command by hand to see why',
    );
    expect(String(error.cause)).toContain("cannot find the moon");
    expect(control.pids).toHaveLength(2);
  });

  test("that died is started no more often than its delay allows", async () => {
    const { connector, control } = await scripted("dies", { restartDelayMs: 100_000 });
    const [first, ...others] = await Promise.all([1, 2, 3].map(() => errorOf(connector.check(nobody))));
    expect(await errorOf(call(connector, "echo"))).toBe(first);
    expect(others).toEqual([first, first]);
    expect(control.pids).toHaveLength(2);
  });

  test("that ends when it is asked in the newer protocol is asked in the older one", async () => {
    const { connector, control } = await scripted("dies-of-news");
    expect(await call(connector, "echo")).toBe("echo");
    expect(control.pids).toHaveLength(2);
    expect((await connector.check(nobody)).about).toMatchObject({ protocol: "2025-11-25" });
  });

  test("that dies in a call fails that call, which is not made again, and is started for the next", async () => {
    const { connector, control } = await scripted("die");
    const error = await errorOf(call(connector, "fault"));
    expect(error).toMatchObject({ code: "SERVER_UNAVAILABLE", hasNoEffect: false });
    expect(error.message).toBe('Stopped calling "fault": "scripted" has ended its connection');
    expect(control.pids).toHaveLength(1);
    const changes: string[] = [];
    connector.onChange((list) => changes.push(list));
    expect(await call(connector, "echo")).toBe("echo");
    expect(control.pids).toHaveLength(2);
    expect(changes).toContain("tools");
  });

  test("that died between calls is started again for the next", async () => {
    const { connector, control } = await scripted("none");
    expect(await call(connector, "echo")).toBe("echo");
    process.kill(control.pids[0] ?? 0, "SIGKILL");
    expect(await call(connector, "echo").catch(() => call(connector, "echo"))).toBe("echo");
    expect(control.pids).toHaveLength(2);
  });

  test.runIf(process.platform === "linux")("whose end nobody has heard of is started again too", async () => {
    const { connector, control } = await scripted("none");
    expect(await call(connector, "echo")).toBe("echo");
    const [pid = 0] = control.pids;
    process.kill(pid, "SIGKILL");
    // At once, so that the event loop hears of the end after the next call.
    while (!/\) Z /u.test(readFileSync(`/proc/${pid}/stat`, "utf8")));
    expect(await call(connector, "echo").catch(() => call(connector, "echo"))).toBe("echo");
    expect(control.pids).toHaveLength(2);
  });

  test("that dies while it lists is asked again", async () => {
    const { connector, control } = await scripted("dies-at-list");
    const listing = connector.tools(nobody);
    await control.happened("started");
    control.isOpen = false;
    expect(await listing).toHaveLength(3);
    expect(control.pids).toHaveLength(2);
  });

  test("that asks on and on and reads no answer is ended, and starts again for the next call", async () => {
    const { connector, control } = await scripted("unread");
    expect(await errorOf(call(connector, "fault"))).toMatchObject({
      code: "SERVER_UNAVAILABLE",
      connector: "scripted",
    });
    expect(await call(connector, "echo")).toBe("echo");
    expect(control.pids).toHaveLength(2);
  });

  test("is not answered where the id of its question is too long to repeat", async () => {
    const { connector } = await scripted("long-id");
    expect(await call(connector, "fault")).toBe("short");
  });

  test("that says nothing is given up in time, and another connector does not notice", async () => {
    const { connector } = await scripted("silent", { startTimeoutMs: 1000 });
    const other = await openStdio({ timeoutMs: START_TIMEOUT_MS, responseBytes: 1_000_000 });
    opened.push(other);
    const silent = errorOf(connector.check(nobody));
    const { tool, input, data } = other.succeeds;
    expect((await other.connector.callTool(tool, input, request)).data).toEqual(data);
    expect(await silent).toMatchObject({ code: "SERVER_START_TIMEOUT", connector: "scripted" });
  });

  test("ends with its connector, and the calls that were open fail", async () => {
    const { connector, control } = await scripted("endless-line");
    await connector.check(nobody);
    const [pid = 0] = control.pids;
    expect(isAlive(pid)).toBe(true);
    const open = errorOf(call(connector, "fault"));
    await control.happened("called");
    await connector[Symbol.asyncDispose]();
    expect(isAlive(pid)).toBe(false);
    expect(await open).toMatchObject({
      code: "SERVER_UNAVAILABLE",
      message: 'The connector "scripted" has ended',
    });
  });

  test("sees the environment that is configured for it, and nothing else of ours", async () => {
    process.env["NOT_FOR_SERVERS"] = "not for servers";
    const source = "process.stderr.write(JSON.stringify(process.env), () => process.exit(1))";
    const connector = mcp({
      id: "env",
      command: process.execPath,
      args: ["-e", source],
      env: { GIVEN: "given" },
      restartDelayMs: 1,
    });
    opened.push(connector);
    const { cause } = await errorOf(connector.check(nobody));
    delete process.env["NOT_FOR_SERVERS"];
    const seen = JSON.parse(String(cause).split("\n").at(-1) ?? "") as Record<string, string>;
    expect(seen).toMatchObject({ GIVEN: "given", PATH: process.env["PATH"] });
    expect(Object.keys(seen)).not.toContain("NOT_FOR_SERVERS");
    expect(Object.keys(seen).length).toBeLessThan(12);
  });
});

describe("a host that is killed", () => {
  test.runIf(process.platform === "linux").each(["our own", "the official"])(
    "takes a server with it: %s",
    async (whose) => {
      const control = await Control.open();
      opened.push(control);
      const { resolve } = createRequire(import.meta.url);
      const server =
        whose === "our own"
          ? [...SOURCE_FLAGS, fileURLToPath(new URL("scripted-server.fixture.ts", import.meta.url))]
          : [`${dirname(resolve("@modelcontextprotocol/server-everything/package.json"))}/dist/index.js`];
      const host = await bundleFixture(new URL("host.fixture.ts", import.meta.url));
      const child = spawn(process.execPath, [host, process.execPath, ...server], {
        env: { ...process.env, SCRIPTED_FAULT: "none", SCRIPTED_CONTROL: control.url },
        stdio: ["ignore", "pipe", "inherit"],
      });
      const exit = once(child, "exit");
      await Promise.race([
        once(child.stdout, "data"),
        exit.then(() => Promise.reject(new Error("The host ended by itself"))),
      ]);
      const servers = childrenOf(child.pid ?? 0);
      expect(servers).toHaveLength(1);
      child.kill("SIGKILL");
      await exit;
      await vi.waitFor(() => expect(servers.filter(isRunning)).toEqual([]), {
        timeout: START_TIMEOUT_MS,
        interval: 20,
      });
    },
    START_TIMEOUT_MS,
  );
});

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")
    .split(" ")
    .filter((one) => one !== "")
    .map(Number);
}

describe("another connector does not notice a server that", () => {
  const faults: readonly (readonly [what: string, fault: string, code: string | undefined])[] = [
    ["never answers", "endless-line", "TOOL_CALL_TIMEOUT"],
    ["lies about its schemas", "lie", undefined],
    ["answers with 50 MB", "huge", "RESPONSE_TOO_LARGE"],
    ["floods with notices", "flood", undefined],
    ["dies in mid-call", "die", "SERVER_UNAVAILABLE"],
    ["changes its tools", "change", undefined],
    ["answers nonsense", "malformed-result", "DOWNSTREAM_PROTOCOL_ERROR"],
    ["does not start", "dies", "SERVER_UNAVAILABLE"],
  ];

  test.each(faults)("%s", async (_, fault, code) => {
    const options = fault === "endless-line" ? { timeoutMs: 3000 } : {};
    const [{ connector }, other] = [
      await scripted(fault, options),
      await openStdio({ timeoutMs: START_TIMEOUT_MS, responseBytes: 1_000_000 }),
    ];
    opened.unshift(other);
    const { tool, input, data } = other.succeeds;
    await other.connector.check(nobody);
    let isOver = false;
    const faulty = connector
      .callTool("fault", {}, request)
      .then(
        () => undefined,
        (error: unknown) => error as ConnectorError,
      )
      .finally(() => {
        isOver = true;
      });
    // Calls all the while, and some more.
    for (let more = 3; more > 0; more -= isOver ? 1 : 0)
      expect((await other.connector.callTool(tool, input, request)).data).toEqual(data);
    const error = await faulty;
    if (code === undefined) expect(error).toBeUndefined();
    else expect(error).toMatchObject({ code, connector: "scripted" });
  });
});
