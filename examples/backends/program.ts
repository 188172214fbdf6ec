/** What a model would write when asked: "Which goods run out? Reorder what sells, and drop what does not." */
export const PROGRAM = `\
const { warehouse, sales, suppliers } = connectors;
const dataOf = ({ ok, data, error }) => {
  if (!ok) throw new Error(error.message);
  return data;
};

const scarce = dataOf(await warehouse.callTool("list_stock", { below: 10 }));
const sold = dataOf(await sales.callTool("sold_last_month", { sku: scarce.map(({ sku }) => sku) }));
const selling = scarce.filter(({ sku }) => sold[sku] > 0);

const reorder = await Promise.all(
  selling.map(async ({ sku, left }) => {
    const { supplier } = dataOf(await suppliers.callTool("supplier_of", { sku }));
    return { sku, count: sold[sku] - left, supplier };
  }),
);
const dropped = await Promise.all(
  scarce
    .filter((good) => !selling.includes(good))
    .map(async ({ sku }) => dataOf(await warehouse.callTool("drop_goods", { sku }))),
);
return { reorder, dropped };
`;
