/** What a program cannot reach: the host, its environment, other programs, and the machinery behind its own calls. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { describe, expect, test } from "vitest";
import { openDesk, until } from "./fixtures.ts";
import { killOnce, killUntil } from "./killing.ts";
import { failedOf, valueOf, waitingOf } from "./results.ts";

/** Runs in the guest: says what is wrong with a thrown value; an empty text if nothing is wrong. */
const VERDICT = `
  const verdict = (e) => {
    if (typeof e !== "object" || e === null) return "";
    let proto = e, isGuest = false;
    for (let i = 0; i < 20 && proto !== null; i++) { proto = Object.getPrototypeOf(proto); isGuest ||= proto === Object.prototype }
    if (!isGuest) return "another realm";
    for (const key of ["process", "require", "globalThis.process", "this.process"]) {
      try { const got = e.constructor.constructor("return " + key)(); if (got !== undefined) return "reached " + key } catch {}
    }
    return /node:|file:|worker_threads|\\.ts:\\d/.test(String(e.stack) + String(e.message)) ? "told of the host" : "";
  };`;

const HARMLESS = ["EvalError", "ReferenceError", "TypeError"];

describe("the environment", () => {
  test("has nothing of a host [exec-wait:65]", async () => {
    const names =
      `process require module exports Buffer fetch XMLHttpRequest WebSocket Deno Bun __dirname __filename global window self importScripts WebAssembly Worker SharedWorker std os print scriptArgs navigator localStorage postMessage MessageChannel Atomics setImmediate`.split(
        " ",
      );
    await using desk = openDesk();
    const code = `return ${JSON.stringify(names)}.filter((name) => name in globalThis || typeof globalThis[name] !== "undefined")`;
    expect(await valueOf(desk.exec(code))).toEqual([]);
  });

  test("cannot be reached through constructors or code made from texts [exec-wait:65]", async () => {
    const routes = [
      'globalThis.constructor.constructor("return process")()',
      '(() => {}).constructor("return process")()',
      '(async () => {}).constructor("return process")()',
      '(function* () {}).constructor("return process")()',
      'tools.echo.constructor("return process")()',
      'tools.constructor.constructor("return process")()',
      'text.constructor("return process")()',
      'ALL_TOOLS.constructor.constructor("return process")()',
      'Reflect.construct(Function, ["return process"])()',
      'new (Object.getPrototypeOf(async () => {}).constructor)("return process")()',
      '(await tools.echo({})).constructor.constructor("return process")()',
      'eval("process")',
      '(0, eval)("this.process.env")',
      'setTimeout("process.exit()", 0)',
      'console.log.constructor("return process")()',
      'Promise.resolve().constructor.constructor("return process")()',
      'new Error().stack.constructor.constructor("return process")()',
    ];
    await using desk = openDesk();
    for (const route of routes) {
      const code = `try { const got = await (${route}); return ["gave", typeof got] } catch (e) { return ["threw", e.name] }`;
      const [how, what] = (await valueOf(desk.exec(code))) as [string, string];
      expect([route, ...(how === "threw" ? HARMLESS : ["undefined"])]).toContain(what);
    }
  });

  test("cannot be reached through errors of any builtin [exec-wait:65]", async () => {
    await using desk = openDesk();
    const code = `${VERDICT}
      const bad = [], seen = new Set(), skip = new Set(["yield_control"]);
      let thrown = 0;
      const inputs = [[], [null], [Symbol("s")], ["bogus-label"], [{ get x() { throw 1 } }, -1], ["::", "::"], [2 ** 40]];
      const probe = (path, f, self) => {
        for (const args of inputs) {
          for (const call of [() => Reflect.apply(f, self, args), () => Reflect.construct(f, args)]) {
            try { const got = call(); if (got instanceof Promise) got.catch(() => {}) }
            catch (e) { thrown++; const wrong = verdict(e); if (wrong !== "") bad.push(path + ": " + wrong) }
          }
        }
      };
      const walk = (path, value, self, depth) => {
        if ((typeof value !== "object" && typeof value !== "function") || value === null || seen.has(value)) return;
        seen.add(value);
        if (typeof value === "function") probe(path, value, self);
        if (depth === 0) return;
        for (const key of Reflect.ownKeys(value)) {
          if (skip.has(key)) continue;
          const { value: inner, get } = Object.getOwnPropertyDescriptor(value, key) ?? {};
          const name = path + "." + String(key);
          if (get !== undefined) probe(name, get, {});
          walk(name, inner, value, depth - 1);
        }
      };
      // Leave out what would end the probe or the programs after it.
      for (const key of ["eval", "console", "setInterval", "setTimeout", "tools"]) skip.add(key);
      walk("globalThis", globalThis, undefined, 3);
      return { bad, thrown: thrown > 1000, seen: seen.size > 300 }`;
    const result = await desk.exec(code);
    expect(await valueOf(result)).toEqual({ bad: [], thrown: true, seen: true });
  });

  test("cannot be reached through errors of the host's functions [exec-wait:65]", async () => {
    await using desk = openDesk();
    const code = `${VERDICT}
      const calls = {
        label: () => new TextDecoder("bogus-label"), json: () => JSON.parse("{"), url: () => new URL("::"),
        search: () => tools.search(5), limit: () => tools.search("a", { limit: 0 }), describe: () => tools.describe("nope"),
        unknown: () => tools.call("nope"), input: () => tools.read({}), denied: () => tools.call("core:core:forbidden"),
        boom: () => tools.boom({}), large: () => tools.big({ n: 5e6 }), symbol: () => tools.echo(Symbol("s")),
        cycle: () => { const a = {}; a.a = a; return tools.echo(a) }, bigint: () => tools.echo(1n), id: () => tools.call(7),
        clone: () => structuredClone(() => {}), random: () => crypto.getRandomValues(new Uint8Array(1e6)),
        atob: () => atob("%"), timer: () => setTimeout(5), abort: () => AbortSignal.abort().throwIfAborted(),
      };
      const wrong = {}, none = [];
      for (const [name, call] of Object.entries(calls)) {
        try { await call(); none.push(name) } catch (e) { const v = verdict(e); if (v !== "" || !(e instanceof Error || e instanceof DOMException)) wrong[name] = v || "no error" }
      }
      return { wrong, none }`;
    const value = (await valueOf(desk.exec(code))) as { wrong: unknown; none: unknown[] };
    expect(value.wrong).toEqual({});
    expect(value.none.length).toBeLessThan(4);
  });

  test("appears in no result, not even its values [exec-wait:66]", async () => {
    const sentinel = "sentinel-5f1c0e";
    process.env["CODECELL_TEST_SENTINEL"] = sentinel;
    try {
      await using desk = openDesk();
      const programs = [
        "return Reflect.ownKeys(globalThis).map(String)",
        "return { ...globalThis }",
        "console.log(globalThis); json(globalThis); text(globalThis); return 1",
        "return typeof process === 'undefined' ? 'none' : process.env",
        "try { return import.meta.env } catch (e) { return e.stack }",
        "return tools.boom({})",
        "return globalThis.constructor.constructor('return process.env')()",
        "return new Error().stack",
        "await tools.search('env'); return tools.describe('core:core:exec')",
      ];
      const results = [];
      for (const code of programs) results.push(await desk.exec(code));
      const told = JSON.stringify([
        results,
        await desk.run.trajectory(),
        desk.run.telemetry(),
        desk.run.visibleTools,
      ]);
      expect(told).not.toContain(sentinel);
      expect(told).not.toContain("CODECELL_TEST_SENTINEL");
      expect(told).not.toContain(process.cwd());
    } finally {
      delete process.env["CODECELL_TEST_SENTINEL"];
    }
  });
});

describe("other programs", () => {
  test("do not share globals [exec-wait:67]", async () => {
    await using desk = openDesk();
    await valueOf(
      desk.exec("globalThis.x = 1; try { tools.y = 1 } catch {} try { ALL_TOOLS.z = 1 } catch {} return x"),
    );
    const code = "return [typeof x, typeof tools.y, typeof ALL_TOOLS.z]";
    expect(await valueOf(desk.exec(code))).toEqual(["undefined", "undefined", "undefined"]);
  });

  test("do not share globals while both are alive, or after one was suspended [exec-wait:67]", async () => {
    await using desk = openDesk();
    const { runId } = await waitingOf(desk.exec("globalThis.x = 1; await yield_control(); return x"));
    expect(await valueOf(desk.exec("const was = typeof x; globalThis.x = 2; return was"))).toBe("undefined");
    expect(await valueOf(desk.wait(runId))).toBe(1);
  });

  test("do not see polluted prototypes, nor does the host [exec-wait:68]", async () => {
    await using desk = openDesk();
    const pollute = `Object.prototype.polluted = 1; Array.prototype.map = () => "evil"; JSON.stringify = () => '"forged"';
      Promise.prototype.then = function () { return "evil" }; String.prototype.slice = () => "evil"; Function.prototype.call = () => "evil";
      Object.prototype.toJSON = () => "evil"; Object.prototype.status = "completed"; Object.prototype.code = "evil";
      const got = await tools.echo({ a: 1 }); return [got.got, "ok"]`;
    await desk.exec(pollute);
    const hostile = `const evil = JSON.parse('{"__proto__": {"polluted": 1}, "constructor": {"prototype": {"polluted": 1}}}');
      json(evil); await tools.echo(evil).catch(() => {}); return evil`;
    const value = await valueOf(desk.exec(hostile));
    expect(Object.hasOwn(value as object, "__proto__")).toBe(true);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
    const code =
      "return [typeof {}.polluted, [1].map((n) => n + 1), JSON.stringify({ a: 1 }), typeof {}.toJSON]";
    expect(await valueOf(desk.exec(code))).toEqual(["undefined", [2], '{"a":1}', "undefined"]);
  });
});

describe("forging", () => {
  test("a program has the functions it was promised, and no others [exec-wait:69]", async () => {
    await using desk = openDesk();
    const code =
      "return Reflect.ownKeys(globalThis).filter((key) => typeof globalThis[key] === 'function' || typeof key === 'symbol' || /^_/.test(String(key))).map(String).sort()";
    const own = (await valueOf(desk.exec(code))) as string[];
    const direct = await desk.host.start({ source: code }).result;
    const known = new Set(direct.status === "completed" ? (direct.value as string[]) : []);
    expect(own.filter((name) => !known.has(name))).toEqual(["json", "load_result", "text", "yield_control"]);
    expect(own.filter((name) => name.startsWith("_"))).toEqual([]);
    // Functions that wait for an answer keep nothing of it where a program could look.
    const inner =
      "return [tools, tools.echo, text, json, yield_control].flatMap((one) => Reflect.ownKeys(one).map(String)).filter((key) => /pending|settle|resolve|host|_/i.test(key) && !['needs_ok', 'browser_request', 'create_issue', 'select_file'].includes(key))";
    expect(await valueOf(desk.exec(inner))).toEqual([]);
  });

  test.each([
    ["JSON", "JSON.parse = () => ({ forged: 1 }); JSON.stringify = () => '{\"forged\":1}'"],
    [
      "maps",
      "Map.prototype.get = () => ({ forged: 1 }); Map.prototype.has = () => true; Map.prototype.delete = () => {}",
    ],
    [
      "promises",
      "Promise.prototype.then = function (f) { return f({ forged: 1 }) }; Promise.resolve = () => ({ forged: 1 })",
    ],
    [
      "Promise itself",
      "globalThis.Promise = class { constructor(f) { f(() => {}, () => {}) } then(f) { f({ forged: 1 }) } }",
    ],
    ["iteration", "Array.prototype[Symbol.iterator] = function* () { yield { forged: 1 } }"],
    [
      "setters",
      "Object.defineProperty(Object.prototype, 'got', { set() {}, get() { return { forged: 1 } }, configurable: true })",
    ],
    [
      "species",
      "Object.defineProperty(Promise, Symbol.species, { get() { return function (f) { f(() => {}, () => {}) } } })",
    ],
    [
      "functions",
      "Function.prototype.apply = Function.prototype.call = () => ({ forged: 1 }); Reflect.apply = () => 0",
    ],
  ])("a program that replaces %s still gets what its tool gave [exec-wait:69]", async (_what, replace) => {
    await using desk = openDesk();
    const result = await desk.exec(`${replace}; return await tools.echo({ real: 1 })`);
    expect(desk.told.map(({ input }) => input)).toEqual([{ real: 1 }]);
    expect(result).toMatchObject({ status: "completed", value: { got: { real: 1 } } });
    expect((await desk.run.trajectory()).calls).toMatchObject([
      { status: "completed", result: { got: { real: 1 } } },
    ]);
  });

  test("a program cannot answer a call that is under way [exec-wait:69]", async () => {
    await using desk = openDesk();
    const code = `const call = tools.gate({});
      const tries = [];
      for (const key of Reflect.ownKeys(call)) tries.push(String(key));
      for (const name of ["resolve", "settle", "then", "deliver", "__settle"]) { try { call[name]?.("forged") } catch {} }
      try { Promise.prototype.resolve?.call(call, "forged") } catch {}
      await tools.echo("tried");
      return [await call, tries]`;
    const result = desk.exec(code);
    await until(() => desk.told.length === 1);
    desk.gate.release("real");
    expect(await valueOf(result)).toEqual(["real", []]);
  });
});

describe("a worker that dies", () => {
  test("again and again gives runtime_unavailable, and the next exec works [exec-wait:70]", async () => {
    await using desk = openDesk();
    expect(await valueOf(desk.exec("return 1"))).toBe(1);
    const result = desk.exec("await tools.echo(1); for (;;);");
    const failed = await failedOf(killUntil(result));
    expect(failed.code).toBe("runtime_unavailable");
    expect(failed.error).not.toMatch(/worker_threads|node:|\/work/u);
    expect(await valueOf(desk.exec("return tools.echo(2)"))).toEqual({ got: 2 });
    expect(desk.run.telemetry().failures).toEqual({ runtime_unavailable: 1 });
  });

  test("once is not noticed, and no call is made twice [exec-wait:70]", async () => {
    await using desk = openDesk();
    const result = desk.exec("const a = await tools.echo(1); const b = await tools.gate({}); return [a, b]");
    await until(() => desk.gate.open === 1);
    await killOnce();
    desk.gate.release("late");
    expect(await valueOf(result)).toEqual([{ got: 1 }, "late"]);
    expect(desk.told).toHaveLength(1);
    expect(desk.gate.made).toBe(1);
    expect(desk.run.telemetry().counts.call).toBe(2);
    expect(desk.hooked).toHaveLength(2);
  });

  test("while a program is suspended does not harm the program [exec-wait:70]", async () => {
    await using desk = openDesk();
    const { runId } = await waitingOf(desk.exec("let n = 41; await yield_control(); return n + 1"));
    await killOnce();
    expect(await valueOf(desk.wait(runId))).toBe(42);
  });
});

test("the engine is a dependency of the package itself [exec-wait:71]", () => {
  const home = new URL("../../packages/codecell/package.json", import.meta.url);
  const { dependencies = {} } = JSON.parse(readFileSync(home, "utf8")) as {
    dependencies?: Record<string, string>;
  };
  const version = dependencies["quickjs-wasi"] ?? "";
  // An exact version, since suspended programs need the very same engine.
  expect(version).toMatch(/^\d+\.\d+\.\d+$/u);
  const wasm = createRequire(home).resolve("quickjs-wasi/quickjs.wasm");
  const installed = new URL("package.json", `file://${wasm}`);
  expect((JSON.parse(readFileSync(installed, "utf8")) as { version: string }).version).toBe(version);
});
