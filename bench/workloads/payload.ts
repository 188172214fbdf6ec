/**
 * A tool output of 1 MB of JSON from which the source keeps 100 rows: the reason to have code mode at all.
 */

import { nextSalt } from "../harness/attempts.ts";
import { oneByOne } from "./one-by-one.ts";
import type { Program, Workload } from "./workload.ts";

const MB = 1024 * 1024;
const KEPT = 100;

interface Row {
  readonly id: number;
  readonly name: string;
  readonly score: number;
  readonly tags: readonly string[];
  readonly note: string;
}

function createRow(id: number): Row {
  return {
    id,
    name: `Customer ${id}`,
    score: (id * 7919) % 1000,
    tags: [`region-${id % 7}`, `tier-${id % 3}`],
    note: `Row ${id} carries a sentence of text, as rows of a real backend do; \u00e9 and \u{1f600} too.`,
  };
}

const rows: Row[] = [];
for (let bytes = 0; bytes < MB;) {
  const row = createRow(rows.length);
  rows.push(row);
  bytes += Buffer.byteLength(JSON.stringify(row)) + 1;
}
const threshold = rows.map((row) => row.score).toSorted((a, b) => b - a)[KEPT * 2] ?? 0;
const expectedRows = rows
  .filter((row) => row.score >= threshold)
  .slice(0, KEPT)
  .map(({ id, name }) => ({ id, name }));

// the salt is in the output, so that no text of an earlier output can be reused
const tools = { list: ({ n = 0 }) => ({ salt: n, rows }) };

function createProgram(): Program {
  const salt = nextSalt();
  const source = `
const { salt, rows } = await tools.list({ n: ${salt} });
const kept = rows.filter((row) => row.score >= ${threshold}).slice(0, ${KEPT});
return { salt, kept: kept.map(({ id, name }) => ({ id, name })) };`;
  return { source, tools, expected: { salt, kept: expectedRows } };
}

export const payload: Workload = oneByOne(
  "payload",
  "A 1 MB tool output filtered to 100 rows",
  createProgram,
);
