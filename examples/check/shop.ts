/** A shop's tools, and their declarations as a model is shown them. */
import { defineTool, type ToolDeclaration, type ToolSet } from "codecell";

/** What the shop did; the demo looks at it afterwards. */
export const refunds: string[] = [];

export const tools: ToolSet = {
  list_orders: defineTool({
    description: "All orders",
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

const DECLARATIONS: Readonly<Record<string, ToolDeclaration>> = {
  list_orders: { member: "list_orders(): Promise<{ id: string; late: boolean; total: number }[]>" },
  refund: {
    member: "refund(input: { id: string; amount: number }): Promise<{ receipt: string }>",
    // Its schema refuses what it does not list.
    isClosed: true,
  },
};

/** Asked for the tools a program names, and no others. */
export function declare(name: string): ToolDeclaration {
  return DECLARATIONS[name] ?? { member: `${JSON.stringify(name)}(input?: unknown): Promise<unknown>` };
}
