/** A shop in a database: its tables, and the tools that change them. */
import { setTimeout as sleep } from "node:timers/promises";
import { defineTool, type ToolSet } from "codecell";
import type { Pool } from "pg";

export const TABLES = `
  CREATE TABLE charges (order_id integer NOT NULL, key text NOT NULL, process text NOT NULL);
  CREATE TABLE shipped (order_id integer PRIMARY KEY, process text NOT NULL, how text NOT NULL);
`;

const byOrder = {
  type: "object",
  properties: { order: { type: "integer" } },
  required: ["order"],
  additionalProperties: false,
} as const;

/** How long the bank takes to answer; long enough to be killed meanwhile. */
const BANK_MS = 500;

export function toolsOf(pool: Pool, process: string, told: (news: string) => void): ToolSet {
  return {
    // Says nothing about being repeated: after a crash nobody repeats it, the program is told instead.
    charge: defineTool({
      description: "Charges the customer of an order",
      input: byOrder,
      execute: async ({ order }, call) => {
        await pool.query("INSERT INTO charges VALUES ($1, $2, $3)", [order, call.idempotencyKey, process]);
        told(`charged order ${order}`);
        await sleep(BANK_MS);
        return { charged: order };
      },
    }),
    find_charge: defineTool({
      description: "Whether the customer of an order has been charged",
      input: byOrder,
      readOnly: true,
      execute: async ({ order }) => {
        const { rowCount } = await pool.query("SELECT 1 FROM charges WHERE order_id = $1", [order]);
        return (rowCount ?? 0) > 0;
      },
    }),
    // Shipping an order that was shipped changes nothing, so it may be repeated.
    ship: defineTool({
      description: "Ships an order",
      input: {
        type: "object",
        properties: { order: { type: "integer" }, how: { type: "string" } },
        required: ["order", "how"],
        additionalProperties: false,
      },
      idempotent: true,
      execute: async ({ order, how }) => {
        await pool.query("INSERT INTO shipped VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", [
          order,
          process,
          how,
        ]);
        told(`shipped order ${order}, ${how}`);
        return true;
      },
    }),
  };
}
