/** Runs on the host. Lists a page of rows for drivers without an index; it looks at every row. */
import type { ListedRows, ListPage, RunRow } from "./driver.ts";

export function listRows(rows: Iterable<RunRow>, page: ListPage, now: number = Date.now()): ListedRows {
  const { order, after, limit } = page;
  const behind = after && { id: Buffer.from(after.id), createdAt: after.createdAt };
  const found: { readonly row: RunRow; readonly id: Buffer; readonly createdAt: number }[] = [];
  for (const row of rows) {
    if (!isAsked(row, page, now)) continue;
    const one = { row, id: Buffer.from(row.id), createdAt: row.createdAt };
    if (behind === undefined || compare(one, behind) > 0) found.push(one);
  }
  found.sort(compare);
  return { rows: found.slice(0, limit).map(({ row }) => row), now };

  function compare(
    a: { readonly id: Buffer; readonly createdAt: number },
    b: { readonly id: Buffer; readonly createdAt: number },
  ): number {
    return order === "id" ? a.id.compare(b.id) : b.createdAt - a.createdAt || b.id.compare(a.id);
  }
}

function isAsked(row: RunRow, page: ListPage, now: number): boolean {
  const { isEnded, status, scope, isClaimable, createdFrom, createdBefore } = page;
  if ((row.ended !== undefined) !== isEnded) return false;
  if (scope !== undefined && row.scope !== scope) return false;
  if (row.createdAt < createdFrom || row.createdAt >= createdBefore) return false;
  const own = row.ended ?? (row.owner === undefined ? "suspended" : "running");
  if (status !== undefined && status !== own) return false;
  return row.leaseUntil > now ? !isClaimable : row.expiresAt >= now;
}
