/** All generated pages: their texts by path from the root. Tests compare them with the files. */
import { readdirSync, readFileSync } from "node:fs";
import { ROOT } from "./declared.ts";
import { PACKAGE_READMES, renderPackageReadme } from "./package-readme.ts";
import { renderReference } from "./reference.ts";

export function renderPages(): Readonly<Record<string, string>> {
  const reference = Object.entries(renderReference()).map(([name, text]) => [`docs/reference/${name}`, text]);
  const readmes = Object.entries(PACKAGE_READMES).map(([path, from]) => [path, renderPackageReadme(from)]);
  return Object.fromEntries([...reference, ...readmes, ["docs/decisions/index.md", renderDecisions()]]);
}

/** Each decision, by its number and the title of its page. */
function renderDecisions(): string {
  const names = readdirSync(`${ROOT}docs/decisions`).filter((name) => /^\d{4}-/u.test(name));
  const lines = names.toSorted().map((name) => {
    const [heading = ""] = readFileSync(`${ROOT}docs/decisions/${name}`, "utf8").split("\n");
    const [, number = "", title = ""] = /^# (\d{4}): (.+)$/u.exec(heading) ?? [];
    if (number === "") throw new Error(`Cannot list ${name}: its first line is not "# 0000: Title"`);
    return `- [${number}](${name}): ${title}`;
  });
  const note = "<!-- Made by `npm run docs` from the titles of the pages. Do not edit. -->";
  const intro =
    "Each page says what was decided and why, with what was measured. A new decision takes the next number.";
  return `${[note, "# Decisions", intro, lines.join("\n")].join("\n\n")}\n`;
}
