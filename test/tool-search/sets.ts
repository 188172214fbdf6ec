/**
 * Sets: six public collections of tools and requests, with the tools each request needs.
 *
 * Kept compressed in test/data/tool-search; each folder's META.json says where it is from and under which licence.
 */

import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import type { SearchDocument } from "../../packages/codecell/src/catalog/search/document.ts";

export const SET_NAMES = [
  "livemcpbench",
  "mcpproxy-golden",
  "restbench",
  "metatool",
  "sealtools",
  "bfcl",
] as const;
export type SetName = (typeof SET_NAMES)[number];

export interface SearchRequest {
  readonly query: string;
  /** Capabilities that are needed; any tool of a group has it. */
  readonly groups: readonly (readonly string[])[];
  readonly relevant: readonly string[];
}

export interface ToolSet {
  readonly name: SetName;
  readonly documents: readonly SearchDocument[];
  readonly requests: readonly SearchRequest[];
}

interface ToolLine {
  readonly id: string;
  readonly name: string;
  readonly description?: string;
  readonly server?: string;
  readonly schema?: unknown;
}

interface RequestLine {
  readonly query: string;
  readonly relevant: readonly string[];
  readonly groups?: readonly (readonly string[])[];
}

const FOLDER = new URL("../data/tool-search/", import.meta.url);

export function loadSet(name: SetName): ToolSet {
  const documents = readLines<ToolLine>(`${name}/tools.jsonl.gz`).map((tool): SearchDocument => ({
    id: tool.id,
    name: tool.name,
    description: tool.description ?? "",
    owner: tool.server ?? "",
    inputSchema: tool.schema,
  }));
  const requests = readLines<RequestLine>(`${name}/queries.jsonl.gz`).map(
    ({ query, relevant, groups = [] }): SearchRequest => ({
      query,
      relevant,
      groups: groups.length > 0 ? groups : relevant.map((id) => [id]),
    }),
  );
  return { name, documents, requests };
}

function readLines<Line>(path: string): Line[] {
  const text = gunzipSync(readFileSync(new URL(path, FOLDER))).toString("utf8");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Line);
}
