/**
 * Runs on the host. ProcessTransport: an MCP server that is a process, over its standard input and output.
 *
 * - The official client's own transport ends the connection at the first large answer, waits for pipes that the server's
 *   children hold, and leaves these children alone. This one fails the one request, and ends what the process started.
 * - A server that asks and does not read the answers is ended: no answers pile up.
 * - What the server writes to its standard error is read, so that it never waits, and its end is kept for the operator.
 */
import type { ChildProcess } from "node:child_process";
import {
  type JSONRPCMessage,
  parseJSONRPCMessage,
  SdkError,
  SdkErrorCode,
  type Transport,
} from "@modelcontextprotocol/client";
import { getDefaultEnvironment } from "@modelcontextprotocol/client/stdio";
import spawn from "cross-spawn";
import { type AnswerId, faultAnswer } from "./faults.ts";
import { ENDLESS_BYTES, MessageLines } from "./message-lines.ts";

export interface ServerProcess {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
}

/** How a process ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Larger inputs are written all the same. It is what waits already that tells of a server that does not read. */
const MOST_WAITING_BYTES = 256 * 1024 * 1024;

/** Nobody answers so many questions at once but to a server that asks on and on, and reads nothing. */
const MOST_WAITING_ANSWERS = 1000;

/** No server needs longer ones to tell its requests apart, and each answer repeats one. */
const LONGEST_ID = 200;

const KEPT_STDERR_CHARACTERS = 8192;

/** What a process has after each sign to end: its input's end, a polite signal. */
const GRACE_MS = 2000;

/** For pipes that the process's children still hold. */
const DRAIN_MS = 500;

const IS_WINDOWS = process.platform === "win32";

export class ProcessTransport implements Transport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: JSONRPCMessage) => void) | undefined;
  /** Beside `pid`, the sign by which the client knows that it talks to a process. */
  readonly stderr: null = null;
  readonly #server: ServerProcess;
  readonly #lines: MessageLines;
  readonly #ended = Promise.withResolvers<void>();
  #process: ChildProcess | undefined;
  #pid: number | undefined;
  #stderr = "";
  #exit: Exit | undefined;
  #isClosed = false;
  /** That were given, and not written yet. */
  #answers = 0;
  #handedOn: Promise<void> = Promise.resolve();

  constructor(server: ServerProcess, messageBytes: number) {
    this.#server = server;
    this.#lines = new MessageLines({
      lineBytes: messageBytes,
      endlessBytes: ENDLESS_BYTES,
      onLine: (line) => this.#inTurn(() => this.#receive(line)),
      onTooLarge: (id) => this.#inTurn(() => this.#fail(id, "too-large")),
      onEndless: () => void this.close(),
    });
  }

  get pid(): number | null {
    return this.#pid ?? null;
  }

  /** Undefined as long as the process runs. */
  get exit(): Exit | undefined {
    return this.#exit;
  }

  /** The end of what the server wrote to its standard error, from the beginning of a line. */
  get lastWords(): string {
    if (this.#stderr.length < KEPT_STDERR_CHARACTERS) return this.#stderr;
    const line = this.#stderr.indexOf("\n") + 1;
    return this.#stderr.slice(line === 0 ? KEPT_STDERR_CHARACTERS / 2 : line);
  }

  async start(): Promise<void> {
    const { command, args, env, cwd } = this.#server;
    const child = spawn(command, args, {
      env: { ...getDefaultEnvironment(), ...env },
      cwd,
      shell: false,
      stdio: ["pipe", "pipe", "pipe"],
      windowsHide: true,
      // A group of its own, so that it ends with what it started.
      detached: !IS_WINDOWS,
    });
    this.#process = child;
    this.#pid = child.pid;
    const started = Promise.withResolvers<void>();
    child.once("spawn", started.resolve);
    child.once("error", (error) => {
      started.reject(error);
      this.#close();
    });
    child.once("exit", (code, signal) => {
      this.#exit = { code, signal };
      this.#ended.resolve();
      // Its children may hold the pipes for ever.
      setTimeout(() => this.#close(), DRAIN_MS).unref();
    });
    child.once("close", () => this.#close());
    child.stdout?.on("data", (chunk: Buffer) => this.#lines.push(chunk));
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-KEPT_STDERR_CHARACTERS);
    });
    for (const stream of child.stdio) stream?.on("error", () => {});
    await started.promise;
  }

  send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#process?.stdin;
    if (this.#isClosed || this.#exit !== undefined || stdin?.writable !== true)
      return Promise.reject(new SdkError(SdkErrorCode.NotConnected, "The server's process has ended"));
    const isAnswer = !("method" in message);
    if (stdin.writableLength > MOST_WAITING_BYTES || (isAnswer && this.#answers >= MOST_WAITING_ANSWERS)) {
      void this.close();
      return Promise.reject(
        new SdkError(SdkErrorCode.ConnectionClosed, "The server does not read its input"),
      );
    }
    if (isAnswer) this.#answers++;
    return new Promise((resolve, reject) => {
      stdin.write(`${JSON.stringify(message)}\n`, (error) => {
        if (isAnswer) this.#answers--;
        if (error) reject(new SdkError(SdkErrorCode.ConnectionClosed, "The server's process has ended"));
        else resolve();
      });
    });
  }

  async close(): Promise<void> {
    const child = this.#process;
    // Whoever waits for an answer does not wait for the process to end.
    this.#announce();
    if (child?.pid !== undefined && this.#exit === undefined) {
      child.stdin?.end();
      if (!(await this.#endsInTime())) {
        signalGroup(child.pid, "SIGTERM");
        if (!(await this.#endsInTime())) {
          signalGroup(child.pid, "SIGKILL");
          await this.#ended.promise;
        }
      }
    }
    this.#release();
  }

  async #endsInTime(): Promise<boolean> {
    const late = Promise.withResolvers<false>();
    const timer = setTimeout(() => late.resolve(false), GRACE_MS);
    const isEnded = await Promise.race([this.#ended.promise.then(() => true), late.promise]);
    clearTimeout(timer);
    return isEnded;
  }

  /** However the process came to its end. */
  #close(): void {
    this.#announce();
    this.#release();
  }

  #announce(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#lines.end();
    this.onclose?.();
  }

  #release(): void {
    const child = this.#process;
    // What the process started, and did not end.
    if (child?.pid !== undefined) signalGroup(child.pid, "SIGKILL");
    for (const stream of child?.stdio ?? []) stream?.destroy();
    this.#process = undefined;
  }

  /** The client takes up a notice later than an answer: what comes with it in one piece would overtake it. */
  #inTurn(handOn: () => void): void {
    this.#handedOn = this.#handedOn.then(handOn).catch((error: unknown) => this.onerror?.(error as Error));
  }

  #receive(line: string): void {
    if (this.#isClosed) return;
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      // Many servers also print what is no message.
      return;
    }
    let message: JSONRPCMessage;
    try {
      message = parseJSONRPCMessage(value);
    } catch (error) {
      this.onerror?.(error as Error);
      const { id, method } = (value ?? {}) as { readonly id?: unknown; readonly method?: unknown };
      if (method === undefined && (typeof id === "number" || typeof id === "string"))
        this.#fail(id, "malformed");
      return;
    }
    if ("method" in message && "id" in message && String(message.id).length > LONGEST_ID) {
      this.onerror?.(new Error("The id of a request is too long"));
      return;
    }
    this.onmessage?.(message);
  }

  #fail(id: AnswerId | undefined, fault: "too-large" | "malformed"): void {
    if (id !== undefined) this.onmessage?.(faultAnswer(id, fault));
  }
}

/** A group that is gone needs no signal. */
function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(IS_WINDOWS ? pid : -pid, signal);
  } catch {
    // It has ended.
  }
}
