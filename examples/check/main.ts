/** Runs programs with mistakes on a host that checks them first, and shows what the model would be told. */
import { deepStrictEqual, ok } from "node:assert/strict";
import { createHost } from "codecell";
import { createChecker } from "codecell/check";
import { STORIES } from "./programs.ts";
import { refunds, tools } from "./shop.ts";

const checker = createChecker({ checkTimeMs: 10_000 });
// Says what to install when there is no compiler; without this the first program would wait for it to load.
await checker.warm();
const host = createHost({ workers: 1, check: { checker } });

for (const { title, source, expected } of STORIES) {
  console.log(`\n── ${title}\n\n${source.replaceAll(/^/gmu, "  ")}\n`);
  const result = await host.start({ source, tools }).result;
  if (result.status === "completed") {
    console.log(`→ completed: ${JSON.stringify(result.value)}`);
    ok("value" in expected);
    deepStrictEqual(result.value, expected.value);
    continue;
  }
  ok(result.status === "failed" && "code" in expected);
  const { code, message, advice = [] } = result.failure;
  const told = [`${code}: ${message}`, ...advice.map((each) => `advice: ${each.message}`)].join("\n  ");
  console.log(`→ ${told}`);
  deepStrictEqual(code, expected.code);
  for (const text of expected.says) ok(told.includes(text), text);
}

// Nothing that was refused had begun.
deepStrictEqual(refunds, []);
await host[Symbol.asyncDispose]();
await checker[Symbol.asyncDispose]();
console.log("\nAll as expected.");
