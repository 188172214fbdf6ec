/** The README of a package, which npm shows: the repository's text, with links that work there. */
import { readFileSync } from "node:fs";
import { anchorOf, fileOf, isExternal, replaceLinks, webAddressOf } from "./links.ts";
import { ROOT } from "./declared.ts";

/** Packages, and the page that each shows. */
export const PACKAGE_READMES: Readonly<Record<string, string>> = {
  "packages/codecell/README.md": "README.md",
};

/** A package with a subject of its own has its own page, written there. */
export const OWN_READMES: readonly string[] = ["packages/connectors/README.md"];

const LICENCE_IS_IN_THE_PACKAGE = "LICENSE";

export function renderPackageReadme(document: string): string {
  const text = readFileSync(`${ROOT}${document}`, "utf8");
  const made = replaceLinks(text, ({ text: label, target }) => {
    if (isExternal(target) || target.startsWith("#") || target === LICENCE_IS_IN_THE_PACKAGE)
      return undefined;
    const file = fileOf(document, target);
    const address = webAddressOf(file);
    if (address === undefined) return label === file ? label : `${label} (\`${file}\`)`;
    const anchor = anchorOf(target);
    return `[${label}](${address}${anchor === undefined ? "" : `#${anchor}`})`;
  });
  return `<!-- Made from ${document} by npm run docs. Do not edit. -->\n\n${made}`;
}
