/** The script of the thread that has a schema: it reads one, and answers questions about it until it is ended. */
import { parentPort, workerData } from "node:worker_threads";
import { checkDocument } from "./check-document.ts";
import { describe } from "./describe.ts";
import type { Answer, DescribeAnswer, DescribeQuestion, Question, SchemaSetup } from "./messages.ts";
import { type ReadSchema, readSchema, SchemaUnusable } from "./read-schema.ts";

let kept: ReadSchema | undefined;

function read(): ReadSchema {
  return (kept ??= readSchema(workerData as SchemaSetup));
}

function described(question: DescribeQuestion): DescribeAnswer {
  try {
    return { kind: "described", described: describe(read(), question) };
  } catch (error) {
    const [problem, isRefused] =
      error instanceof SchemaUnusable
        ? [error.message, error.isRefused]
        : error instanceof RangeError
          ? ["its schema is nested too deeply", false]
          : ["its schema cannot be used", false];
    return { kind: "unusable", problem, isRefused };
  }
}

function answer(question: Question): Answer {
  return question.kind === "describe" ? described(question) : checkDocument(read(), question);
}

parentPort?.on("message", (question: Question) => {
  const message = answer(question);
  parentPort?.postMessage(message, message.kind === "described" ? [message.described.text.buffer] : []);
});
