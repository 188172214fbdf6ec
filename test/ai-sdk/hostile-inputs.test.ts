/** Inputs that are dear to judge, for tools of the AI SDK that have a JSON Schema and no validator of their own. */
import { dynamicTool, jsonSchema } from "ai";
import { runCodeMode } from "codecell/ai";
import { expect, test } from "vitest";
import { largestTurnMs } from "../fuzz/thread-time.ts";
import { RULE_MS } from "../fuzz/fuzzer.ts";

test.each<[string, Parameters<typeof jsonSchema>[0], string]>([
  [
    "a URL of 53 characters on which a pattern would backtrack for ever",
    { type: "string", format: "url" },
    `"http://" + "a".repeat(45) + "!"`,
  ],
  [
    "a pattern that is dear to build",
    { type: "string", format: "regex" },
    `"(?:a{0,1000}){0,1000}".repeat(20)`,
  ],
  [
    "wrong elements of twelve kinds",
    {
      type: "array",
      items: {
        anyOf: Array.from({ length: 12 }, (_, kind) => ({
          type: "object",
          properties: { kind: { const: String(kind) } },
          required: ["kind"],
        })),
      },
    },
    `Array.from({ length: 60000 }, () => 1)`,
  ],
])("%s does not hold the host's thread [host:judged-in-steps]", async (_, schema, input) => {
  const given = dynamicTool({ inputSchema: jsonSchema(schema), execute: async () => "accepted" });
  const js = `try { return await tools.given(${input}) } catch (error) { return error.message.length < 5000 }`;
  const work = (): Promise<unknown> => runCodeMode({ js, tools: { given } });
  expect(await work()).not.toBe(false);
  expect(await largestTurnMs(() => work, { attempts: 4, enough: RULE_MS })).toBeLessThan(RULE_MS);
});
