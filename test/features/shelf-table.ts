/** In place of contract/feature-table.ts in the worker of a test: the table, and the shelf. */
import { FEATURE_TABLE as TABLE } from "../../packages/codecell/src/contract/feature-table.ts";
import { SHELF_FEATURE } from "./shelf.ts";

export const FEATURE_TABLE = { ...TABLE, ...SHELF_FEATURE };
