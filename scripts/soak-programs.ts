/** The programs of the soak: innocent ones, with the value that each must give, and hostile ones. */

export interface Innocent {
  readonly source: string;
  readonly value: string;
}

export const INNOCENT: readonly Innocent[] = [
  { source: "const z: number = 41; return z + 1", value: "42" },
  { source: "return await tools.echo({ a: [1, 'two', null] })", value: '{"a":[1,"two",null]}' },
  {
    source: "return (await Promise.all([3, 1, 2].map((ms) => tools.wait({ ms })))).map((x: any) => x.ms)",
    value: "[3,1,2]",
  },
  { source: "let n = 0; for (let i = 0; i < 20; i++) n += await tools.echo(i); return n", value: "190" },
  { source: "await new Promise((r) => setTimeout(r, 20)); return 'slept'", value: '"slept"' },
  { source: "try { await tools.fail({}) } catch (e: any) { return e.code }", value: '"tool_failed"' },
  { source: "let s = 0; for (let i = 0; i < 200000; i++) s += i % 7; return s", value: "599994" },
  {
    source:
      "const big = Array.from({ length: 20000 }, (_, i) => ({ i })); await tools.wait({ ms: 5 }); return big.length",
    value: "20000",
  },
  { source: "console.log('hello', { a: 1 }); return new Map([[1, 2]]).get(1)", value: "2" },
];

export const HOSTILE: readonly string[] = [
  "for (;;);",
  "Array.prototype.join.call({ length: 2**53 - 1 }, '')",
  "return 'a'.repeat(4e6).indexOf('a'.repeat(2e6) + 'b')",
  "const a: any[] = []; for (;;) a.push(new Uint8Array(1e5).fill(1))",
  "let s = 'x'; for (;;) s += s",
  "const f = (): any => f() + 1; return f()",
  "throw new Error('x'.repeat(1e6))",
  "return 'x'.repeat(5e6)",
  "for (let i = 0; i < 20000; i++) console.log('line', i); throw null",
  "for (let i = 0; i < 5000; i++) tools.wait({ ms: 5 }); return 1",
  "await new Promise(() => {})",
  "await tools.never({}); return 1",
  "setInterval(() => {}, 1); for (;;) await tools.echo(1)",
  "for (let i = 0; i < 200000; i++) clearTimeout(setTimeout(() => {}, 1)); return 1",
  "const s = 'x'.repeat(5e5); await Promise.all(Array.from({ length: 40 }, () => tools.echo(s)))",
  "return [[".repeat(2000),
  "import fs from 'node:fs'",
  "Object.prototype.then = function (r: any) { r(1) }; JSON.stringify = () => '{'; return await tools.echo({})",
  "const f = () => Promise.resolve().then(f); await f()",
  "for (let i = 0; i < 1000; i++) Promise.reject(i); throw new Error('bye')",
];
