/**
 * The site: the same pages that the repository has, built by `npm run docs:site`.
 *
 * - The repository's root is the site's, so that a link between two pages is the same text here and there. A dead one
 *   fails the build.
 * - A link to any other file leads to the repository, or is its text alone (scripts/docs/links.ts).
 */
import { existsSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { type DefaultTheme, defineConfig, type MarkdownOptions } from "vitepress";
import { ROOT } from "../../scripts/docs/declared.ts";
import { anchorOf, fileOf, isExternal, linksOf, slugOf, webAddressOf } from "../../scripts/docs/links.ts";

const NOT_PAGES = ["packages/**", "bench/**", "examples/**", "test/**", "AGENTS.md"];

/** Wide enough for a line of code of 110 characters, which is how long the formatter lets one be. */
const WIDE = `
  @media (min-width: 1280px) {
    .VPDoc .container { max-width: 1240px !important; }
    .VPDoc.has-aside .content-container { max-width: 900px !important; }
  }
  .vp-doc [class*="language-"] code { font-size: 12.5px; }
`;

type Markdown = Parameters<NonNullable<MarkdownOptions["config"]>>[0];

/** Links as the site needs them: README.md is its front page, and what is not a page is not on it. */
function mendLinks(markdown: Markdown): void {
  markdown.core.ruler.push("mend-links", ({ tokens, env }) => {
    const { relativePath } = env as { readonly relativePath: string };
    const document = relativePath === "index.md" ? "README.md" : relativePath;
    for (const { children } of tokens) {
      let isDropped = false;
      for (const token of children ?? []) {
        if (token.type === "link_open") {
          const target = decodeURI(token.attrGet("href") ?? "");
          const to = toSite(document, target);
          isDropped = to === undefined;
          if (to !== undefined) token.attrSet("href", to);
        }
        if (isDropped && /^link_(open|close)$/u.test(token.type)) {
          isDropped = token.type === "link_open";
          token.type = "text";
          token.tag = "";
          token.nesting = 0;
          token.content = "";
        }
      }
    }
  });
}

function toSite(document: string, target: string): string | undefined {
  if (isExternal(target) || target.startsWith("#")) return target;
  const file = fileOf(document, target);
  if (file === "README.md") return posix.relative(posix.dirname(document), "index.md");
  if (file.endsWith(".md") && !NOT_PAGES.some((pattern) => posix.matchesGlob(file, pattern))) return target;
  if (!existsSync(`${ROOT}${file}`)) throw new Error(`Cannot link to ${file} from ${document}: no such file`);
  const anchor = anchorOf(target);
  const address = webAddressOf(file);
  return address === undefined ? undefined : `${address}${anchor === undefined ? "" : `#${anchor}`}`;
}

/** A folder's pages in the order in which its index links to them. */
function sidebar(title: string, folder: string): DefaultTheme.SidebarItem {
  const index = readFileSync(`${ROOT}docs/${folder}/index.md`, "utf8");
  const items = linksOf(index)
    .filter(({ target }) => /^[\w-]+\.md$/u.test(target))
    .map(({ text, target }) => ({ text, link: `/docs/${folder}/${target.slice(0, -".md".length)}` }));
  return { text: title, link: `/docs/${folder}/`, items };
}

export default defineConfig({
  title: "Codecell",
  description:
    "Code mode for agents: run a model's program in a sandbox that can do nothing but call your tools",
  lang: "en",
  head: [["style", {}, WIDE]],
  srcDir: "..",
  srcExclude: NOT_PAGES,
  outDir: ".vitepress/dist",
  cacheDir: ".vitepress/cache",
  rewrites: { "README.md": "index.md" },
  markdown: { anchor: { slugify: slugOf }, config: mendLinks },
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    nav: [
      { text: "Guide", link: "/docs/guide/" },
      { text: "Reference", link: "/docs/reference/" },
      { text: "Internals", link: "/docs/internals/" },
      { text: "Security", link: "/SECURITY" },
    ],
    sidebar: [
      sidebar("Guide", "guide"),
      sidebar("Reference", "reference"),
      sidebar("Internals", "internals"),
      {
        text: "Project",
        items: [
          { text: "Architecture", link: "/ARCHITECTURE" },
          { text: "Decisions", link: "/docs/decisions/" },
          { text: "Glossary", link: "/GLOSSARY" },
          { text: "Security", link: "/SECURITY" },
          { text: "Contributing", link: "/CONTRIBUTING" },
        ],
      },
    ],
  },
});
