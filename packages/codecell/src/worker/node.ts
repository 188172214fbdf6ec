/** Runs in a worker thread of Node.js, as its entry. The thread serves cells or, in its other role, is a judge. */
import { type MessagePort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { type Command, parseCommands, STATUS } from "../protocol/messages.ts";
import type { WorkerSetup } from "../protocol/worker-setup.ts";
import { isRaisedSoon } from "../protocol/spin.ts";
import { JUDGE_ROLE, READY, type Case } from "../protocol/judges.ts";
import { judge } from "./judge.ts";
import { createNodePlatform } from "./node-platform.ts";
import { createWorker } from "./worker.ts";

/** After a message that came within this time, the worker spins for as long to get the next one. */
const SOON_MS = 0.2;
const LINGER_MS = 10;

type WorkerThreadSetup =
  | (WorkerSetup & { readonly port: MessagePort; readonly role?: undefined })
  | { readonly port: MessagePort; readonly role: typeof JUDGE_ROLE };

const given = workerData as WorkerThreadSetup;
if (given.role === JUDGE_ROLE) serveJudge(given.port);
else serveCells(given, given.port);

function serveJudge(port: MessagePort): void {
  port.on("message", (one: Case) => port.postMessage(judge(one)));
  port.postMessage(READY);
}

function serveCells(setup: WorkerSetup, port: MessagePort): void {
  const status = new Int32Array(setup.status);
  let spinMs = 0;

  let first: unknown;

  function receive(): Command[] | undefined {
    const message: unknown = first ?? receiveMessageOnPort(port)?.message;
    first = undefined;
    if (message === undefined) return undefined;
    const commands = parseCommands(message);
    if (commands === undefined) throw new Error("The host sent an invalid message");
    return commands;
  }

  const serve = createWorker(setup, createNodePlatform(status), receive, (answers) => {
    const transferred: ArrayBuffer[] = [];
    for (const one of answers) {
      if (one.kind === "snapshot" && one.bytes !== null) transferred.push(one.bytes.buffer);
    }
    port.postMessage(answers, transferred);
    Atomics.add(status, STATUS.reported, 1);
  });

  port.on("message", (message: unknown) => {
    first = message;
    let posted: number;
    do {
      posted = Atomics.load(status, STATUS.posted);
      serve();
    } while (isPostedSoon(posted));
  });

  /**
   * Whether another message comes within a moment. Waking from here is several times faster than through the event
   * loop, and the next outcome is usually near. An idle worker goes back to its event loop and costs nothing.
   */
  function isPostedSoon(posted: number): boolean {
    const since = performance.now();
    const isPosted =
      isRaisedSoon(status, STATUS.posted, posted, spinMs) ||
      Atomics.wait(status, STATUS.posted, posted, LINGER_MS) !== "timed-out";
    spinMs = performance.now() - since < SOON_MS ? SOON_MS : 0;
    return isPosted;
  }
}
