/** The backends of a shop. Each is a connector, or tools of its own. Add yours here. */
import { cli, type Connector } from "@codecell/connectors";
import { defineTool } from "codecell";
import type { ToolSource } from "codecell/catalog";

const program = process.execPath;

/** A command line: each command is written down, and no shell reads what the model says. */
const warehouse = cli({
  id: "warehouse",
  card: { name: "Warehouse", description: "What is in stock", tags: ["stock"] },
  cwd: import.meta.dirname,
  commands: [
    {
      name: "list_stock",
      description: "Lists the goods in the warehouse, with how many are left",
      useWhen: "you need to know what is running out",
      program,
      args: ["stock.mjs", "list", { input: "below", prefix: "--below=" }],
      inputSchema: { type: "object", properties: { below: { type: "integer" } } },
      output: "json",
      outputSchema: {
        type: "array",
        items: {
          type: "object",
          properties: { sku: { type: "string" }, left: { type: "integer" } },
          required: ["sku", "left"],
        },
      },
      readOnlyHint: true,
    },
    {
      name: "drop_goods",
      description: "Takes goods out of the range for good",
      program,
      // Whatever comes behind -- is no option.
      args: ["stock.mjs", "drop", "--", { input: "sku", mayBeginWithHyphen: true }],
      inputSchema: { type: "object", properties: { sku: { type: "string" } }, required: ["sku"] },
      destructiveHint: true,
    },
  ],
});

/** Nobody installed this one. */
const printer = cli({
  id: "printer",
  card: { name: "Printer", description: "Prints labels" },
  commands: [{ name: "print", program: "no-such-printer" }],
});

export const connectors: readonly Connector[] = [warehouse, printer];

/** Tools of the process itself stand beside those of backends. */
export const orders: ToolSource = {
  kind: "core",
  owner: "orders",
  tools: {
    sold_last_month: defineTool({
      description: "How many of each of these goods were sold last month",
      input: {
        type: "object",
        properties: { skus: { type: "array", items: { type: "string" } } },
        required: ["skus"],
      },
      execute: ({ skus }) => skus.map((sku) => ({ sku, sold: sku === "pen" ? 90 : 0 })),
    }),
  },
};
