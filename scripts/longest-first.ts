/**
 * Sequencer: files that take minutes start first. If vitest knows nothing of earlier runs it starts the largest files
 * first, and the longest one would run alone at the end.
 */
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The longest first. All other files keep their order after these. */
const LONGEST: readonly string[] = [
  "test/attacks/attacks.test.ts",
  "test/fuzz/host-memory-",
  "test/crash/crash.test.ts",
  "test/bundles.test.ts",
  "test/package.test.ts",
  "test/ai-sdk/",
  "test/surface/",
];

export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => rankOf(a) - rankOf(b));
  }
}

function rankOf({ moduleId }: TestSpecification): number {
  const rank = LONGEST.findIndex((path) => moduleId.includes(`/${path}`));
  return rank === -1 ? LONGEST.length : rank;
}
