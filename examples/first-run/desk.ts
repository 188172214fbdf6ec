/** A support desk: a few orders, and the four tools a model may use on them. */
import { setTimeout as sleep } from "node:timers/promises";
import { defineTool, type ToolSet } from "codecell";

interface Order {
  readonly id: string;
  readonly customer: string;
  readonly status: "late" | "delivered" | "lost";
  readonly total: number;
}

const ORDERS: readonly Order[] = [
  { id: "A-101", customer: "ana", status: "delivered", total: 12.5 },
  { id: "A-102", customer: "bo", status: "late", total: 80 },
  { id: "A-103", customer: "cleo", status: "lost", total: 45.9 },
  { id: "A-104", customer: "dai", status: "late", total: 230 },
  { id: "A-105", customer: "bo", status: "late", total: 19 },
];

const CUSTOMERS: Readonly<Record<string, { readonly name: string; readonly tier: string }>> = {
  ana: { name: "Ana Silva", tier: "standard" },
  bo: { name: "Bo Lindqvist", tier: "gold" },
  dai: { name: "Dai Nguyen", tier: "gold" },
};

const byId = {
  type: "object",
  properties: { id: { type: "string" } },
  required: ["id"],
  additionalProperties: false,
} as const;

/** What the desk did; the demo looks at it afterwards. */
export const refunds: { readonly orderId: string; readonly amount: number }[] = [];

export const tools: ToolSet = {
  list_orders: defineTool({
    description: "All orders, optionally of one status",
    input: {
      type: "object",
      properties: { status: { enum: ["late", "delivered", "lost"] } },
      additionalProperties: false,
    },
    execute: async ({ status }) => {
      await sleep(30);
      return ORDERS.filter((order) => status === undefined || order.status === status);
    },
  }),
  get_customer: defineTool({
    description: "Name and tier of a customer",
    input: byId,
    execute: async ({ id }) => {
      await sleep(40);
      const customer = CUSTOMERS[id];
      if (customer === undefined) throw new Error(`No customer "${id}", the account was deleted`);
      return { id, ...customer };
    },
  }),
  get_shipment: defineTool({
    description: "Where an order is, and by how many days it is late",
    input: byId,
    async *execute({ id }) {
      yield { id, place: "asking the carrier", daysLate: 0 };
      await sleep(60);
      yield {
        id,
        place: id === "A-105" ? "out for delivery" : "in customs",
        daysLate: id === "A-105" ? 1 : 9,
      };
    },
  }),
  refund: defineTool({
    description: "Gives money back for an order",
    input: {
      type: "object",
      properties: { orderId: { type: "string" }, amount: { type: "number", exclusiveMinimum: 0 } },
      required: ["orderId", "amount"],
      additionalProperties: false,
    },
    output: { type: "object", properties: { receipt: { type: "string" } }, required: ["receipt"] },
    execute: async ({ orderId, amount }) => {
      await sleep(20);
      refunds.push({ orderId, amount });
      return { receipt: `R-${refunds.length}` };
    },
  }),
};
