import { describe, expect, test } from "vitest";
import { refusal } from "./refuse.ts";

describe("a refusal", () => {
  test.each([
    ["https://example.com/a/b", "https://example.com/a/b"],
    ["https://example.com/a?…", "https://example.com/a?token=hunter2"],
    ["https://example.com/a#…", "https://example.com/a#hunter2"],
    ["https://example.com:80.evil/?…", "https://example.com:80.evil/?hunter2#hunter2"],
    ["https://…@example.com/@a", "https://user:hunter2@example.com/@a"],
    ["ftp:\\\\…@example.com", "  ftp:\\\\hunter2@hunter2@example.com"],
    ["https://…@example.com/", `https://${"hunter2".repeat(1000)}@example.com/`],
    ["https://example.com/a@b", "https://example.com/a@b"],
    ["hunter", "hunter"],
  ])("names a URL without what may be secret: %s", (told, url) => {
    const { message } = refusal(url, "it is not allowed");
    expect(message).toBe(`Cannot fetch ${JSON.stringify(told)}: it is not allowed`);
    expect(message).not.toContain("hunter2");
  });

  test("names only the beginning of a long URL", () => {
    expect(refusal(`https://example.com/${"a".repeat(1e6)}`, "no").message.length).toBeLessThan(240);
  });
});
