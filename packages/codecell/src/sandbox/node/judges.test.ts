import { execFile } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import { describe, expect, test, vi } from "vitest";
import { SOURCE_FLAGS } from "../../../../../scripts/source-flags.ts";
import { Judges, judgesOf } from "./judges.ts";
import { defaultWorkerUrl } from "./worker-script.ts";
import type { Case } from "../../protocol/judges.ts";

const WORKER_URL = defaultWorkerUrl();
const judges = new Judges(WORKER_URL, 300);
const { signal } = new AbortController();

vi.setConfig({ testTimeout: 120_000 });

function toCase(schema: object, value: unknown): Case {
  return { schema: JSON.stringify(schema), direction: "input", value: JSON.stringify(value), root: "input" };
}

const STUCK = { pattern: "^(a+)+$" };
const stuck = toCase(STUCK, `${"a".repeat(60)}!`);

describe("a case for a judge", () => {
  test("is decided as it would be on the host", async () => {
    const judge = judges.for("run", signal);
    expect(await judge(toCase({ type: "string" }, "x"))).toEqual({ kind: "fits" });
    expect(await judge(toCase({ type: "string" }, 1))).toEqual({
      kind: "unfit",
      problems: ["input: must be a string, is a number"],
    });
    expect(await judge(toCase({ $ref: "#/nowhere" }, 1))).toEqual({ kind: "faulty" });
    expect(await judge(toCase(STUCK, "aaa"))).toEqual({ kind: "fits" });
  });

  test("is given up when it is stuck, and from then on delays only cases of its schema", async () => {
    const endings: string[] = [];
    const judged = (name: string, one: Case): Promise<void> =>
      judges
        .for(
          name,
          signal,
        )(one)
        .then(({ kind }) => void endings.push(`${name} ${kind}`));
    expect(await judges.for("first", signal)(stuck)).toEqual({ kind: "unknown" });
    await Promise.all([
      judged("hostile", stuck),
      judged("hostile", stuck),
      judged("neighbour", toCase({ type: "number" }, 1)),
      judged("sharer", toCase(STUCK, "aaa")),
    ]);
    // The sharer gets its turn after one of the two.
    expect(endings).toEqual(["neighbour fits", "hostile unknown", "sharer fits", "hostile unknown"]);
  });

  test("is not judged after its run has ended", async () => {
    const own = new Judges(WORKER_URL, 300);
    const ended = new AbortController();
    const first = own.for("other", signal)(stuck);
    const waiting = own.for("ended", ended.signal)(stuck);
    ended.abort();
    expect(await waiting).toEqual({ kind: "unknown" });
    expect(await own.for("ended", ended.signal)(stuck)).toEqual({ kind: "unknown" });
    expect(await first).toEqual({ kind: "unknown" });
  });

  // Node.js 22 does not tell the processor time of a single thread.
  test.skipIf(!("cpuUsage" in Worker.prototype))("is not given up while other threads compute", async () => {
    const judge = new Judges(WORKER_URL, 300).for("run", signal);
    expect(await judge(toCase({ type: "number" }, 1))).toEqual({ kind: "fits" });
    const neighbours = Array.from({ length: 8 }, () => new Worker("for (;;);", { eval: true }));
    await Promise.all(neighbours.map((worker) => once(worker, "online")));
    const records = toCase(
      { items: { anyOf: [{ required: ["a"] }, { type: "object" }] } },
      Array.from({ length: 50_000 }, () => ({})),
    );
    expect(await judge(records)).toEqual({ kind: "fits" });
    await Promise.all(neighbours.map((worker) => worker.terminate()));
  });

  test("is bounded by steps, however much time it has", async () => {
    const types = Array.from({ length: 400 }, (_, index) => ({ required: [`p${index}`] }));
    const records = Array.from({ length: 60_000 }, () => ({}));
    const patient = new Judges(WORKER_URL, 60_000);
    const verdict = await patient.for("run", signal)(toCase({ items: { anyOf: [...types, true] } }, records));
    expect(verdict).toEqual({ kind: "unknown" });
    expect(await patient.for("run", signal)(toCase({ type: "number" }, 1))).toEqual({ kind: "fits" });
  });

  test("keeps no process alive after its answer", async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      ...SOURCE_FLAGS,
      "--input-type=module",
      "--eval",
      `const { judgesOf } = await import(${JSON.stringify(fileURLToPath(new URL("judges.ts", import.meta.url)))});
       const found = await judgesOf(new URL(${JSON.stringify(WORKER_URL.href)})).for("run", new AbortController().signal)(${JSON.stringify(toCase({ type: "number" }, 1))});
       console.log(found.kind);`,
    ]);
    expect(stdout).toBe("fits\n");
  });

  test("is judged by the script of its own pool, whatever other pools there are", async () => {
    const broken = new URL("data:text/javascript,throw new Error('no worker')");
    const own = judgesOf(WORKER_URL);
    const one = toCase({ type: "number" }, 1);
    expect(await judgesOf(broken).for("run", signal)(one)).toEqual({ kind: "unavailable" });
    expect(await own.for("run", signal)(one)).toEqual({ kind: "fits" });
    expect(judgesOf(new URL(WORKER_URL))).toBe(own);
    expect(judgesOf(broken)).not.toBe(own);
  });
});
