/**
 * A peer behind a queue of the bench ("queued" in the tables): what the user of a peer that refuses would have to
 * write.
 *
 * It runs as many at once as the peer admits (32) if runs wait, and as many as there are cores if they compute.
 */

import { availableParallelism } from "node:os";
import type { Contestant } from "./contestant.ts";

const ADMITTED = 32;

export function createQueued(inner: Contestant): Contestant {
  const waiting: (() => void)[] = [];
  let free = ADMITTED;
  const acquire = async (): Promise<void> => {
    if (free > 0) free--;
    else await new Promise<void>((resolve) => waiting.push(resolve));
  };
  const release = (): void => {
    const next = waiting.shift();
    if (next === undefined) free++;
    else next();
  };
  return {
    ...inner,
    id: `${inner.id}:queued`,
    name: `${inner.name}, queued`,
    variant: { of: inner.id, workloads: ["throughput", "concurrent-runs"] },
    prepare: (load) => {
      inner.prepare?.(load);
      free = load.mostly === "waiting" ? ADMITTED : availableParallelism();
    },
    run: async (source, tools, options) => {
      await acquire();
      try {
        return await inner.run(source, tools, options);
      } finally {
        release();
      }
    },
  };
}
