/**
 * The client suite of @modelcontextprotocol/conformance, against `mcp()`: every scenario, in each of the last two revisions of
 * the protocol that it is for.
 */
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bundleFixture } from "../../../scripts/bundle.ts";

/** What the connector does not offer, and why. Who offers it takes it from this list. */
const NOT_OFFERED: Readonly<Record<string, string>> = {
  "auth/client-credentials-jwt": "an extension: clients prove themselves with secrets, not with keys",
  "auth/enterprise-managed-authorization": "an extension: no identity provider gives tokens for tokens",
  "auth/dpop": "an extension: tokens are not bound to keys",
  "auth/dpop-nonce": "an extension: tokens are not bound to keys",
  "auth/wif-jwt-bearer": "an extension: workloads have no identity of their own here",
  "sep-2640-client-no-prefetch": "an extension: skills are not read",
  "sep-2640-client-verify-digest": "an extension: skills are not read",
  "sep-2640-client-verify-size": "an extension: skills are not read",
  "sep-2640-client-verify-frontmatter": "an extension: skills are not read",
};

const REVISIONS: ReadonlySet<string> = new Set(["2025-11-25", "2026-07-28"]);

/** Each is the suite with its server, and a client. */
const LANES = 2;

const SUITE = join(
  dirname(createRequire(import.meta.url).resolve("@modelcontextprotocol/conformance/package.json")),
  "dist/index.js",
);

interface Run {
  readonly scenario: string;
  /** Absent: the suite chooses. */
  readonly revision?: string;
}

/** What the suite says, and whether it found fault with anything. Nothing is examined where it skips all. */
interface Outcome extends Run {
  readonly verdict: "passed" | "failed" | "nothing examined";
  readonly told: string;
}

let folder: string;
let runs: readonly Run[];
const outcomes: Outcome[] = [];

interface Ended {
  readonly code: number | string;
  readonly told: string;
}

function suite(args: readonly string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(process.execPath, [SUITE, ...args], { maxBuffer: 64_000_000 }, (error, stdout, stderr) => {
      resolve({ code: error?.code ?? 0, told: stdout + stderr });
    });
  });
}

/** A line says `  - auth/metadata-default [2025-11-25,2026-07-28]`. */
async function listRuns(): Promise<readonly Run[]> {
  const { told } = await suite(["list", "--client"]);
  return [...told.matchAll(/^ {2}- (\S+) \[([^\]]*)\]$/gmu)].flatMap(([, scenario = "", tags = ""]) => {
    const revisions = tags.split(",").filter((tag) => REVISIONS.has(tag));
    return revisions.length === 0 ? [{ scenario }] : revisions.map((revision) => ({ scenario, revision }));
  });
}

async function outcomeOf(run: Run, command: string): Promise<Outcome> {
  const { scenario, revision } = run;
  const { code, told } = await suite([
    "client",
    `--command=${command}`,
    `--scenario=${scenario}`,
    "--timeout=120000",
    `--output-dir=${folder}`,
    ...(revision === undefined ? [] : ["--spec-version", revision]),
  ]);
  const [, passed] = /^Passed: (\d+)\/\d+, \d+ failed/mu.exec(told) ?? [];
  if (passed === undefined || code !== 0) return { ...run, verdict: "failed", told };
  return { ...run, verdict: passed === "0" ? "nothing examined" : "passed", told };
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "codecell-conformance-"));
  const client = await bundleFixture(new URL("conformance-client.fixture.ts", import.meta.url));
  const command = [process.execPath, client].map((part) => JSON.stringify(part)).join(" ");
  runs = await listRuns();
  const left = [...runs];
  const lane = async (): Promise<void> => {
    for (let run = left.shift(); run !== undefined; run = left.shift())
      outcomes.push(await outcomeOf(run, command));
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}, 900_000);

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

const nameOf = ({ scenario, revision }: Run): string => `${scenario} (${revision ?? "any revision"})`;

test("every scenario that applies to the connector passes", () => {
  expect(runs.length).toBeGreaterThan(60);
  const notPassed = outcomes.filter(
    ({ scenario, verdict }) => verdict !== "passed" && NOT_OFFERED[scenario] === undefined,
  );
  expect(notPassed.map((outcome) => `${nameOf(outcome)}: ${outcome.verdict}\n${outcome.told}`)).toEqual([]);
});

test("what is listed as not offered is there, and does not pass", () => {
  const passed = new Set(
    outcomes.filter(({ verdict }) => verdict === "passed").map(({ scenario }) => scenario),
  );
  expect(Object.keys(NOT_OFFERED).filter((scenario) => passed.has(scenario))).toEqual([]);
  const known = new Set(runs.map(({ scenario }) => scenario));
  expect(Object.keys(NOT_OFFERED).filter((scenario) => !known.has(scenario))).toEqual([]);
});
