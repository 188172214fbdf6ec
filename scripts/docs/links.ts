/**
 * Links of documents: where they lead, and how they change where a document is shown outside the repository.
 *
 * - In the repository every link is relative and leads to a file: it works in a clone and on the page of the
 *   repository.
 * - The page of the package and the site do not have the source files. There a link leads to the repository if
 *   package.json names it. Otherwise only its text stays, so that no link leads nowhere.
 */
import { readFileSync } from "node:fs";
import { posix } from "node:path";
import { ROOT } from "./declared.ts";

/** A link; or a code span or block, which has no links. */
const LINK_OR_CODE =
  /(?<code>```[^]*?```|`[^`\n]*`)|(?<!!)\[(?<text>(?:[^\][]|`[^`]*`)*)\]\((?<target>[^()\s]+)\)/gu;

export interface Link {
  readonly text: string;
  readonly target: string;
}

/** All links except those in code. The text of a link may have code itself: `[calls/](…)`. */
export function linksOf(markdown: string): Link[] {
  const links: Link[] = [];
  replaceLinks(markdown, (link) => {
    links.push(link);
    return undefined;
  });
  return links;
}

/** Replaces each link by what `replace` gives for it; undefined leaves the link unchanged. */
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

/** The file to which a link in a document leads, relative to the root, without the place in it. */
export function fileOf(document: string, target: string): string {
  const [path = ""] = target.split("#");
  return path === "" ? document : posix.normalize(posix.join(posix.dirname(document), path));
}

/** The place in the file; undefined without one. */
export function anchorOf(target: string): string | undefined {
  return target.split("#")[1];
}

/** The web address of a file of the repository; undefined if package.json names no repository. */
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
