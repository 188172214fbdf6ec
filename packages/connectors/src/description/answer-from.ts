/** What the script of a thread does that reads a description: it reads one, says what it found, and ends. */
import { parentPort } from "node:worker_threads";
import { writeEntry } from "./cache/entry.ts";
import type { OtherDocuments } from "./cache/other-documents.ts";
import type { DescribedApi, ReadingSetup, ThreadAnswer } from "./messages.ts";
import { LoadFailure } from "./document-bytes.ts";
import type { Words } from "./words.ts";

export interface ReadDescription {
  readonly described: DescribedApi;
  readonly others: OtherDocuments | undefined;
}

export async function answerFrom(
  setup: ReadingSetup,
  words: Words,
  read: () => Promise<ReadDescription>,
): Promise<void> {
  const message = await answer(setup, words, read);
  const moved =
    message.kind === "described"
      ? [message.described.text.buffer, ...(message.entry === undefined ? [] : [message.entry.buffer])]
      : [];
  parentPort?.postMessage(message, moved);
}

async function answer(
  { cacheKey }: ReadingSetup,
  words: Words,
  read: () => Promise<ReadDescription>,
): Promise<ThreadAnswer<DescribedApi>> {
  try {
    const { described, others } = await read();
    const isKept = cacheKey !== undefined && others !== undefined;
    return {
      kind: "described",
      described,
      entry: isKept ? writeEntry(cacheKey, described, others) : undefined,
    };
  } catch (error) {
    if (error instanceof LoadFailure)
      return { kind: "failed", code: error.code, message: words.told(error.message) };
    const message =
      error instanceof RangeError ? "its description is nested too deeply" : "its description cannot be used";
    return { kind: "failed", code: "CONFIG_INVALID", message };
  }
}
