/** What a model would write when asked: "Pay the expenses, and tell me what became of each." */
export const PROGRAM = `\
const expenses = await tools.list_expenses();
const settled = await Promise.allSettled(expenses.map(({ id, amount }) => tools.pay({ id, amount })));
return settled.map((one, n) =>
  one.status === "fulfilled"
    ? \`\${expenses[n].by}: paid, approved by \${one.value.approvedBy}\`
    : \`\${expenses[n].by}: not paid, \${one.reason.message}\`,
);
`;
