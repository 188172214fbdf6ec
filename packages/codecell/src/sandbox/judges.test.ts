import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test, vi } from "vitest";
import { SOURCE_FLAGS } from "../../../../scripts/source-flags.ts";
import type { Case } from "../bridge/schema.ts";
import { Judges } from "./judges.ts";

const judges = new Judges(300);

vi.setConfig({ testTimeout: 120_000 });

function toCase(schema: object, value: unknown): Case {
  return { schema: JSON.stringify(schema), direction: "input", value: JSON.stringify(value), root: "input" };
}

const STUCK = { pattern: "^(a+)+$" };
const stuck = toCase(STUCK, `${"a".repeat(60)}!`);

describe("a case for a judge", () => {
  test("is decided as it would be on the host", async () => {
    const judge = judges.for("run");
    expect(await judge(toCase({ type: "string" }, "x"))).toEqual({ kind: "fits" });
    expect(await judge(toCase({ type: "string" }, 1))).toEqual({
      kind: "unfit",
      problems: ["input: must be a string, is a number"],
    });
    expect(await judge(toCase({ $ref: "#/nowhere" }, 1))).toEqual({ kind: "faulty" });
    expect(await judge(toCase(STUCK, "aaa"))).toEqual({ kind: "fits" });
  });

  test("that is stuck is given up, and holds up only others of its schema from then on", async () => {
    const endings: string[] = [];
    const judged = (name: string, one: Case): Promise<void> =>
      judges
        .for(name)(one)
        .then(({ kind }) => void endings.push(`${name} ${kind}`));
    expect(await judges.for("first")(stuck)).toEqual({ kind: "unknown" });
    await Promise.all([
      judged("hostile", stuck),
      judged("hostile", stuck),
      judged("neighbour", toCase({ type: "number" }, 1)),
      judged("sharer", toCase(STUCK, "aaa")),
    ]);
    // The sharer has its turn after one of the two.
    expect(endings).toEqual(["neighbour fits", "hostile unknown", "sharer fits", "hostile unknown"]);
  });

  test("of very much is bounded by its steps, whatever its time", async () => {
    const types = Array.from({ length: 400 }, (_, index) => ({ required: [`p${index}`] }));
    const records = Array.from({ length: 60_000 }, () => ({}));
    const patient = new Judges(60_000);
    const verdict = await patient.for("run")(toCase({ items: { anyOf: [...types, true] } }, records));
    expect(verdict).toEqual({ kind: "unknown" });
    expect(await patient.for("run")(toCase({ type: "number" }, 1))).toEqual({ kind: "fits" });
  });

  test("keeps no process alive once it is answered", async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      ...SOURCE_FLAGS,
      "--input-type=module",
      "--eval",
      `const { judgeApartFor } = await import(${JSON.stringify(fileURLToPath(new URL("judges.ts", import.meta.url)))});
       const found = await judgeApartFor("run")(${JSON.stringify(toCase({ type: "number" }, 1))});
       console.log(found.kind);`,
    ]);
    expect(stdout).toBe("fits\n");
  });
});
