/** A guest program written in an editor: names, inputs and outputs are checked and completed. */
import type { GuestApi } from "codecell";
import type { warehouse } from "./warehouse.ts";

export async function program(tools: GuestApi<typeof warehouse>): Promise<string> {
  const open = [await tools.list_shelves()];
  for (let shelf = open.pop(); shelf !== undefined; shelf = open.pop()) {
    if (shelf.free >= 5) {
      const { id, at } = await tools.store({ shelf: shelf.name, size: "large" });
      return `${id} since ${at.slice(0, 4)}`;
    }
    open.push(...(shelf.shelves ?? []));
  }
  return "no room";
}
