/** What a model would write when asked: "Charge the order, then ship it. Never charge anybody twice." */
export function programOf(order: number): string {
  return `\
const order = ${order};
let how = "charged at once";
try {
  await tools.charge({ order });
} catch (error) {
  // The process that was charging died: it may or may not have happened.
  if (error.code !== "outcome_unknown") throw error;
  how = "found charged after a crash";
  if (!(await tools.find_charge({ order }))) {
    how = "charged again after a crash";
    await tools.charge({ order });
  }
}
await tools.ship({ order, how });
return how;
`;
}
