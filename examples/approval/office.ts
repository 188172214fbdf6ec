/** An office that pays expenses: its tools, and the folder that outlives its processes. */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { defineTool, type ToolSet } from "codecell";
import type { Store } from "codecell/store";
import { openSqliteStore } from "codecell/store/sqlite";

interface Expense {
  readonly id: string;
  readonly by: string;
  readonly what: string;
  readonly amount: number;
}

const EXPENSES: readonly Expense[] = [
  { id: "E-1", by: "Ana", what: "train to Lyon", amount: 64 },
  { id: "E-2", by: "Bo", what: "a chair", amount: 480 },
  { id: "E-3", by: "Cleo", what: "pencils", amount: 7 },
  { id: "E-4", by: "Dai", what: "a very good dinner", amount: 350 },
];

/** More than this nobody gets without a person's consent. */
const FREE = 100;

/** Where suspended runs are kept: a file that every process of the office opens. */
export function openStore(folder: string): Promise<Store> {
  return openSqliteStore({ path: join(folder, "runs.db") });
}

export function paymentsIn(folder: string): string[] {
  const path = join(folder, "payments.txt");
  return existsSync(path) ? readFileSync(path, "utf8").trimEnd().split("\n") : [];
}

export function toolsOf(folder: string): ToolSet {
  return {
    list_expenses: defineTool({
      description: "Expenses that were handed in",
      readOnly: true,
      execute: () => EXPENSES,
    }),
    pay: defineTool({
      description: "Pays an expense",
      input: {
        type: "object",
        properties: { id: { type: "string" }, amount: { type: "number" } },
        required: ["id", "amount"],
        additionalProperties: false,
      },
      execute: ({ id, amount }, call) => {
        // Stops the program here. When somebody has decided, the tool is called again with what they said.
        if (amount > FREE && call.resolution === undefined)
          call.suspend({ question: `Pay ${amount} for ${id}?` });
        const approvedBy = typeof call.resolution === "string" ? call.resolution : "the rules";
        appendFileSync(join(folder, "payments.txt"), `${id} ${amount} approved by ${approvedBy}\n`);
        return { id, approvedBy };
      },
    }),
  };
}
