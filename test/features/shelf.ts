/**
 * Shelf: a feature that only tests have. All that is known of it: its entry in the table, its option on the host with the
 * tool that serves its call, and its installer (guest/inside/testing/shelf-installers.ts).
 */
import type { GuestFeature } from "../../packages/codecell/src/contract/feature-table.ts";
import type { ServedFeatureOption } from "../../packages/codecell/src/run/host/feature-options.ts";

export const SHELF: GuestFeature = {
  setting: "text",
  globals: ["shelf"],
  declarations: "",
  namespaces: {
    shelf: { label: "readonly label: string", put: "put(value: unknown): Promise<number>" },
    tools: { shelve: "shelve(value: unknown): Promise<number>" },
  },
  listings: [],
  calls: [
    {
      name: "shelf.put",
      shown: "shelf.put",
      instead: "it is a function of its own: await shelf.put(value)",
      endedBy: "host",
      noun: "a use of the shelf",
      needs: "a shelf",
      isRepeatable: { sort: ["LETTER"] },
    },
  ],
  isCatalogProfile: false,
};

/** What a host is given. */
export interface ShelfGiven {
  readonly label: string;
  readonly things: unknown[];
}

function shelfOf(options: object): ShelfGiven | undefined {
  return (options as { readonly shelf?: ShelfGiven }).shelf;
}

export const SHELF_OPTION: ServedFeatureOption = {
  option: "shelf" as never,
  problem: (options) =>
    typeof (shelfOf(options)?.label ?? "") === "string" ? undefined : "shelf must have a label",
  isGiven: (options) => shelfOf(options) !== undefined,
  text: (options) => shelfOf(options)?.label ?? "",
  serve: (options) => {
    const things = shelfOf(options)?.things;
    return () => ({
      "shelf.put": {
        input: { not: { type: "null" } },
        execute: (thing: unknown) => {
          if (things === undefined) throw new Error("There is no shelf");
          return things.push(thing);
        },
      },
    });
  },
};
