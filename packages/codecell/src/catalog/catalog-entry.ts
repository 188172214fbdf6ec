/** A tool in a catalog: its source, and its name there. Runs anywhere. */
import type { AnyTool } from "../contract/tool.ts";

export interface CatalogEntry {
  /** `<kind>:<owner>:<tool>`. */
  readonly id: string;
  readonly kind: string;
  readonly owner: string;
  readonly name: string;
  readonly tool: AnyTool;
}
