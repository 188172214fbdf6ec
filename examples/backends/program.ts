/** What a model would write when asked: "Which goods run out? Reorder what sells, and drop what does not." */
export const PROGRAM = `\
const scarce = await tools.list_stock({ below: 10 });
const sales = await tools.sold_last_month({ skus: scarce.map(({ sku }) => sku) });
const sold = Object.fromEntries(sales.map(({ sku, sold }) => [sku, sold]));

const dead = scarce.filter(({ sku }) => sold[sku] === 0);
const dropped = await Promise.all(dead.map(({ sku }) => tools.drop_goods({ sku })));
const reorder = scarce.filter(({ sku }) => sold[sku] > 0).map(({ sku, left }) => ({ sku, count: sold[sku] - left }));
return { reorder, dropped };
`;
