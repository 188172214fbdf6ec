/**
 * Shelf: a feature that only tests have. All that is known of it: its entry in the table, its option on the host with the
 * tool that serves its call, and its installer (guest/inside/testing/shelf-installers.ts).
 *
 * - docs/internals/add-a-guest-global.md shows parts of these files. They are written as they would be in the library.
 *   The types around them say what the library's own types would say of a shelf in its table.
 */
import type { GuestFeature } from "../../packages/codecell/src/contract/feature-table.ts";
import type { ServedFeatureOption } from "../../packages/codecell/src/run/host/feature-options.ts";

export const SHELF_FEATURE = {
  shelf: {
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
  },
} as const satisfies Readonly<Record<string, GuestFeature>>;

export interface ShelfOptions {
  /** Gives the program `shelf`, and keeps what it puts there. Default: the program has no `shelf`. */
  readonly shelf?: { readonly label: string; readonly things: unknown[] };
}

type WithShelf<Part> = Part extends (options: infer Options, ...more: infer More) => infer Returned
  ? (options: Options & ShelfOptions, ...more: More) => Returned
  : Part;

type ShelfOption = {
  readonly [Name in keyof ServedFeatureOption]: Name extends "option"
    ? keyof ShelfOptions
    : WithShelf<ServedFeatureOption[Name]>;
};

export const SHELF_OPTION: { readonly shelf: ShelfOption } = {
  shelf: {
    option: "shelf",
    problem: ({ shelf }) =>
      shelf === undefined || (typeof shelf.label === "string" && Array.isArray(shelf.things))
        ? undefined
        : "shelf must have a label and a list of things",
    isGiven: ({ shelf }) => shelf !== undefined,
    text: ({ shelf }) => shelf?.label ?? "",
    serve:
      ({ shelf }) =>
      () => ({
        "shelf.put": {
          input: { not: { type: "null" } },
          execute: (thing: unknown) => {
            if (shelf === undefined) throw new Error("Cannot put: the run was resumed without a shelf");
            return shelf.things.push(thing);
          },
        },
      }),
  },
};
