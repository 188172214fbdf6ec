/** What the script of a thread does that reads a description: it reads one, says what it found, and ends. */
import { parentPort } from "node:worker_threads";
import type { DescribedApi, ThreadAnswer } from "./messages.ts";
import { LoadFailure } from "./read-document.ts";
import type { Words } from "./words.ts";

export async function answerFrom(words: Words, read: () => Promise<DescribedApi>): Promise<void> {
  const message = await answer(words, read);
  parentPort?.postMessage(message, message.kind === "described" ? [message.described.text.buffer] : []);
}

async function answer(words: Words, read: () => Promise<DescribedApi>): Promise<ThreadAnswer<DescribedApi>> {
  try {
    return { kind: "described", described: await read() };
  } catch (error) {
    if (error instanceof LoadFailure)
      return { kind: "failed", code: error.code, message: words.told(error.message) };
    const message =
      error instanceof RangeError ? "its description is nested too deeply" : "its description cannot be used";
    return { kind: "failed", code: "CONFIG_INVALID", message };
  }
}
