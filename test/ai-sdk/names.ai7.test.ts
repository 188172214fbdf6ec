/** A name that AI SDK 6 lacks would keep all of codecell/ai from being loaded there: imports of names are linked first. */
import { readFileSync } from "node:fs";
import * as ai from "ai";
import * as ai6 from "ai6";
import { expect, test } from "vitest";
import { filesBelow, ROOT } from "../sources.ts";

/** Names imported at run time, from files of the adapter. */
const names = filesBelow("packages/codecell/src/adapters/ai-sdk").flatMap((path) =>
  [...readFileSync(`${ROOT}${path}`, "utf8").matchAll(/^import \{(?<list>[^}]*)\} from "ai";/gmu)].flatMap(
    ({ groups }) =>
      (groups?.["list"] ?? "")
        .split(",")
        .map((name) => name.trim())
        .filter((name) => name !== "" && !name.startsWith("type ")),
  ),
);

test("codecell/ai needs nothing that only one generation of the AI SDK has", () => {
  expect(names).toContain("wrapLanguageModel");
  expect(names.filter((name) => !(name in ai6))).toEqual([]);
  expect(names.filter((name) => !(name in ai))).toEqual([]);
});
