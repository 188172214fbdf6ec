/** A shop's tools, of several owners; one of them takes longer than a model should be kept waiting. */
import type { AgentTools } from "codecell/surface";

export const refunds: string[] = [];
export const messages: string[] = [];

/** Somebody in the warehouse counts. */
export const counting: PromiseWithResolvers<{ readonly pallets: number }> = Promise.withResolvers();

const ORDERS = [
  { id: "A-1", customer: "Ana", daysLate: 0, total: 20 },
  { id: "A-2", customer: "Bo", daysLate: 9, total: 35 },
  { id: "A-3", customer: "Cleo", daysLate: 12, total: 80 },
];

export const tools: AgentTools = {
  core: {
    list_orders: {
      description: "Lists the orders of the shop, with how many days each is late",
      readOnly: true,
      execute: () => ORDERS,
    },
    delete_everything: { description: "Deletes all orders", execute: () => "gone" },
  },
  plugin: {
    billing: {
      refund_order: {
        description: "Gives a customer the money for an order back",
        input: { type: "object", properties: { id: { type: "string" } }, required: ["id"] },
        execute: ({ id }: { id: string }) => {
          refunds.push(id);
          return { receipt: `R-${id}` };
        },
      },
    },
  },
  mcp: {
    chat: {
      post_message: {
        description: "Posts a message to a channel of the team",
        input: {
          type: "object",
          properties: { channel: { type: "string" }, text: { type: "string" } },
          required: ["channel", "text"],
        },
        execute: ({ channel, text }: { channel: string; text: string }) =>
          messages.push(`${channel}: ${text}`),
      },
    },
    warehouse: {
      count_stock: {
        description: "Has the stock counted, which takes people a while",
        execute: () => counting.promise,
      },
    },
  },
};
