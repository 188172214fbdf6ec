/** The script of the thread that reads a description of OpenAPI. */
import { workerData } from "node:worker_threads";
import { answerFrom } from "../../description/answer-from.ts";
import { describe } from "./describe.ts";
import { loadDocument } from "./load-documents.ts";
import type { ThreadSetup } from "./messages.ts";

const setup = workerData as ThreadSetup;

await answerFrom(setup, async () => {
  const loaded = await loadDocument(setup);
  return { described: describe(loaded, setup.ownedHeaders), others: loaded.others };
});
