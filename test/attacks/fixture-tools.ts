/**
 * The fixture tools of the corpus, with a record of what they did.
 *
 * - `slow` ignores the abort signal on purpose: what a run promises about its calls must hold for careless tools too.
 * - A call of `gate` counts when it is let through, not when it suspends.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Authorize, CallContext, ToolSet } from "codecell";

export interface Activity {
  readonly counts: Map<string, number>;
  /** `performance.now()` of the last start or end of any execution. */
  lastAt: number;
  active: number;
}

export function createActivity(): Activity {
  return { counts: new Map(), lastAt: 0, active: 0 };
}

export const denyDanger: Authorize = ({ tool }) =>
  tool === "danger" ? { deny: "a person refused it" } : "allow";

const SHAPES = Array.from({ length: 24 }, (_, index) => ({
  type: "object",
  properties: { kind: { const: `shape-${index}` }, size: { type: "number" } },
  required: ["kind", "size"],
}));

export function createFixtureTools(activity: Activity): ToolSet {
  const counted =
    <Input>(name: string, execute: (input: Input) => unknown) =>
    async (input: Input): Promise<unknown> => {
      activity.counts.set(name, (activity.counts.get(name) ?? 0) + 1);
      activity.active++;
      activity.lastAt = performance.now();
      try {
        return await execute(input);
      } finally {
        activity.active--;
        activity.lastAt = performance.now();
      }
    };
  const number = { type: "number" } as const;
  let count = 0;
  const passGate = counted("gate", (resolution: unknown) => resolution);
  return {
    echo: { execute: counted("echo", (input) => input) },
    add: {
      input: { type: "object", properties: { a: number, b: number }, required: ["a", "b"] },
      execute: counted("add", ({ a, b }: { a: number; b: number }) => a + b),
    },
    slow: {
      input: { type: "object", properties: { ms: number }, required: ["ms"] },
      execute: counted("slow", async (input: { ms: number }) => {
        await delay(input.ms);
        return input;
      }),
    },
    fail: {
      execute: counted("fail", () => {
        const cause = new Error("token sk-live-1234 in /srv/app/secrets.ts");
        throw Object.assign(new Error("The backend refused", { cause }), {
          code: "E_BACKEND",
          path: "/srv/app/node_modules/backend/index.mjs",
        });
      }),
    },
    proto: {
      execute: counted("proto", () => JSON.parse('{"__proto__":{"polluted":true},"ok":1}') as unknown),
    },
    big: { execute: counted("big", ({ n }: { n: number }) => "x".repeat(n)) },
    count: { execute: counted("count", () => ++count) },
    danger: { execute: counted("danger", () => "it happened") },
    // Not in the corpus: a schema as third parties write them, slow to check against the wrong text.
    picky: {
      input: {
        type: "object",
        properties: {
          name: { type: "string", pattern: "^([a-zA-Z0-9]+\\s?)+$" },
          tags: { type: "array", uniqueItems: true },
          site: { type: "string", format: "url" },
          mask: { type: "string", format: "regex" },
          shapes: { type: "array", items: { anyOf: SHAPES } },
          numbers: { type: "array", items: number },
          options: { type: "object", properties: { deep: { type: "boolean" } }, additionalProperties: false },
          tree: { $ref: "#/$defs/tree" },
        },
        $defs: {
          tree: {
            anyOf: [
              { type: "object", properties: { left: { $ref: "#/$defs/tree" } }, required: ["left"] },
              { type: "object", properties: { left: { $ref: "#/$defs/tree" } }, required: ["left", "right"] },
              { type: "string" },
            ],
          },
        },
      },
      execute: counted("picky", () => "accepted"),
    },
    gate: {
      execute: (input: unknown, call: CallContext) =>
        call.resolution === undefined ? call.suspend({ asks: "may it pass?" }) : passGate(input),
    },
  };
}
