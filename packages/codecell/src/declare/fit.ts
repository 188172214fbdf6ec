/**
 * Fit: finds the most detailed text that fits into a number of characters. Runs anywhere.
 *
 * - Documentation is shortened first, then depth, then width. The steps are fixed, so equal schemas give equal texts.
 */
import type { Docs } from "./comment.ts";
import { plain, UNKNOWN, type Use } from "./node.ts";
import type { ResolvedOptions } from "./options.ts";
import { type Bounds, prune } from "./prune.ts";
import { type Rendered, renderNodes } from "./render-nodes.ts";

export interface FitRoot {
  readonly use: Use;
  readonly name?: string | undefined;
}

interface Step {
  readonly docs: number;
  readonly bounds?: Bounds;
}

const STEPS: readonly Step[] = [
  { docs: Infinity },
  { docs: 120 },
  { docs: 40 },
  { docs: 0 },
  ...[
    [8, 64],
    [6, 32],
    [4, 24],
    [3, 16],
    [2, 16],
    [2, 8],
    [1, 8],
    [1, 4],
    [1, 2],
    [1, 1],
    [0, 0],
  ].map(([levels = 0, members = 0]): Step => ({ docs: 0, bounds: { levels, members } })),
];

/**
 * `write` makes the whole text from the rendered types. Without `aliases` no type gets a declaration of its own.
 * Undefined if not even the shortest text fits.
 */
export function fit(
  roots: readonly FitRoot[],
  write: (rendered: Rendered, docs: Docs) => string,
  { docs, maxCharacters }: ResolvedOptions,
  aliases = true,
): string | undefined {
  const uses = roots.map(({ use }) => use);
  for (const step of STEPS) {
    const shown = step.bounds === undefined ? uses : prune(uses, step.bounds);
    const stepDocs = lesser(docs, step.docs);
    const given = roots.map(({ name }, index) => ({ name, use: shown[index] ?? plain(UNKNOWN) }));
    const rendered = renderNodes(given, { docs: stepDocs, aliases, most: maxCharacters });
    if (rendered === undefined) continue;
    const text = write(rendered, stepDocs);
    if (text.length <= maxCharacters) return text;
  }
  return undefined;
}

function lesser(docs: Docs, most: number): Docs {
  if (docs === "none" || most === 0) return "none";
  if (docs === "full") return most === Infinity ? "full" : most;
  return Math.min(docs, most);
}
