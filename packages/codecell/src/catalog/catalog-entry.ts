/** A tool in a catalog: where it comes from, and what it is called there. */
import type { AnyTool } from "../contract/tool.ts";

export interface CatalogEntry {
  /** `<kind>:<owner>:<tool>`. */
  readonly id: string;
  readonly kind: string;
  readonly owner: string;
  readonly name: string;
  readonly tool: AnyTool;
}
