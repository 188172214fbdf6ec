/** The worker as a Node.js worker thread. */
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import type { Command, WorkerSetup } from "../bridge/protocol.ts";
import type { EqualRanges } from "./image.ts";
import { createWorker } from "./worker.ts";

const port = parentPort;
if (port === null) throw new Error("Cannot start: this module runs in a worker thread");

/** The native comparison reads whole ranges without a loop in JavaScript. */
const equal: EqualRanges = (left, leftStart, right, rightStart, length) =>
  asBuffer(left).compare(asBuffer(right), rightStart, rightStart + length, leftStart, leftStart + length) ===
  0;

const buffers = new WeakMap<ArrayBufferLike, Buffer>();

function asBuffer(bytes: Uint8Array): Buffer {
  let buffer = buffers.get(bytes.buffer);
  if (buffer === undefined || buffer.length !== bytes.length) {
    buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    buffers.set(bytes.buffer, buffer);
  }
  return buffer;
}

let first: Command[] | undefined;

function receive(): Command[] | undefined {
  const message = first ?? (receiveMessageOnPort(port as MessagePort)?.message as Command[] | undefined);
  first = undefined;
  return message;
}

const serve = createWorker(workerData as WorkerSetup, equal, receive, (reports) => port.postMessage(reports));
port.on("message", (commands: Command[]) => {
  first = commands;
  serve();
});
