/** The script of the thread that reads a description of OpenAPI. */
import { workerData } from "node:worker_threads";
import { answerFrom } from "../../description/answer-from.ts";
import { Words } from "../../description/words.ts";
import { describe } from "./describe.ts";
import { loadDocument } from "./load-documents.ts";
import type { ThreadSetup } from "./messages.ts";

const setup = workerData as ThreadSetup;
const words = new Words(setup.hidden);

await answerFrom(setup, words, async () => {
  const loaded = await loadDocument(setup);
  return { described: describe(loaded, setup.ownedHeaders, words), others: loaded.others };
});
