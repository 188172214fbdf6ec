import { describe, expect, test } from "vitest";
import type { AnswerId } from "./faults.ts";
import { MessageLines } from "./message-lines.ts";

interface Seen {
  readonly lines: MessageLines;
  readonly seen: unknown[];
}

function opened(): Seen {
  const seen: unknown[] = [];
  const lines = new MessageLines({
    lineBytes: 20,
    endlessBytes: 1000,
    onLine: (line) => seen.push(line),
    onTooLarge: (id: AnswerId | undefined) => seen.push({ tooLarge: id }),
    onEndless: () => seen.push("endless"),
  });
  return { lines, seen };
}

const LARGE = 'x "id":1, {"id":2} \\" '.repeat(5);

describe("lines of a process", () => {
  const cases: readonly (readonly [text: string, seen: readonly unknown[]])[] = [
    ["a\nbc\n\nd", ["a", "bc", ""]],
    ['{"ä":"ö"}\n', ['{"ä":"ö"}']],
    [`a\n${JSON.stringify({ result: LARGE, jsonrpc: "2.0", id: 7 })}\nb\n`, ["a", { tooLarge: 7 }, "b"]],
    [`${JSON.stringify({ id: "seven", result: [{ id: LARGE }] })}\n`, [{ tooLarge: "seven" }]],
    [`${JSON.stringify({ result: { id: 1, a: [LARGE] } })}\n`, [{ tooLarge: undefined }]],
    [`${JSON.stringify({ id: 1, method: LARGE })}\n`, [{ tooLarge: undefined }]],
    [`${"no message ".repeat(9)}\n`, [{ tooLarge: undefined }]],
    [`{"id": 7 , "result": "${"\\\\".repeat(30)}"}\n`, [{ tooLarge: 7 }]],
    [`${"x".repeat(1021)}\nb\n`, ["endless"]],
  ];

  test.each(cases)("are found in whatever pieces they come: %.40s", (text, expected) => {
    const bytes = Buffer.from(text);
    for (const size of [1, 2, 3, 7, 64, bytes.length]) {
      const { lines, seen } = opened();
      for (let from = 0; from < bytes.length; from += size) lines.push(bytes.subarray(from, from + size));
      expect(seen, `pieces of ${size}`).toEqual(expected);
    }
  });

  test("are not read after the end", () => {
    const { lines, seen } = opened();
    lines.push(Buffer.from("a\nb"));
    lines.end();
    lines.push(Buffer.from("c\n"));
    expect(seen).toEqual(["a"]);
  });
});
