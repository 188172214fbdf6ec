/** Tools over files that are not there, and what was done with them. */
import { tool } from "ai";
import { z } from "zod";
import type { Move } from "./scripted-model.ts";

export const deleted: string[] = [];
export const read: string[] = [];

export const deleteFile = tool({
  description: "Deletes a file",
  inputSchema: z.object({ path: z.string() }),
  needsApproval: true,
  execute: async ({ path }) => {
    deleted.push(path);
    return { gone: path };
  },
});

export const readFile = tool({
  inputSchema: z.object({ path: z.string() }),
  execute: async ({ path }) => {
    read.push(path);
    return `text of ${path}`;
  },
});

export const FOREVER = ({ steps }: { steps: readonly unknown[] }): boolean => steps.length === 20;

/** A model's call of code mode. */
export function program(js: string): Move {
  return { call: "code_mode", input: { js } };
}
