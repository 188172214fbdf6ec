import { describe, expect, test } from "vitest";
import {
  allFieldsOf,
  alternativesOf,
  declarationOf,
  entriesOf,
  fieldsOf,
  literalsOf,
  parentsOf,
} from "./declared.ts";

const entries = entriesOf("packages/codecell");

describe("what the package declares", () => {
  test("every entry of the manifest has exports", () => {
    expect(entries.map(({ specifier }) => specifier)).toEqual(
      expect.arrayContaining(["codecell", "codecell/ai"]),
    );
    for (const { specifier, exports } of entries) expect(exports, specifier).not.toEqual([]);
  });

  test("a name is found behind its re-exports, with its kind", () => {
    expect(declarationOf("createHost", entries)).toMatchObject({ name: "createHost", kind: "function" });
    expect(declarationOf("CodecellError", entries)).toMatchObject({ kind: "class" });
    expect(() => declarationOf("noSuchName", entries)).toThrow("no entry exports it");
  });

  test("a field has its type on one line, its comment, and whether it may be left out", () => {
    const fields = fieldsOf(declarationOf("ForkOptions", entries));
    expect(fields[0]).toEqual({
      name: "atCall",
      type: "number",
      isOptional: false,
      comment: "The index of the call.",
    });
    expect(fields.find(({ name }) => name === "source")?.isOptional).toBe(true);
  });

  test("a type has the fields of its parents only where they are asked for", () => {
    const start = declarationOf("StartOptions", entries);
    expect(parentsOf(start)).toEqual(["RunOptions"]);
    expect(fieldsOf(start).map(({ name }) => name)).not.toContain("signal");
    expect(allFieldsOf(start).map(({ name }) => name)).toEqual(expect.arrayContaining(["source", "signal"]));
  });

  test("a union has the fields of each of its alternatives, those of what they are made of too", () => {
    const types = alternativesOf(declarationOf("RunResult", entries)).map((fields) =>
      fields.map(({ name }) => name),
    );
    expect(types).toHaveLength(3);
    for (const names of types) expect(names).toEqual(expect.arrayContaining(["runId", "status", "logs"]));
  });

  test("the header of a file is no comment of its first declaration", () => {
    expect(declarationOf("CodeModeError", entries).comment).toBe("");
  });

  test("a union of texts is told as its texts", () => {
    expect(literalsOf(declarationOf("Loss", entries))).toContain('"overran" | "crashed"');
    expect(literalsOf(declarationOf("RunResult", entries))).toBeUndefined();
  });
});
