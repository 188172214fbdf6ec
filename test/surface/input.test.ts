/** Section 4.4 of the contract's tests: the input of `exec`, its languages, and modules. */
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { CodeModeFailed } from "codecell/surface";
import { afterAll, describe, expect, test } from "vitest";
import { openDesk } from "./fixtures.ts";
import { expectResult, expectStatus } from "./result-schema.ts";
import { SOURCE_FLAGS } from "../../scripts/source-flags.ts";

const desk = openDesk();
afterAll(() => desk[Symbol.asyncDispose]());

/** Runs a program that has to fail before its first call. */
async function failureOf(code: string, language?: string): Promise<CodeModeFailed> {
  const before = desk.told.length;
  const result = expectStatus("failed", await desk.exec(code, language));
  expect(desk.told.length, "No tool was called").toBe(before);
  return result;
}

const CALLS = "await tools.echo({});";

describe("the code", () => {
  const hostile = {
    get code(): string {
      throw new Error("S3CRET");
    },
  };
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();

  test.each<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["an empty object", {}],
    ["a text", "return 1"],
    ["a list", ["return 1"]],
    ["no code", { language: "javascript" }],
    ["empty code", { code: "" }],
    ["blank code", { code: " \n\t\r\u00a0\ufeff\u2028 " }],
    ["undefined code", { code: undefined }],
    ["null code", { code: null }],
    ["a number", { code: 5 }],
    ["an object", { code: { toString: () => "return 1" } }],
    ["a list of lines", { code: ["return 1"] }],
    ["a boxed text", { code: Object("return 1") as unknown }],
    ["a getter that throws", hostile],
    ["a revoked proxy", revoked.proxy],
    ["a function", () => "return 1"],
    ["a bigint", { code: 1n }],
  ])("[exec-wait:28] %s is a failed result", async (_, input) => {
    const result = expectStatus("failed", await desk.run.exec(input));
    expect(result.code).toBe("invalid_input");
    expect(result.error).toContain("code");
    expect(result.error).not.toContain("S3CRET");
  });

  test("[exec-wait:28] is read from any object that has it", async () => {
    const frozen = Object.freeze({ code: "return 1" });
    const bare = Object.assign(Object.create(null) as object, { code: "return 1" });
    const proxied = new Proxy({ code: "return 1" }, {});
    const inherited = Object.create({ code: "return 1" }) as object;
    const more = { code: "return 1", language: undefined, other: 5n };
    for (const input of [frozen, bare, proxied, inherited, more]) {
      expect(expectResult(await desk.run.exec(input))).toMatchObject({ status: "completed", value: 1 });
    }
  });

  test("[exec-wait:28] that changes with every reading is still one whole program", async () => {
    let reads = 0;
    const changing = {
      get code(): unknown {
        return ++reads % 2 === 1 ? "return 1" : "return 2";
      },
    };
    // The trajectory reads the input too. The program is one of the two texts, whole.
    const { value } = expectStatus("completed", await desk.run.exec(changing));
    expect([1, 2]).toContain(value);
  });

  test("[exec-wait:28] of any size gets an answer", async () => {
    const result = await failureOf(`${CALLS} return "${"x".repeat(5_000_000)}"`);
    expect(result.code).toBe("invalid_input");
  });

  test("[exec-wait:28] that has only comments is a program", async () => {
    expect(await desk.exec("// nothing")).toMatchObject({ status: "completed", value: null });
  });
});

describe("JavaScript", () => {
  test.each([
    ["return await Promise.resolve(1)", 1],
    ["const x = await tools.echo({ a: 1 }); return x.got.a", 1],
    ["for await (const x of [Promise.resolve(3)]) return x", 3],
    ["if (true) return 2; return 3", 2],
    ["1 + 1", null],
    ["const x = 5", null],
    ["tools.echo({})", null],
    ["return", null],
    ["return undefined", null],
    ["return null", null],
    ["throw_ = 1", null],
  ])("[exec-wait:29] is the default language: %s", async (code, value) => {
    expect(await desk.exec(code)).toMatchObject({ status: "completed", value });
    expect(await desk.exec(code, "javascript")).toMatchObject({ status: "completed", value });
  });

  test("[exec-wait:29] has no types, unless the language is TypeScript", async () => {
    expect((await failureOf(`${CALLS} const x: number = 1; return x`)).code).toBe("invalid_input");
  });

  test.each([
    ["const x = ;", "line 1, column 11"],
    ["return 1;\nreturn (2;", "line 2, column 10"],
    ["function {", "line 1"],
    ["const a = 1;\nconst a = 2;", "line 2"],
    ["await tools.echo({});\n}", "line 2, column 1"],
    ["`${", "line 1"],
  ])("[exec-wait:34] %j is wrong input, with its place", async (code, place) => {
    const result = await failureOf(code);
    expect(result.code).toBe("invalid_input");
    expect(result.error).toContain(place);
  });
});

describe("TypeScript", () => {
  test.each([
    ["const x: number = 1; interface A {}; return x as any", 1],
    ["const x: number = 'no number'; return x", "no number"],
    ["return nothing<string>(1 as unknown as string); function nothing<T>(x: T): T { return x }", 1],
    ["type A = { a: string }; const a: A = { b: 2 } as never; return a", { b: 2 }],
    ["const x = 1 satisfies string; return x!", 1],
    [
      "class A { private x?: number = 4; declare y: string; get(): number { return this.x! } } return new A().get()",
      4,
    ],
    ["import type { A } from 'b'; return 1", 1],
    ["abstract class A { abstract f(): void } return typeof A", "function"],
    ["return (await tools.echo({ a: 1 }) as { got: { a: number } }).got.a", 1],
  ])("[exec-wait:30] runs without its types: %s", async (code, value) => {
    expect(await desk.exec(code, "typescript")).toMatchObject({ status: "completed", value });
  });

  test.each([
    [`${CALLS}\nconst x: = 1;`, 2],
    [`${CALLS}\n\ninterface {`, 3],
    ["const a: number = ;", 1],
    [`${CALLS}\nreturn (1 as;`, 2],
  ])("[exec-wait:32] %j is not TypeScript, with its line", async (code, line) => {
    const result = await failureOf(code, "typescript");
    expect(result.code).toBe("typescript_transform_failed");
    expect(result.error).toContain(`line ${line}`);
    expect(result.error.length).toBeGreaterThan(20);
  });

  test.each([
    ["interface A {\n  a: string }\nthrow new Error('here');", "here"],
    ["let a = null,\n b = 1;\na.x.y;", "null"],
    ["const x: number = 1;\n\nundefinedThing();", "undefinedThing"],
    ["// one\nenumerable satisfies unknown;\nreturn 1", "enumerable"],
    ["const f = <T>(x: T): T =>\n  x as T;\nf(missing as string);", "missing"],
  ])("[exec-wait:33] an error in line 3 names line 3: %j", async (code, words) => {
    const result = expectStatus("failed", await desk.exec(code, "typescript"));
    expect(result.error).toContain(words);
    expect(result.error).toContain(code.includes("enumerable") ? "line 2" : "line 3");
  });

  test("[exec-wait:33] a failed call and an error in JavaScript name their lines too", async () => {
    const code = "let a = 1;\n\n  await tools.boom({});";
    for (const language of ["javascript", "typescript"]) {
      expect(expectStatus("failed", await desk.exec(code, language)).error).toContain("line 3");
    }
  });
});

describe("the compiler", () => {
  const COMPILER = /node_modules\/(?:typescript|@typescript|esbuild|@swc|sucrase|amaro)\//u;

  async function scriptsOf(what: string): Promise<{ statuses: string[]; urls: string[] }> {
    const fixture = fileURLToPath(new URL("loaded-scripts.fixture.ts", import.meta.url));
    const child = spawn(process.execPath, [...SOURCE_FLAGS, fixture, what], { timeout: 25_000 });
    const [printed, complaint] = await Promise.all([text(child.stdout), text(child.stderr)]);
    if (printed === "") throw new Error(complaint);
    return JSON.parse(printed) as { statuses: string[]; urls: string[] };
  }

  test.each([
    ["disabled", ["failed"], false],
    ["unused", [], false],
    ["javascript", ["completed"], true],
    // Types are blanked out, so even TypeScript needs no compiler.
    ["typescript", ["completed"], true],
  ])("[exec-wait:31] is not loaded in any thread: %s", async (what, statuses, hasWorker) => {
    const loaded = await scriptsOf(what);
    expect(loaded.statuses).toEqual(statuses);
    expect(loaded.urls.filter((url) => COMPILER.test(url))).toEqual([]);
    expect(loaded.urls.some((url) => url.endsWith("/worker/node.ts"))).toBe(hasWorker);
  });

  test("[exec-wait:31] would have been seen by the test", async () => {
    const { urls } = await scriptsOf("checked");
    expect(urls.filter((url) => COMPILER.test(url))).not.toEqual([]);
  });
});

describe("modules", () => {
  const DENIED = [
    'import x from "y"',
    'import "y"',
    'import * as y from "y"',
    'import { a } from "y"',
    'return import("y")',
    'return await import("node:fs")',
    'return require("y")',
    'return require?.("y")',
    'return (0,require)("y")',
    'return \\u0072equire("y")',
    'return r\\u{65}quire("y")',
    "const load = require; return load('y')",
    "return [require][0]('y')",
    "return `${require('y')}`",
    "return require.resolve('y')",
    "return import.meta",
    "return import.meta.url",
    "return import  /* a */  ( 'y' )",
    'export { x } from "y"',
    'export * from "y"',
    "const f = () => { if (false) require('y') }; return 1",
    "return eval && import('y')",
  ];

  test.each(DENIED)("[exec-wait:35] %s is denied before anything runs", async (code) => {
    const whole =
      code.startsWith("import ") || code.startsWith("export ") ? `${code}\n${CALLS}` : `${CALLS} ${code}`;
    for (const language of ["javascript", "typescript"]) {
      const result = await failureOf(whole, language);
      expect(result.code, language).toBe("module_access_denied");
      expect(result.error).toContain("line 1");
    }
  });

  test.each([
    'import x = require("y"); return x',
    'const x: typeof import("y") = require("y"); return x',
    'return (require as any)("y")',
    'return require!("y")',
    'return <unknown>require("y")',
    "export = 1;",
    'import { type A, b } from "y"; return b',
    'return (import("y") as Promise<unknown>)',
  ])("[exec-wait:35] %s is denied in TypeScript", async (code) => {
    expect((await failureOf(`${code}\n${CALLS}`, "typescript")).code).toBe("module_access_denied");
  });

  test.each([
    [
      'return \'import x from "y"; require("z"); import("a")\'',
      'import x from "y"; require("z"); import("a")',
    ],
    ["return \"require('y')\"", "require('y')"],
    ["// import x from 'y'\n/* require('y') import.meta */ return 1", 1],
    ["return `import('y') ${1} require('z')`", "import('y') 1 require('z')"],
    ["return /import x from 'y'|require\\(|import\\(/u.test('require(')", true],
    [
      "const obj = { require: (x) => x, import: (x) => x }; return [obj.require('a'), obj.import('b')]",
      ["a", "b"],
    ],
    ["const obj = { require(x) { return x }, import: 1, meta: 2 }; return obj?.require?.('a')", "a"],
    ["return { require: 1, import: 2 }", { require: 1, import: 2 }],
    [
      "class A { require() { return 1 } static import() { return 2 } } return new A().require() + A.import()",
      3,
    ],
    ["const { require: mine } = { require: 4 }; return mine", 4],
    ["return typeof require", "undefined"],
    ["const requires = 1, important = 2, required = 3; return requires + important + required", 6],
    ["const require = (x) => x + 1; return require(1)", 2],
    ["text('please import this'); json({ require: true }); return 'exported'", "exported"],
  ])("[exec-wait:36] %s is not a module access", async (code, value) => {
    for (const language of ["javascript", "typescript"]) {
      expect(await desk.exec(code, language)).toMatchObject({ status: "completed", value });
    }
  });

  test.each([
    `eval("import('fs')")`,
    `eval('require("fs")')`,
    `(0, eval)("1")`,
    `globalThis.eval("import('fs')")`,
    `new Function("return import('fs')")()`,
    `Function("return require('fs')")()`,
    `(async () => {}).constructor("return import('fs')")()`,
    `(function* () {}).constructor("yield import('fs')")().next()`,
    `(async function* () {}).constructor("yield import('fs')")().next()`,
    `Reflect.construct(Function, ["return import('fs')"])()`,
    `[].constructor.constructor("return import('fs')")()`,
    `tools.echo.constructor("return import('fs')")()`,
    `setTimeout("import('fs')")`,
    `globalThis.require("fs")`,
    `globalThis["req" + "uire"]("fs")`,
  ])("[exec-wait:37] %s loads nothing", async (expression) => {
    const code = `try { const got = await (async () => ${expression})(); return ["loaded", typeof got]; } catch (error) { return ["threw", error instanceof Error, error.constructor === globalThis[error.name]]; }`;
    const result = await desk.exec(code);
    expect(result).toMatchObject({ status: "completed", value: ["threw", true, true] });
  });
});

describe("shell commands", () => {
  test.each(["ls -la", "cat /etc/passwd", "npm install left-pad", "git status", "#!/bin/bash\nls"])(
    "[exec-wait:38] %j is wrong input, and the error has a hint about tools",
    async (code) => {
      for (const language of ["javascript", "typescript"]) {
        const result = await failureOf(code, language);
        expect(result.code).toBe("invalid_input");
        expect(result.error).toContain("tools.search");
      }
    },
  );

  test("[exec-wait:38] a program that only begins like a command is a program", async () => {
    const alone = expectStatus("failed", await desk.exec("read; return 1"));
    // It ran, and the variable does not exist.
    expect(alone.code).toBe("internal_error");
    expect(alone.error).toContain("read");
    expect(alone.error).not.toContain("shell");
    for (const code of [
      "var read; read; return 1",
      "const { read } = tools; read; return 1",
      "var ls = 3, la = 2; ls -la; return 1",
    ]) {
      expect(await desk.exec(code)).toMatchObject({ status: "completed", value: 1 });
    }
  });
});
