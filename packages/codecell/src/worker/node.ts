/** The worker as a Node.js worker thread. */
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
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

const serve = createWorker(workerData as WorkerSetup, equal, (reports) => port.postMessage(reports));
port.on("message", (first: Command[]) => {
  const commands = first;
  // Everything that arrived meanwhile joins, so that what was dropped is not started first.
  for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port)) {
    for (const command of next.message as Command[]) commands.push(command);
  }
  serve(commands);
});
