/**
 * Connectors to real programs. A program that matters after its call tells of itself over a socket, which the system
 * closes when the program is gone: nothing here waits for a time.
 */
import { once } from "node:events";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Bytes, type Connector } from "../contract/connector.ts";
import { testConnector } from "../testing/index.ts";
import { cli } from "./cli.ts";
import type { CliCommand, CliOptions } from "./options.ts";

/** What the tests' commands do, by their first argument. */
const PROGRAM = `
import { spawn } from "node:child_process";
import { writeSync } from "node:fs";
import { connect } from "node:net";
import { argv, env, exit, stderr, stdin, stdout } from "node:process";

const [, , what, ...rest] = argv;
let hub;
if (what === "stubborn") process.on("SIGTERM", () => {});
else if (what === "hang") process.on("SIGTERM", () => (hub?.pending === false ? hub.end("told to end", () => exit()) : exit()));
const hang = (then) => {
  hub = connect(env.HUB, () => hub.write(what + " ", then));
  // A test that failed leaves no program behind.
  hub.on("close", () => exit());
  hub.on("error", () => exit());
  setInterval(() => {}, 1e6);
};

switch (what) {
  case "show": {
    let read = "";
    if (!stdin.isTTY) for await (const chunk of stdin) read += chunk;
    stdout.write(JSON.stringify({ args: rest, read, env, cwd: process.cwd() }));
    break;
  }
  case "print":
    writeSync(1, Buffer.from(rest[0], "latin1"));
    exit(Number(rest[1] ?? 0));
  case "fail":
    writeSync(2, "\\x1b[31mout of paper\\x1b[0m, token is " + env.DESK_TOKEN + "\\n");
    exit(3);
  case "ramble":
    stderr.write(env.DESK_TOKEN.repeat(5000) + " and that is all", () => exit(1));
    break;
  case "flood":
    for (;;) writeSync(1, "x".repeat(65536));
  case "hang":
  case "stubborn":
    hang();
    break;
  case "brood": {
    const child = spawn(process.execPath, [argv[1], "hang"], { stdio: "ignore" });
    hang();
    break;
  }
  case "leave": {
    // A child that keeps our output open, and that we do not wait for.
    hub = connect(env.HUB, () => spawn(process.execPath, [argv[1], "hang"], { stdio: "inherit" }).unref());
    hub.once("data", () => (writeSync(1, "done"), exit(0)));
  }
}
`;

const SECRET = 'to"ken-0123456789';
const signal = new AbortController().signal;
const REQUEST = { signal, idempotencyKey: "k" };
const CARD = { name: "Desk", description: "Things on a desk" };
const text = { type: "string" };

function inputOf(properties: Record<string, object>): { inputSchema: Record<string, unknown> } {
  return { inputSchema: { type: "object", properties } };
}

/** Where programs tell of themselves. */
class Hub implements AsyncDisposable {
  readonly path: string;
  readonly #server = createServer((socket) => this.#take(socket));
  readonly #sockets: Socket[] = [];
  readonly #said: string[] = [];
  #onNews = Promise.withResolvers<void>();

  constructor(path: string) {
    this.path = path;
    this.#server.listen(path);
  }

  /** Resolves when that was said as often. */
  async heard(words: string, times = 1): Promise<void> {
    while (this.timesOf(words) < times) await this.#onNews.promise;
  }

  timesOf(words: string): number {
    return this.#said.join("").split(words).length - 1;
  }

  /** Resolves when every program that came is gone. */
  async left(): Promise<void> {
    while (this.#sockets.some((socket) => !socket.closed)) await this.#onNews.promise;
  }

  tellAll(words: string): void {
    for (const socket of this.#sockets) socket.write(words);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }

  #take(socket: Socket): void {
    this.#sockets.push(socket);
    socket.on("data", (chunk) => {
      this.#said.push(chunk.toString());
      this.#news();
    });
    socket.on("error", () => {});
    socket.on("close", () => this.#news());
  }

  #news(): void {
    this.#onNews.resolve();
    this.#onNews = Promise.withResolvers();
  }
}

interface Workshop extends AsyncDisposable {
  readonly hub: Hub;
  readonly cwd: string;
  readonly make: (command: Partial<CliCommand>, options?: Partial<CliOptions>) => Connector;
}

async function openWorkshop(): Promise<Workshop> {
  const cwd = await mkdtemp(join(tmpdir(), "codecell-cli-"));
  await writeFile(join(cwd, "program.mjs"), PROGRAM);
  await symlink(process.execPath, join(cwd, "node"));
  const hub = new Hub(join(cwd, "hub"));
  const made: Connector[] = [];
  return {
    hub,
    cwd,
    make: (command, options) => {
      const connector = cli({
        id: "desk",
        card: CARD,
        cwd,
        env: { HUB: hub.path },
        commands: [commandOf(command)],
        ...options,
      });
      made.push(connector);
      return connector;
    },
    [Symbol.asyncDispose]: async () => {
      for (const one of made) await one[Symbol.asyncDispose]();
      await hub[Symbol.asyncDispose]();
      await rm(cwd, { recursive: true });
    },
  };
}

function commandOf(command: Partial<CliCommand>): CliCommand {
  const { args = [], ...rest } = command;
  return { name: "do", program: "./node", ...rest, args: ["program.mjs", ...args] };
}

async function inWorkshop(work: (workshop: Workshop) => Promise<void>): Promise<void> {
  const workshop = await openWorkshop();
  try {
    await work(workshop);
  } finally {
    await workshop[Symbol.asyncDispose]();
  }
}

function call(connector: Connector, input: Record<string, unknown> = {}, from = signal): Promise<unknown> {
  return connector.callTool("do", input, { ...REQUEST, signal: from }).then(({ data }) => data);
}

testConnector("cli", async ({ timeoutMs, responseBytes }) => {
  const workshop = await openWorkshop();
  const { hub, cwd } = workshop;
  const commands = [
    commandOf({
      name: "show",
      args: ["print", { input: "json" }],
      output: "json",
      ...inputOf({ json: text }),
    }),
    ...["fail", "hang", "flood"].map((name) => commandOf({ name, args: [name] })),
  ];
  const secretEnv = { DESK_TOKEN: SECRET };
  const connector = workshop.make({}, { commands, secretEnv, timeoutMs, responseBytes });
  return {
    connector,
    succeeds: { tool: "show", input: { json: '{"pens":[1,2]}' }, data: { pens: [1, 2] } },
    fails: { tool: "fail", input: {}, words: "out of paper" },
    hangs: { tool: "hang", input: {}, started: () => hub.heard("hang"), stopped: () => hub.left() },
    large: { tool: "flood", input: {} },
    secret: SECRET,
    stop: () => rm(join(cwd, "node")),
    [Symbol.asyncDispose]: () => workshop[Symbol.asyncDispose](),
  };
});

describe("a command", () => {
  test("gets its arguments as they are, and nothing reads them as a shell would", () =>
    inWorkshop(async ({ make, cwd }) => {
      const words = [
        "$(touch x)",
        "`id`",
        "a b",
        "",
        '"',
        "'",
        "\\",
        "; rm -rf /",
        "*",
        "ü\n\t",
        "%PATH%",
        "&&",
      ];
      const shows = make({
        output: "json",
        ...inputOf({ words: { type: "array" }, size: {}, deep: {}, dry: {}, none: {} }),
        args: [
          "show",
          { input: "size", prefix: "--size=" },
          { input: "deep", option: "--deep" },
          { input: "dry", flag: "--dry" },
          { input: "none", option: "--none" },
          "--",
          { input: "words", mayBeginWithHyphen: true },
        ],
      });
      const { args } = (await call(shows, {
        words: [...words, "--", "-x"],
        size: -5,
        deep: true,
        dry: true,
      })) as {
        args: string[];
      };
      expect(args).toEqual(["--size=-5", "--deep", "true", "--dry", "--", ...words, "--", "-x"]);
      expect(((await call(shows, { words: [], dry: false })) as { args: string[] }).args).toEqual(["--"]);
      expect(cwd).not.toBe("");
    }));

  test("has the environment and the folder that were declared, and little else", () =>
    inWorkshop(async ({ make, hub, cwd }) => {
      process.env["CODECELL_CLI_TEST"] = "of the host";
      try {
        const shows = make(
          { output: "json", args: ["show"], env: { B: "own" } },
          { env: { A: "all", B: "all", HUB: hub.path }, secretEnv: { S: "sesame" } },
        );
        const shown = (await call(shows)) as { env: Record<string, string>; cwd: string };
        expect(shown.env).toMatchObject({ A: "all", B: "own", S: "[S]", HUB: hub.path });
        expect(shown.env["PATH"]).toBe(process.env["PATH"]);
        const base = ["PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"];
        // macOS gives every program one of its own.
        const known = new Set([...base, "A", "B", "S", "HUB", "__CF_USER_TEXT_ENCODING"]);
        expect(Object.keys(shown.env).filter((name) => !known.has(name))).toEqual([]);
        expect(shown.cwd).toContain(cwd);
      } finally {
        delete process.env["CODECELL_CLI_TEST"];
      }
    }));

  test("reads what it is given", () =>
    inWorkshop(async ({ make }) => {
      const shows = make({ output: "json", args: ["show"], stdin: "what", ...inputOf({ what: {} }) });
      const read = async (what: unknown): Promise<string> =>
        ((await call(shows, { what })) as { read: string }).read;
      expect(await read("ü$x")).toBe("ü$x");
      expect(await read({ a: [1] })).toBe('{"a":[1]}');
      expect(await read(new Bytes(Buffer.from("bytes")))).toBe("bytes");
      expect(await read(undefined)).toBe("");
      const large = "x".repeat(5_000_000);
      await expect(read(large)).rejects.toMatchObject({ code: "RESPONSE_TOO_LARGE" });
      // It need not read it.
      const prints = make({ args: ["print", "ok"], stdin: "what", ...inputOf({ what: {} }) });
      expect(await call(prints, { what: large })).toBe("ok");
    }));

  test.each([
    ["text", "a\r\nb\n", "a\r\nb\n"],
    ["text", "\xEF\xBB\xBFa", "\uFEFFa"],
    ["lines", "a\r\n\nb\n", ["a", "", "b"]],
    ["lines", "a\nb", ["a", "b"]],
    ["lines", "", []],
    ["json", ' {"a": null}\n', { a: null }],
  ] as const)("gives %s of %j", (output, printed, data) =>
    inWorkshop(async ({ make }) => {
      expect(await call(make({ output, args: ["print", printed] }))).toEqual(data);
    }),
  );

  test("gives bytes as they are, and refuses to give them as text", () =>
    inWorkshop(async ({ make }) => {
      const args = ["print", "\xFF\xFEa"];
      const data = await call(make({ output: "bytes", mediaType: "image/x", args }));
      expect(data).toEqual(new Bytes(Buffer.from([255, 254, 97]), { mediaType: "image/x" }));
      await expect(call(make({ args }))).rejects.toMatchObject({ code: "DOWNSTREAM_PROTOCOL_ERROR" });
      const broken = call(make({ output: "json", args: ["print", "{"] }));
      await expect(broken).rejects.toMatchObject({
        code: "DOWNSTREAM_PROTOCOL_ERROR",
        message: expect.stringContaining("printed: it is not JSON") as unknown,
      });
    }));

  test("fails with its exit code, unless that means no failure", () =>
    inWorkshop(async ({ make }) => {
      const args = ["print", "nothing found", "1"];
      await expect(call(make({ args }))).rejects.toMatchObject({
        code: "DOWNSTREAM_TOOL_ERROR",
        message: 'Tool "do" of "desk" failed, exit code 1: nothing found',
        details: { exitCode: 1, words: "nothing found" },
      });
      const finds = make({ args, exitCodes: [0, 1] });
      const output = await finds.callTool("do", {}, REQUEST);
      expect(output).toEqual({ data: "nothing found", meta: { exitCode: 1 } });
    }));

  test("tells the last of its errors, without colours, secrets or parts of secrets", () =>
    inWorkshop(async ({ make }) => {
      const secret = "0123456789abcdef".repeat(20);
      const secrets = [{ env: { DESK_TOKEN: secret } }, { secretEnv: { DESK_TOKEN: secret } }];
      for (const options of secrets) {
        const failed = await call(make({ args: ["ramble"] }, options)).catch((error: unknown) => error);
        const { message, details } = failed as { message: string; details: { words: string } };
        expect(message).toBe('Tool "do" of "desk" failed, exit code 1: [DESK_TOKEN] and that is all');
        expect(details.words.length).toBeLessThanOrEqual(4000);
        expect(JSON.stringify([message, details])).not.toMatch(/\d{3}/u);
      }
      await expect(call(make({ args: ["fail"] }, { secretEnv: { DESK_TOKEN: secret } }))).rejects.toThrow(
        'Tool "do" of "desk" failed, exit code 3: out of paper, token is [DESK_TOKEN]',
      );
    }));

  test("shows no secret in what it gives", () =>
    inWorkshop(async ({ make }) => {
      const secretEnv = { DESK_TOKEN: SECRET, DESK: SECRET.slice(0, 5) };
      const shown = (await call(make({ output: "json", args: ["show"] }, { secretEnv }))) as {
        env: Record<string, string>;
      };
      expect(shown.env).toMatchObject({ DESK_TOKEN: "[DESK_TOKEN]", DESK: "[DESK]" });
    }));
});

describe("an argument from a program", () => {
  const takes = (make: Workshop["make"]): Connector =>
    make({
      args: ["show", { input: "path" }, { input: "max", option: "--max" }, { input: "dry", flag: "--dry" }],
      ...inputOf({ path: {}, max: {}, dry: {} }),
    });

  test.each([
    [{ path: "-rf" }, '"path" begins with a hyphen, give a value that does not'],
    [{ path: ["a", "--output=x"] }, '"path" begins with a hyphen, give a value that does not'],
    [{ max: -1 }, '"max" begins with a hyphen, give a value that does not'],
    [{ path: "a\0b" }, '"path" has a NUL, which no argument can have'],
    [{ path: "\uD800" }, '"path" has half of a surrogate pair, which no argument can have'],
    [{ path: "x".repeat(65_537) }, '"path" has 65537 bytes, an argument may have 65536'],
    [
      { path: Array.from({ length: 5 }, () => "x".repeat(60_000)) },
      "all arguments have more than 262144 bytes, give less",
    ],
    [{ path: { toString: "x" } }, '"path" must be a text, a number, true or false'],
    [{ path: [["a"]] }, '"path" must be a text, a number, true or false'],
    [{ max: Number.NaN }, '"max" must be a text, a number, true or false'],
    [{ dry: "--force" }, '"dry" must be true or false'],
  ])("is refused as %j", (input, problem) =>
    inWorkshop(async ({ make }) => {
      await expect(call(takes(make), input)).rejects.toMatchObject({
        code: "REQUEST_INVALID",
        hasNoEffect: true,
        message: `Cannot call "do" of "desk": ${problem}`,
      });
    }),
  );

  test("is not taken from what an input inherits", () =>
    inWorkshop(async ({ make }) => {
      const shows = make({
        output: "json",
        args: ["show", { input: "toString" }],
        ...inputOf({ toString: {} }),
      });
      expect(await call(shows)).toMatchObject({ args: [] });
    }));
});

describe("a program", () => {
  test("that nobody waits for any more is told to end, with what it has started", () =>
    inWorkshop(async ({ make, hub }) => {
      const caller = new AbortController();
      const open = call(make({ args: ["brood"] }), {}, caller.signal);
      const failed = expect(open).rejects.toMatchObject({ code: "CALL_ABORTED" });
      await hub.heard("brood");
      await hub.heard("hang");
      caller.abort();
      await failed;
      await hub.heard("told to end");
      await hub.left();
    }));

  test("that does not end when it is told to is killed", () =>
    inWorkshop(async ({ make, hub }) => {
      const caller = new AbortController();
      const open = call(make({ args: ["stubborn"] }, { killAfterMs: 1 }), {}, caller.signal);
      const failed = expect(open).rejects.toMatchObject({ code: "CALL_ABORTED" });
      await hub.heard("stubborn");
      caller.abort();
      await failed;
      await hub.left();
    }));

  test("that ends leaves nothing behind", () =>
    inWorkshop(async ({ make, hub }) => {
      const open = call(make({ args: ["leave"] }));
      await hub.heard("hang");
      hub.tellAll("go");
      expect(await open).toBe("done");
      await hub.heard("told to end");
      await hub.left();
    }));

  test("is gone when its connector has ended", () =>
    inWorkshop(async ({ make, hub }) => {
      const connector = make({ args: ["stubborn"] }, { killAfterMs: 1 });
      const failed = expect(call(connector)).rejects.toMatchObject({ code: "SERVER_UNAVAILABLE" });
      await hub.heard("stubborn");
      await connector[Symbol.asyncDispose]();
      await failed;
      await hub.left();
    }));

  test("waits until there is a place for it", () =>
    inWorkshop(async ({ make, hub }) => {
      const connector = make({ args: ["hang"] }, { processes: 1 });
      const callers = [1, 2, 3].map(() => new AbortController());
      const calls = callers.map((caller) => call(connector, {}, caller.signal));
      const failed = calls.map((open) => expect(open).rejects.toMatchObject({ code: "CALL_ABORTED" }));
      await hub.heard("hang");
      // The second has not begun, and never does.
      callers[1]?.abort();
      await failed[1];
      callers[0]?.abort();
      await hub.heard("hang", 2);
      callers[2]?.abort();
      await Promise.all(failed);
      await hub.left();
      expect(hub.timesOf("hang")).toBe(2);
    }));
});

describe("a check", () => {
  test("says which commands cannot run, and not why", () =>
    inWorkshop(async ({ make, cwd }) => {
      const commands = [
        commandOf({ name: "there" }),
        commandOf({ name: "found", program: "node", env: { PATH: `/nowhere:${cwd}` } }),
        commandOf({ name: "gone", program: "no-such-program" }),
        commandOf({ name: "folder", program: "/" }),
        commandOf({ name: "text", program: "./program.mjs" }),
        commandOf({ name: "lost", cwd: "/no/such/folder" }),
      ];
      const connector = make({}, { commands });
      await expect(connector.check({ signal })).rejects.toMatchObject({
        code: "SERVER_UNAVAILABLE",
        message: expect.stringMatching(
          /^"desk" is not ready: "gone", "folder", "text", "lost" cannot run, see/u,
        ),
      });
      for (const name of ["gone", "folder", "text", "lost"]) {
        await expect(connector.callTool(name, {}, REQUEST)).rejects.toMatchObject({
          code: "SERVER_UNAVAILABLE",
          hasNoEffect: true,
        });
      }
      expect(await make({}, { commands: commands.slice(0, 2) }).check({ signal })).toEqual({ tools: 2 });
    }));
});

test("a connector to a command line without a card says what it runs", () => {
  const connector = cli({ id: "desk", commands: [{ name: "do", program: "node" }] });
  expect(connector.card).toEqual({ name: "desk", description: "Runs do" });
});

describe("a connector to a command line is refused if", () => {
  const inputSchema = { type: "object", properties: { a: text } };
  const base = { name: "do", program: "node" };

  test.each<[string, object]>([
    ["it has no commands", { commands: [] }],
    ["two commands have one name", { commands: [base, base] }],
    ["an option is unknown", { commands: [base], shell: true }],
    ["an option of a command is unknown", { commands: [{ ...base, destructive: true }] }],
    ["arguments are one text", { commands: [{ ...base, args: "-a -b" }] }],
    ["an argument is a number", { commands: [{ ...base, args: [1] }] }],
    ["an argument has a NUL", { commands: [{ ...base, args: ["\0"] }] }],
    [
      "a placeholder takes what the schema does not have",
      { commands: [{ ...base, args: [{ input: "a" }] }] },
    ],
    ["an input goes nowhere", { commands: [{ ...base, inputSchema }] }],
    ["the input is no object", { commands: [{ ...base, inputSchema: text }] }],
    [
      "a prefix lets the input choose an option",
      { commands: [{ ...base, inputSchema, args: [{ input: "a", prefix: "--no-" }] }] },
    ],
    ["a prefix is a hyphen", { commands: [{ ...base, inputSchema, args: [{ input: "a", prefix: "-" }] }] }],
    [
      "a placeholder has both",
      { commands: [{ ...base, inputSchema, args: [{ input: "a", prefix: "--a=", option: "--a" }] }] },
    ],
    [
      "a placeholder is misspelt",
      { commands: [{ ...base, inputSchema, args: [{ input: "a", opton: "--a" }] }] },
    ],
    ["stdin is not in the schema", { commands: [{ ...base, stdin: "b" }] }],
    ["the output is unknown", { commands: [{ ...base, output: "xml" }] }],
    ["a time is no time", { commands: [base], timeoutMs: 0 }],
    ["a bound is no number", { commands: [{ ...base, responseBytes: Number.NaN }] }],
    ["a variable is no text", { commands: [base], env: { A: 1 } }],
    ["the card has no texts", { commands: [base], card: { name: 1 } }],
  ])("%s", (_, options) => {
    const make = (): Connector => cli({ id: "desk", card: CARD, ...options } as unknown as CliOptions);
    expect(make).toThrow(expect.objectContaining({ code: "CONFIG_INVALID", connector: "desk" }));
  });
});
