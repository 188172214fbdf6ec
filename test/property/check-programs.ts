/**
 * Programs with failing calls, in all places where a failure may or may not matter, as fast-check arbitraries.
 *
 * Whether a place is reached depends only on the text, never on data.
 */
import fc from "fast-check";

const right = fc.constantFrom(
  "out.push(await tools.weather({ city: 'a' }));",
  "out.push((await tools.list()).length);",
  "tools.weather({ city: 'b', days: 2 });",
  "{ const held = tools.list(); out.push((await held).map(({ id }) => id)); }",
  "out.push(await Promise.all(['a', 'b'].map((city) => tools.weather({ city }))));",
  "{ let held: any = tools.list(); held = await held; out.push(held.length); }",
  "{ const { weather } = tools; out.push(await weather({ city: 'c' })); }",
  "out.push('tools.wether', `tools.${'nope'}()`);",
);

/** Each fails when it is reached: at once, or when the run ends. */
const wrong = fc.constantFrom(
  "out.push(await tools.wether({ city: 'a' }));",
  "tools.wether({ city: 'a' });",
  "await tools['nope']();",
  "out.push(await tools.weather({ days: 1 }));",
  "tools.weather({});",
  "await tools.weather();",
  "{ const held = tools.wether({}); await held; }",
  "{ const { wether } = tools; await wether({}); }",
  "{ const look = tools.wether; await look({}); }",
  "for (const each of tools.list()) out.push(each);",
  "out.push(...tools.list());",
  "await tools.echo({ list: tools.list() });",
  "await tools.echo(tools.list());",
  "for await (const each of tools.list()) out.push(each);",
  "{ let held = tools.list(); for (const each of held) out.push(each); }",
  "await Promise.all([tools.list(), tools.wether({})]);",
  "await tools.wether({}).then((each) => out.push(each));",
);

/** Some of these let the failure out again, others do not. */
const AROUND: readonly ((text: string) => string)[] = [
  (text) => `{ ${text} }`,
  (text) => `try { ${text} } catch { out.push('caught'); }`,
  (text) => `try { ${text} } catch (error) { throw error; }`,
  (text) => `try { ${text} } finally { out.push('finally'); }`,
  (text) => `try { throw new Error('x'); } catch { ${text} }`,
  (text) => `if (true) { ${text} }`,
  (text) => `if (false) { ${text} }`,
  (text) => `if (OFF) { ${text} } else { out.push('off'); }`,
  (text) => `if (!OFF) { ${text} }`,
  (text) => `if (out.length >= 0) { ${text} }`,
  (text) => `if (MODE === 'b' || MOST > 5) { ${text} }`,
  (text) => `for (const each of []) { out.push(each); ${text} }`,
  (text) => `while (OFF) { ${text} }`,
  (text) => `for (const each of [1]) { out.push(each); ${text} }`,
  (text) => `switch (MODE) { case 'b': { ${text} } }`,
  (text) => `await (async () => { ${text} })();`,
  (text) => `await (async () => { ${text} })().catch(() => out.push('caught'));`,
  (text) => `await (async () => { return; ${text} })();`,
  (text) => `await (async () => { throw new Error('y'); ${text} })().catch(() => {});`,
  (text) => `await Promise.all([1].map(async () => { ${text} }));`,
  (text) => `await Promise.allSettled([1].map(async () => { ${text} }));`,
  (text) => `[1].forEach(async () => { ${text} });`,
  (text) => `{ const go = async () => { ${text} }; await go(); }`,
  (text) => `{ const go = async () => { ${text} }; out.push(typeof go); }`,
  (text) => `{ const go = async () => { ${text} }; await go().catch(() => {}); }`,
  (text) => `{ const go = async () => { ${text} }; await quietly(go); }`,
  (text) =>
    `{ const go = async () => { ${text} }; const stay = async () => { await go(); }; out.push(typeof stay); }`,
  (text) => `{ let go = async () => { ${text} }; go = async () => {}; await go(); }`,
  (text) => `{ async function go() { ${text} } await go(); }`,
  (text) => `{ async function go() { ${text} } }`,
  (text) => `{ async function* go() { ${text} } go(); }`,
  (text) => `{ const box = { async go() { ${text} } }; out.push(Object.keys(box)); }`,
  (text) => `{ class Box { async go() { ${text} } } out.push(typeof Box); }`,
  (text) => `await quietly(async () => { ${text} });`,
  (text) => `setTimeout(async () => { ${text} }, 60_000);`,
  (text) => `new Promise(async () => { ${text} });`,
  (text) => `await Promise.race([(async () => { ${text} })(), 1]);`,
  (text) => `[1].values().map(async () => { ${text} });`,
  (text) => `if ('wether' in tools) { ${text} }`,
  (text) => `if (Object.keys(tools).includes('nope')) { ${text} }`,
  (text) => `if (typeof tools.list !== 'function') { ${text} }`,
  (text) => `void (async () => { ${text} })();`,
  (text) => `OFF && (await (async () => { ${text} })());`,
  (text) => `await (OFF ? (async () => { ${text} })() : 1);`,
];

const HEAD = `const out: unknown[] = [];
const OFF = false;
const MODE = 'a';
const MOST = 3;
const quietly = async (f: () => Promise<unknown>) => { try { await f(); } catch { out.push('quiet'); } };`;

const { statement } = fc.letrec<{ statement: string }>((tie) => ({
  statement: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    right,
    wrong,
    fc.tuple(fc.constantFrom(...AROUND), tie("statement")).map(([around, text]) => around(text)),
    fc.tuple(fc.constantFrom(...AROUND), tie("statement")).map(([around, text]) => around(text)),
  ),
}));

function toProgram(statements: readonly string[]): string {
  return [HEAD, ...statements, "return out.length;"].join("\n");
}

export const rightProgram: fc.Arbitrary<string> = fc.array(right, { maxLength: 5 }).map(toProgram);

export const mixedProgram: fc.Arbitrary<string> = fc
  .array(statement, { minLength: 1, maxLength: 3 })
  .map(toProgram);
