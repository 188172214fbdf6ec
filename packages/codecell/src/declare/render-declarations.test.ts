import { describe, expect, test } from "vitest";
import { z } from "zod";
import { renderDeclarations, renderSignature } from "./render-declarations.ts";

const execute = (): null => null;
const place = {
  type: "object",
  properties: { city: { type: "string" }, street: { type: "string" }, zip: { type: "string" } },
};
const tools = {
  move: {
    description: "Moves a parcel */ quickly.",
    input: { type: "object", properties: { from: place, to: place }, required: ["to"] },
    output: {
      type: "object",
      properties: { id: { type: "string" }, key: { type: "string", writeOnly: true } },
    },
    execute,
  },
  "find-all": { input: z.object({ text: z.string().describe("What to find") }), execute },
  ping: { description: "Is it there?", execute },
  opaque: {
    input: {
      "~standard": { version: 1 as const, vendor: "none", validate: (value: unknown) => ({ value }) },
    },
    execute,
  },
};

describe("renderDeclarations", () => {
  test("prints one tool per line, after the types that the tools share", () => {
    expect(renderDeclarations(tools)).toBe(
      [
        "type From={city?:string,street?:string,zip?:string}",
        "declare const tools:{",
        "/** Moves a parcel * / quickly */ move(input:{from?:From,to:From}):Promise<{id?:string}>",
        '"find-all"(input:{/** What to find */ text:string}):Promise<unknown>',
        "/** Is it there? */ ping(input?:unknown):Promise<unknown>",
        "opaque(input:unknown):Promise<unknown>",
        "}",
      ].join("\n"),
    );
  });

  test("a tool may have any name", () => {
    const lines = renderDeclarations({ new: { execute }, constructor: { execute }, "a\u202Eb": { execute } });
    expect(lines.split("\n").slice(1, -1)).toEqual([
      // Without quotes this would declare a constructor.
      '"new"(input?:unknown):Promise<unknown>',
      "constructor(input?:unknown):Promise<unknown>",
      // Characters that change the order of the text are escaped.
      String.raw`"a\u202eb"(input?:unknown):Promise<unknown>`,
    ]);
  });

  test("[declare:bounded] tools that do not fit are counted", () => {
    const many = Object.fromEntries(
      Array.from({ length: 100 }, (_, index) => [`tool_${index}`, { execute }]),
    );
    const text = renderDeclarations(many, { maxCharacters: 300 });
    expect(text.length).toBeLessThanOrEqual(300);
    expect(text).toMatch(/tool_0\(.*\/\* …9\d more tools \*\/\n\}$/su);
    expect(renderDeclarations(many)).not.toContain("more tool");
    expect(renderDeclarations({})).toBe("declare const tools:{\n}");
  });
});

describe("renderSignature", () => {
  test("prints one line with all types written out", () => {
    expect(renderSignature("move", tools.move)).toBe(
      "move(input:{from?:{city?:string,street?:string,zip?:string},to:{city?:string,street?:string,zip?:string}}):Promise<{id?:string}>",
    );
    expect(renderSignature("find-all", tools["find-all"])).toBe(
      '"find-all"(input:{text:string}):Promise<unknown>',
    );
  });

  test("a type inside itself is not written out again", () => {
    const input = { $ref: "#/$defs/N", $defs: { N: { properties: { next: { $ref: "#/$defs/N" } } } } };
    expect(renderSignature("walk", { input, execute })).toBe(
      "walk(input:{next?:unknown/* N again */}):Promise<unknown>",
    );
  });

  test("[declare:bounded] is shortened to fit", () => {
    expect(renderSignature("move", tools.move, { maxCharacters: 120 })).toBe(
      "move(input:{to:{[k:string]:unknown/* …3 more fields */},[k:string]:unknown/* …1 more field */}):Promise<{id?:string}>",
    );
    expect(renderSignature("move", tools.move, { maxCharacters: 80 })).toBe(
      "move(input:unknown):Promise<unknown>",
    );
    expect(renderSignature("x".repeat(500), tools.move, { maxCharacters: 80 }).length).toBeLessThanOrEqual(
      80,
    );
  });
});
