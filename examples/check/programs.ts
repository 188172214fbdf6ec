/** What a model might write, and what becomes of it. */
export interface Story {
  readonly title: string;
  readonly source: string;
  readonly expected:
    | { readonly value: unknown }
    | { readonly code: string; readonly says: readonly string[] };
}

export const STORIES: readonly Story[] = [
  {
    title: "A tool that does not exist, after one that moves money",
    source: `const late = (await tools.list_orders()).filter((order) => order.late);
for (const { id, total } of late) await tools.refund({ id, amount: total });
return await tools.list_order();`,
    expected: { code: "check_failed", says: ['closest is "list_orders"', "line 3, column 20"] },
  },
  {
    title: "A forgotten await, and an argument by another name",
    source: `const orders = tools.list_orders();
await tools.refund({ id: "A-1", sum: 5 });
return orders.length;`,
    expected: {
      code: "check_failed",
      says: ['required argument "amount" is missing', 'read "length" of a promise'],
    },
  },
  {
    title: "A wrong type is no reason not to run; it is told when the run fails",
    source: `const [first] = await tools.list_orders();
return first.totl.toFixed(2);`,
    expected: { code: "guest_error", says: ["Did you mean 'total'?"] },
  },
  {
    title: "A program that expects a failure is left alone",
    source: `const receipt = await tools.refundd({ id: "A-2", amount: 1 }).catch(() => "none");
return receipt;`,
    expected: { value: "none" },
  },
];
