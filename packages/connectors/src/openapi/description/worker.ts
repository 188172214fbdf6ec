/** The script of the thread that reads a description of OpenAPI. */
import { workerData } from "node:worker_threads";
import { answerFrom } from "../../description/answer-from.ts";
import { Words } from "../../description/words.ts";
import { describe } from "./describe.ts";
import { loadDocument } from "./load-documents.ts";
import type { ThreadSetup } from "./messages.ts";

const { source, documentBytes, ownedHeaders, hidden } = workerData as ThreadSetup;
const words = new Words(hidden);

await answerFrom(words, async () => describe(await loadDocument(source, documentBytes), ownedHeaders, words));
