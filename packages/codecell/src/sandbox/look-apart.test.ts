import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test, vi } from "vitest";
import { SOURCE_FLAGS } from "../../../../scripts/source-flags.ts";
import type { Apart } from "../bridge/schema.ts";
import { Looks } from "./look-apart.ts";

const looks = new Looks(300);

vi.setConfig({ testTimeout: 120_000 });

function apart(schema: object, value: unknown): Apart {
  return { schema: JSON.stringify(schema), direction: "input", value: JSON.stringify(value), root: "input" };
}

const STUCK = { pattern: "^(a+)+$" };
const stuck = apart(STUCK, `${"a".repeat(60)}!`);

describe("a look apart", () => {
  test("says what a look here would say", async () => {
    const look = looks.for("run");
    expect(await look(apart({ type: "string" }, "x"))).toEqual({ kind: "fits" });
    expect(await look(apart({ type: "string" }, 1))).toEqual({
      kind: "unfit",
      problems: ["input: must be a string, is a number"],
    });
    expect(await look(apart({ $ref: "#/nowhere" }, 1))).toEqual({ kind: "faulty" });
    expect(await look(apart(STUCK, "aaa"))).toEqual({ kind: "fits" });
  });

  test("that is stuck is given up, and holds up only others of its schema from then on", async () => {
    const endings: string[] = [];
    const looked = (name: string, one: Apart): Promise<void> =>
      looks
        .for(name)(one)
        .then(({ kind }) => void endings.push(`${name} ${kind}`));
    expect(await looks.for("first")(stuck)).toEqual({ kind: "unknown" });
    await Promise.all([
      looked("hostile", stuck),
      looked("hostile", stuck),
      looked("neighbour", apart({ type: "number" }, 1)),
      looked("sharer", apart(STUCK, "aaa")),
    ]);
    // The sharer has its turn after one of the two.
    expect(endings).toEqual(["neighbour fits", "hostile unknown", "sharer fits", "hostile unknown"]);
  });

  test("of very much is bounded by its steps, whatever its time", async () => {
    const types = Array.from({ length: 400 }, (_, index) => ({ required: [`p${index}`] }));
    const records = Array.from({ length: 60_000 }, () => ({}));
    const patient = new Looks(60_000);
    const verdict = await patient.for("run")(apart({ items: { anyOf: [...types, true] } }, records));
    expect(verdict).toEqual({ kind: "unknown" });
    expect(await patient.for("run")(apart({ type: "number" }, 1))).toEqual({ kind: "fits" });
  });

  test("keeps no process alive once it is answered", async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      ...SOURCE_FLAGS,
      "--input-type=module",
      "--eval",
      `const { lookApartFor } = await import(${JSON.stringify(fileURLToPath(new URL("look-apart.ts", import.meta.url)))});
       const found = await lookApartFor("run")(${JSON.stringify(apart({ type: "number" }, 1))});
       console.log(found.kind);`,
    ]);
    expect(stdout).toBe("fits\n");
  });
});
