/** What a model would write when asked: "Refund what is lost or very late, and tell me what is left to do." */
export const PROGRAM = `\
interface Order { id: string; customer: string; status: string; total: number }

// Two questions at once, then one per order: no round trip through the model in between.
const [late, lost]: Order[][] = await Promise.all([
  tools.list_orders({ status: "late" }),
  tools.list_orders({ status: "lost" }),
]);
console.log(\`\${late.length} late, \${lost.length} lost\`);

const cases = await Promise.all(
  [...late, ...lost].map(async (order) => {
    const [shipment, customer] = await Promise.all([
      tools.get_shipment({ id: order.id }),
      tools.get_customer({ id: order.customer }).catch((error: Error) => {
        console.warn(\`\${order.id}: \${error.message}\`);
        return null;
      }),
    ]);
    return { order, shipment, customer };
  }),
);

const refunded: { order: string; receipt: string }[] = [];
const left: { order: string; why: string }[] = [];
for (const { order, shipment, customer } of cases) {
  if (customer === null) {
    left.push({ order: order.id, why: "nobody to refund" });
  } else if (shipment.daysLate > 7) {
    try {
      const { receipt } = await tools.refund({ orderId: order.id, amount: order.total });
      refunded.push({ order: order.id, receipt });
    } catch (error) {
      left.push({ order: order.id, why: error.message });
    }
  }
}
return { refunded, left };
`;
