/**
 * Links of documents: what they lead to, and what becomes of those that lead out of where a document is shown.
 *
 * - In the repository every link is relative and leads to a file: it works in a clone and on the page of the repository.
 * - On the page of the package, and on the site, source files are elsewhere. There a link leads to the repository, if
 *   package.json names it, and else is its text alone: no link that leads nowhere.
 */
import { readFileSync } from "node:fs";
import { posix } from "node:path";
import { ROOT } from "./declared.ts";

/** A link, or a code span or block, in which there are none. */
const LINK_OR_CODE =
  /(?<code>```[^]*?```|`[^`\n]*`)|(?<!!)\[(?<text>(?:[^\][]|`[^`]*`)*)\]\((?<target>[^()\s]+)\)/gu;

export interface Link {
  readonly text: string;
  readonly target: string;
}

/** All links but those in code. Text in brackets may have code itself: `[calls/](…)`. */
export function linksOf(markdown: string): Link[] {
  const links: Link[] = [];
  replaceLinks(markdown, (link) => {
    links.push(link);
    return undefined;
  });
  return links;
}

/** Each link replaced by what is given for it, or left as it is. */
export function replaceLinks(markdown: string, replace: (link: Link) => string | undefined): string {
  return markdown.replaceAll(
    LINK_OR_CODE,
    (whole, _code, text: string | undefined, target: string | undefined) =>
      target === undefined ? whole : (replace({ text: text ?? "", target }) ?? whole),
  );
}

export function isExternal(target: string): boolean {
  return /^[a-z][a-z\d+.-]*:/iu.test(target);
}

/** The file that a link in a document leads to, relative to the root; without the place in it. */
export function fileOf(document: string, target: string): string {
  const [path = ""] = target.split("#");
  return path === "" ? document : posix.normalize(posix.join(posix.dirname(document), path));
}

/** The place in the file, or undefined. */
export function anchorOf(target: string): string | undefined {
  return target.split("#")[1];
}

/** Where a file of the repository is on the web, or undefined as long as package.json does not say where that is. */
export function webAddressOf(file: string): string | undefined {
  const { repository } = JSON.parse(readFileSync(`${ROOT}package.json`, "utf8")) as {
    readonly repository?: string | { readonly url: string };
  };
  const url = typeof repository === "string" ? repository : repository?.url;
  return url === undefined
    ? undefined
    : `${url.replace(/^git\+/u, "").replace(/\.git$/u, "")}/blob/main/${file}`;
}

/** The ids of a document's headings, as GitHub and the site make them. */
export function anchorsIn(markdown: string): string[] {
  const seen = new Map<string, number>();
  return [...markdown.replaceAll(/^```[^]*?^```$/gmu, "").matchAll(/^#{1,6} (.+)$/gmu)].map(
    ([, heading = ""]) => {
      const slug = slugOf(heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/gu, "$1").replaceAll(/[`*]/gu, ""));
      const times = seen.get(slug) ?? 0;
      seen.set(slug, times + 1);
      return times === 0 ? slug : `${slug}-${times}`;
    },
  );
}

export function slugOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(/\s/gu, "-");
}
