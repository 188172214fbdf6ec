/** HostText fuzzes every function on the host's thread that works on what a program chooses. */
import type { Case, Fuzzer } from "./fuzzer.ts";
import { nastyText, unknownWords } from "./nasty-texts.ts";
import { KINDS, nastyJson } from "./nasty-values.ts";
import { Random } from "./random.ts";
import type { Surface } from "./surface-parts.ts";
import { SURFACES } from "./surfaces.ts";

function inputOf({ given, most }: Surface, random: Random, kind: string): string {
  if (given === "json") return nastyJson(random, most, kind);
  if (given === "words") return unknownWords(random, most);
  const text = nastyText(random, most);
  // As many lines as the limit allows, which counts 16 for each.
  return given === "lines" ? text.slice(0, most / 2).replaceAll(/[^]{17}/gu, "$&\n") : text;
}

/** Seeds go through the surfaces one by one, and through all kinds of values for each. */
export const hostText: Fuzzer = {
  name: "host-text",
  caseOf: (seed): Case => {
    const surface = SURFACES[seed % SURFACES.length];
    if (surface === undefined) throw new RangeError("Cannot make a case: there are no surfaces");
    const kind = KINDS[Math.floor(seed / SURFACES.length) % KINDS.length] ?? "";
    return {
      title: `${surface.name}${surface.given === "json" ? `, ${kind}` : ""}`,
      // Similar each time and never the same, since engines remember values.
      prepare: () => surface.prepare(inputOf(surface, new Random(seed), kind)),
    };
  },
};
