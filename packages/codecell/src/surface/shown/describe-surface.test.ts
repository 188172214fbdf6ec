import { describe, expect, test } from "vitest";
import { createCatalog, type ToolSource } from "../../catalog/catalog.ts";
import { type CodeModeSettings, resolveCodeMode } from "../config.ts";
import { describeSurface, type Surface } from "./describe-surface.ts";

const execute = (): null => null;
const input = { type: "object", properties: { id: { type: "string" } }, required: ["id"] };
const none = createCatalog([]);
const some = createCatalog([{ kind: "mcp", owner: "github", tools: { get_issue: { input, execute } } }]);

function settingsOf(config: object = {}): CodeModeSettings {
  const resolved = resolveCodeMode({ enabled: true, ...config });
  if (resolved.status !== "on") throw new TypeError(`Cannot test: it is ${resolved.status}`);
  return resolved.settings;
}

function describeWith(catalog: typeof some, config: object = {}, yields = true): Surface {
  return describeSurface(catalog, settingsOf(config), { yields });
}

describe("describeSurface", () => {
  test("says all there is to know", () => {
    expect(describeWith(some).exec.description).toMatchInlineSnapshot(`
      "Runs a program that calls tools. Do a whole task in one program: loop, join, filter, and return only what you need.
      code: the body of an async JavaScript function, or TypeScript with language typescript (types are stripped, not checked); await and return work at top level. No import, require, files or network: tools are all it can reach.
      Output: the returned value as JSON; text(value) and json(value) add items on the way. Beyond 64 KB it is cut.
      Answer: status completed with value, failed with error and code, or waiting with runId (calls are pending after 10 s, or the program did await yield_control(reason)): call wait with it.
      In code (await every call):
      tools.NAME(input): calls a tool with one object, gives its plain value
      tools.call(id, input): the same for any tool, by its id
      tools.search(words, {limit}): finds tools, best first: [{id, name, description, signature}]; 8 by default, at most 50
      tools.describe(id): one of them, with parameters: the JSON Schema of its input
      ALL_TOOLS: array of all 1, as search gives them but without signature
      Promise.all runs calls in parallel, 16 at a time. A call that fails throws an Error with code and message: catch it to go on.
      Tools, as OWNER (how many): NAME({field,optional?}), or NAME if it takes no input; that is all of them:
      mcp:github (1):
      get_issue({id:string})"
    `);
    expect(describeWith(some).wait).toMatchInlineSnapshot(`
      {
        "description": "Continues a program that was answered with status waiting. Give its runId; answers like exec, with the output made since then.",
        "inputSchema": {
          "additionalProperties": false,
          "properties": {
            "runId": {
              "type": "string",
            },
          },
          "required": [
            "runId",
          ],
          "type": "object",
        },
        "name": "wait",
      }
    `);
  });

  test("exec takes code, and one of the enabled languages", () => {
    expect(describeWith(some).exec.inputSchema).toEqual({
      type: "object",
      properties: {
        code: { type: "string" },
        language: { type: "string", enum: ["javascript", "typescript"] },
      },
      required: ["code"],
      additionalProperties: false,
    });
    const plain = describeWith(some, { languages: ["javascript"] }).exec;
    expect(plain.inputSchema).toMatchObject({
      properties: { language: { enum: ["javascript"] } },
      required: ["code"],
    });
    // A program without a language is JavaScript, which is not enabled here.
    const typed = describeWith(some, { languages: ["typescript"] }).exec;
    expect(typed.inputSchema).toMatchObject({
      properties: { language: { enum: ["typescript"] } },
      required: ["code", "language"],
    });
  });

  test("[surface:honest] only languages that are enabled are named", () => {
    const { description } = describeWith(some, { languages: ["javascript"] }).exec;
    expect(description).toContain("JavaScript");
    expect(description).not.toMatch(/TypeScript/iu);
    const typed = describeWith(some, { languages: ["typescript"] }).exec.description;
    expect(typed).toContain("TypeScript");
    expect(typed).not.toMatch(/JavaScript/iu);
  });

  test("[surface:honest] nothing is said about tools if there are none", () => {
    const { description } = describeWith(none).exec;
    expect(description).not.toMatch(/tools|ALL_TOOLS|search|call\b(?! wait)/iu);
    expect(description).toContain("yield_control");
    expect(describeWith(none, {}, false).exec.description).not.toMatch(/waiting|yield/iu);
  });

  test("[surface:honest] yields, convenience names and ids are mentioned only if there are some", () => {
    expect(describeWith(some, {}, false).exec.description).not.toContain("yield");
    expect(describeWith(some, {}, false).exec.description).toContain("waiting");
    expect(describeWith(some).exec.description).not.toContain(":NAME");
    const nameless = createCatalog([{ kind: "mcp", owner: "github", tools: { search: { input, execute } } }]);
    const { description } = describeWith(nameless).exec;
    expect(description).not.toContain("tools.NAME");
    expect(description).toContain("call :NAME as tools.call('OWNER:NAME', input)");
    expect(description).toContain("mcp:github (1):\n:search({id:string})");
  });

  test("[surface:honest] the numbers come from the settings", () => {
    const config = {
      timeoutMs: 2500,
      maxOutputBytes: 8192,
      maxPendingToolCalls: 3,
      searchDefaultLimit: 4,
      maxSearchLimit: 6,
    };
    const { description } = describeWith(some, config).exec;
    for (const words of ["2.5 s", "8 KB", "3 at a time", "4 by default, at most 6"]) {
      expect(description).toContain(words);
    }
  });

  test("[surface:stable] equal catalogs in another order, equal bytes", () => {
    const sources = ["b", "a", "c"].map((owner): ToolSource => ({
      kind: "mcp",
      owner,
      tools: { [`${owner}_two`]: { input, execute }, [`${owner}_one`]: { input, execute } },
    }));
    const turned = sources.toReversed().map(({ kind, owner, tools }) => ({
      kind,
      owner,
      tools: Object.fromEntries(Object.entries(tools).toReversed()),
    }));
    const texts = [sources, turned].map((one) => JSON.stringify(describeWith(createCatalog(one))));
    expect(texts[0]).toBe(texts[1]);
  });

  test("[surface:stable] observing outputs changes no byte", async () => {
    const catalog = createCatalog([{ kind: "core", owner: "o", tools: { get: { input, execute } } }]);
    const before = JSON.stringify(describeWith(catalog));
    await catalog.observe("core:o:get", { id: 1, name: "x" });
    expect(JSON.stringify(describeWith(catalog))).toBe(before);
  });
});
