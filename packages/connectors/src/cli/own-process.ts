/**
 * Runs on the host. OwnProcess: a program that was started for one call, with all that the program starts.
 *
 * - What it prints is bounded while it is read: at one byte too much the program is told to end.
 * - It has a process group of its own. Whatever is left of the group when the program ends, or when nobody waits for
 *   it any more, is told to end, and is killed if it does not. Windows has no groups: there the program alone is ended.
 * - What a program prints after its end is lost: the call is over then.
 */
import { type ChildProcess, spawn } from "node:child_process";
import type { Readable } from "node:stream";

export interface ProcessSetup {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Undefined: the program cannot read anything. */
  readonly stdin: string | Uint8Array | undefined;
  /** Most bytes of the output. */
  readonly outputBytes: number;
  /** How many of the last bytes of the errors are kept. */
  readonly errorBytes: number;
  /** How long the program may take to end after it was told to. */
  readonly killAfterMs: number;
}

export interface ProcessEnd {
  /** Null if a signal ended the program. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly output: Buffer;
  readonly errors: Buffer;
  /** Whether errors before these were dropped. */
  readonly areErrorsCut: boolean;
}

export class OutputTooLarge extends Error {
  override readonly name = "OutputTooLarge";
}

export class OwnProcess {
  /** Rejects with what kept the program from starting, with `OutputTooLarge`, or with what `stop` was given. */
  readonly ended: Promise<ProcessEnd>;
  /** Resolves when nothing of the process is left. */
  readonly gone: Promise<void>;
  readonly #child: ChildProcess;
  readonly #killAfterMs: number;
  readonly #end: PromiseWithResolvers<ProcessEnd> = Promise.withResolvers();
  readonly #gone: PromiseWithResolvers<void> = Promise.withResolvers();
  #killTimer: NodeJS.Timeout | undefined;
  #hasClosed = false;
  #isKilled = false;

  constructor(setup: ProcessSetup) {
    const { program, args, cwd, env, stdin, outputBytes, errorBytes } = setup;
    this.ended = this.#end.promise;
    this.gone = this.#gone.promise;
    this.#killAfterMs = setup.killAfterMs;
    this.#child = spawn(program, args, {
      cwd,
      env,
      detached: HAS_GROUPS,
      windowsHide: true,
      shell: false,
      stdio: [stdin === undefined ? "ignore" : "pipe", "pipe", "pipe"],
    });
    const child = this.#child;
    const output = new FirstBytes(outputBytes);
    const errors = new LastBytes(errorBytes);
    read(child.stdout, (chunk) => {
      if (!output.add(chunk)) this.stop(new OutputTooLarge("The program printed too much"));
    });
    read(child.stderr, (chunk) => errors.add(chunk));
    // A program need not read what it is given.
    child.stdin?.on("error", () => {});
    child.stdin?.end(stdin);
    child.on("error", (error) => {
      this.#end.reject(error);
      if (child.pid === undefined) this.#gone.resolve();
    });
    child.on("exit", () => this.#tellToEnd());
    child.on("close", (exitCode, signal) => {
      this.#hasClosed = true;
      const { isCut: areErrorsCut } = errors;
      this.#end.resolve({ exitCode, signal, output: output.take(), errors: errors.take(), areErrorsCut });
      if (this.#isKilled || !this.#signal(0)) this.#beGone();
    });
  }

  /** The call is over: it fails with the reason, unless it has ended. */
  stop(reason: unknown): void {
    this.#end.reject(reason);
    // Nobody reads any more: a program that goes on printing is told so too.
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
    this.#tellToEnd();
  }

  #tellToEnd(): void {
    if (this.#killTimer !== undefined || this.#child.pid === undefined || this.#hasClosed) return;
    this.#signal("SIGTERM");
    this.#killTimer = setTimeout(() => {
      this.#signal("SIGKILL");
      this.#isKilled = true;
      // A process that left the group may still have our pipes.
      this.#child.stdout?.destroy();
      this.#child.stderr?.destroy();
      if (this.#hasClosed) this.#beGone();
    }, this.#killAfterMs);
  }

  #beGone(): void {
    clearTimeout(this.#killTimer);
    this.#gone.resolve();
  }

  /** Whether there was anything to send the signal to. */
  #signal(signal: NodeJS.Signals | 0): boolean {
    const { pid } = this.#child;
    if (pid === undefined) return false;
    try {
      return process.kill(HAS_GROUPS ? -pid : pid, signal);
    } catch {
      return false;
    }
  }
}

const HAS_GROUPS = process.platform !== "win32";

function read(stream: Readable | null, take: (chunk: Buffer) => void): void {
  stream?.on("data", take);
  stream?.on("error", () => {});
}

class FirstBytes {
  readonly #most: number;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** False if there are too many now. */
  add(chunk: Buffer): boolean {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#most) {
      this.#chunks = [];
      return false;
    }
    this.#chunks.push(chunk);
    return true;
  }

  take(): Buffer {
    return Buffer.concat(this.#chunks);
  }
}

class LastBytes {
  readonly #most: number;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  isCut = false;

  constructor(most: number) {
    this.#most = most;
  }

  add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    for (let [first] = this.#chunks; first !== undefined; [first] = this.#chunks) {
      if (this.#bytes - first.length < this.#most) return;
      this.#chunks.shift();
      this.#bytes -= first.length;
      this.isCut ||= first.length > 0;
    }
  }

  take(): Buffer {
    const all = Buffer.concat(this.#chunks);
    if (all.length <= this.#most) return all;
    this.isCut = true;
    return all.subarray(-this.#most);
  }
}
