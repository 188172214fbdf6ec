/** A warehouse's tools, with schemas as they come from an API description: references, recursion, words. */
import { defineTool } from "codecell";

interface Shelf {
  readonly name: string;
  readonly free: number;
  readonly shelves?: readonly Shelf[];
}

const HALL: Shelf = {
  name: "hall",
  free: 0,
  shelves: [
    { name: "left", free: 2 },
    { name: "right", free: 0, shelves: [{ name: "right, top", free: 5 }] },
  ],
};

const address = {
  type: "object",
  properties: { street: { type: "string" }, city: { type: "string" }, country: { type: "string" } },
  required: ["street", "city", "country"],
};

export const warehouse = {
  list_shelves: defineTool({
    description: "All shelves. Shelves may hold shelves.",
    output: {
      $ref: "#/$defs/Shelf",
      $defs: {
        Shelf: {
          type: "object",
          properties: {
            name: { type: "string" },
            free: { type: "integer", minimum: 0, description: "Free places" },
            shelves: { type: "array", items: { $ref: "#/$defs/Shelf" } },
          },
          required: ["name", "free"],
        },
      },
    },
    execute: () => HALL,
  }),
  store: defineTool({
    description: "Puts a parcel on a shelf.",
    input: {
      type: "object",
      properties: {
        shelf: { type: "string" },
        size: { enum: ["small", "large"], default: "small" },
        id: { type: "string", readOnly: true },
        from: { ...address, description: "Where it came from" },
        to: { ...address, description: "Where it goes" },
      },
      required: ["shelf"],
      additionalProperties: false,
    } as const,
    execute: ({ shelf }) => ({ id: `${shelf}/1`, at: new Date(0) }),
  }),
};
