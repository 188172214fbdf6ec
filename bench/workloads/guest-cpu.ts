/** Pure computing in the guest. An interpreter in WebAssembly is slow here, and the figures show it. */

import { runInThisContext } from "node:vm";
import { measureOneByOne, nextSalt } from "../harness/attempts.ts";
import type { Program, Workload } from "./workload.ts";

const tools = { step: ({ n = 0 }) => ({ n: n + 1 }) };

/** Sources take a salt and return `[salt, value]`. The same text in the host computes the expected value. */
const SOURCES: Readonly<Record<string, string>> = {
  "fib(25)": `
const fib = (n) => (n < 2 ? n : fib(n - 1) + fib(n - 2));
return [salt, fib(25)];`,
  "sort 100k numbers": `
let state = 12345;
const numbers = Array.from({ length: 100000 }, () => (state = (state * 1103515245 + 12345) % 2147483648));
numbers.sort((a, b) => a - b);
return [salt, numbers[0], numbers[50000], numbers[99999]];`,
  "JSON 1 MB x10": `
const rows = Array.from({ length: 8000 }, (_, id) => ({ id, name: "Customer " + id, score: id * 1.5, tags: ["a", "b", "c"],
  note: "a sentence of text in each row, as rows have, up to a size" }));
let text = JSON.stringify(rows);
for (let turn = 0; turn < 10; turn++) text = JSON.stringify(JSON.parse(text));
return [salt, text.length];`,
  regex: `
const line = "2026-01-15T12:00:00Z INFO user=alice@example.com path=/api/items/42 took=17ms; ";
const text = line.repeat(2000);
let sum = 0;
for (const match of text.matchAll(/user=([\\w.]+)@([\\w.]+)\\s+path=(\\/[\\w/]+)\\s+took=(\\d+)ms/g)) sum += Number(match[4]);
return [salt, sum, text.replace(/[aeiou]/g, "").length];`,
};

const expectedTail = new Map<string, readonly unknown[]>();

function createProgram(label: string): Program {
  const salt = nextSalt();
  const source = SOURCES[label] ?? "";
  let tail = expectedTail.get(label);
  if (tail === undefined) {
    const value: readonly unknown[] = runInThisContext(`((salt) => {${source}\n})(0)`);
    tail = value.slice(1);
    expectedTail.set(label, tail);
  }
  return { source: `const salt = ${salt};${source}`, tools, expected: [salt, ...tail] };
}

const [firstLabel = "", ...otherLabels] = Object.keys(SOURCES);

export const guestCpu: Workload = {
  name: "guest-cpu",
  title: "Compute in the guest",
  process: "shared",
  metrics: [
    { key: "p50", label: "p50", better: "lower", unit: "ms" },
    { key: "cpu", label: "CPU/run", better: "lower", unit: "ms" },
  ],
  cases: [{ label: firstLabel, size: 0 }, ...otherLabels.map((label, index) => ({ label, size: index + 1 }))],
  rounds: 3,
  measure: (contestant, which, pace) =>
    measureOneByOne(contestant, () => createProgram(which.label), {
      ...pace,
      minRuns: Math.min(3, pace.minRuns),
    }),
};
