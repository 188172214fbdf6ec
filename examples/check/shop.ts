/** A shop's tools. What the check knows of them it has from their schemas. */
import { defineTool, type ToolSet } from "codecell";

/** What the shop did; the demo looks at it afterwards. */
export const refunds: string[] = [];

export const tools: ToolSet = {
  list_orders: defineTool({
    description: "All orders",
    output: {
      type: "array",
      items: {
        type: "object",
        properties: { id: { type: "string" }, late: { type: "boolean" }, total: { type: "number" } },
        required: ["id", "late", "total"],
      },
    },
    execute: () => [
      { id: "A-1", late: true, total: 80 },
      { id: "A-2", late: false, total: 12 },
    ],
  }),
  refund: defineTool({
    description: "Gives money back for an order",
    input: {
      type: "object",
      properties: { id: { type: "string" }, amount: { type: "number" } },
      required: ["id", "amount"],
      additionalProperties: false,
    },
    execute: ({ id }) => {
      refunds.push(id);
      return { receipt: `R-${refunds.length}` };
    },
  }),
};
