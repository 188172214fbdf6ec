/** The backends of a shop: each is a connector, configured once. Add yours here. */
import { cli, type Connector, mcp, openapi } from "@codecell/connectors";

const program = process.execPath;

/** `salesOrigin` is where the sales API is. */
export function openBackends(salesOrigin: string): readonly Connector[] {
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

  /** An HTTP API that describes itself: each of its operations is a tool. */
  const sales = openapi({
    id: "sales",
    card: { name: "Sales", description: "What was sold, month by month" },
    document: `${salesOrigin}/openapi.json`,
    baseUrl: salesOrigin,
  });

  /** An MCP server, which starts when somebody first asks it. */
  const suppliers = mcp({
    id: "suppliers",
    card: { name: "Suppliers", description: "Who delivers what" },
    command: program,
    args: [`${import.meta.dirname}/suppliers.mjs`],
  });

  /** Nobody installed this one. */
  const printer = cli({
    id: "printer",
    card: { name: "Printer", description: "Prints labels" },
    commands: [{ name: "print", program: "no-such-printer" }],
  });

  return [warehouse, sales, suppliers, printer];
}
