/** The script of the thread that reads a Discovery document. */
import { workerData } from "node:worker_threads";
import { answerFrom } from "../../description/answer-from.ts";
import { NO_OTHERS } from "../../description/cache/other-documents.ts";
import { readFirst } from "../../description/read-document.ts";
import { Words } from "../../description/words.ts";
import { describeDiscovery } from "./describe-discovery.ts";
import type { DiscoverySetup } from "./messages.ts";

const setup = workerData as DiscoverySetup;
const words = new Words(setup.hidden);

await answerFrom(setup, words, async () => {
  const { first, reader } = await readFirst(setup);
  return { described: describeDiscovery(first, reader.hash(), setup, words), others: NO_OTHERS };
});
