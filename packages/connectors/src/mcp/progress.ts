/**
 * Runs on the host. Hands on what a server says of its progress, at most once in a turn of the event loop: of what comes in
 * between, the newest counts.
 */
import type { Progress } from "@modelcontextprotocol/client";
import type { Json } from "codecell";

export function inTurns(
  listener: (progress: Json) => void,
  signal: AbortSignal,
): (progress: Progress) => void {
  let newest: Progress | undefined;
  return (progress) => {
    const isWaiting = newest !== undefined;
    newest = progress;
    if (isWaiting) return;
    setImmediate(() => {
      const { progress: done, total, message } = newest ?? progress;
      newest = undefined;
      if (signal.aborted) return;
      listener({
        progress: done,
        ...(total !== undefined && { total }),
        ...(message !== undefined && { message }),
      });
    });
  };
}
