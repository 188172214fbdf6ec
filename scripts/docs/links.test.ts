import { describe, expect, test } from "vitest";
import { anchorOf, anchorsIn, fileOf, isExternal, linksOf, replaceLinks } from "./links.ts";

describe("links of documents", () => {
  test("are found in text, with code in their words, and not in code", () => {
    const markdown =
      "See [`exec`](a.md#b), `[no](no.md)` and [calls/](../c.ts).\n\n```ts\n[no](no.md)\n```\n";
    expect(linksOf(markdown)).toEqual([
      { text: "`exec`", target: "a.md#b" },
      { text: "calls/", target: "../c.ts" },
    ]);
  });

  test("are replaced one by one, and left as they are where nothing is given", () => {
    const markdown = "[a](a.md) and [b](b.md)";
    const replaced = replaceLinks(markdown, ({ text, target }) => (target === "a.md" ? text : undefined));
    expect(replaced).toBe("a and [b](b.md)");
  });

  test("lead to a file from the folder of their document, and to a place in it", () => {
    expect(fileOf("docs/guide/a.md", "../../README.md#b")).toBe("README.md");
    expect(fileOf("docs/guide/a.md", "#b")).toBe("docs/guide/a.md");
    expect(anchorOf("a.md#b")).toBe("b");
    expect(anchorOf("a.md")).toBeUndefined();
  });

  test("lead out where they name a scheme", () => {
    expect(["https://a.b", "mailto:a@b"].map(isExternal)).toEqual([true, true]);
    expect(["a.md", "#b", "../a:b.md"].map(isExternal)).toEqual([false, false, false]);
  });
});

test("headings have the ids that GitHub gives them, the second of equal ones a number", () => {
  const markdown =
    "# A program's `end`\n\n## [Keys](k.md), and more\n\n## Same\n\n```sh\n# no heading\n```\n\n## Same\n";
  expect(anchorsIn(markdown)).toEqual(["a-programs-end", "keys-and-more", "same", "same-1"]);
});
