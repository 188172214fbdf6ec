/**
 * Runs on the host. Link: keeps one connection to a server, for all who ask for it.
 *
 * - A process that did not start, or died, is started again, once for whoever asks and each time later than the time before.
 *   Until then whoever asks gets the same error, and no process is started.
 * - After its end it gives no connection.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { bounded } from "../backend/bounded.ts";
import type { Pauses } from "../backend/pauses.ts";
import type { ChangedList } from "../contract/connector.ts";
import type { ConnectorError } from "../contract/connector-error.ts";
import { type Connection, connect } from "./connection.ts";
import { type Failures, ProcessEndError } from "./failures.ts";
import type { OAuth } from "./oauth/oauth.ts";
import type { McpSettings } from "./options.ts";
import type { Logs } from "./questions/logs.ts";
import type { Questions } from "./questions/questions.ts";

export interface LinkOptions {
  readonly settings: McpSettings;
  readonly failures: Failures;
  readonly oauth: OAuth | undefined;
  readonly pauses: Pauses;
  readonly questions: Questions;
  readonly logs: Logs | undefined;
  readonly onNotice: (list: ChangedList) => void;
  /** The server is there again: it may be another version of itself. */
  readonly onReopen: () => void;
}

const LONGEST_DELAY_MS = 30_000;

/** The signal of whoever started the connecting: others may wait for it too. */
const ASKED = { what: "connecting", refused: "SERVER_UNAVAILABLE" } as const;

export class Link implements AsyncDisposable {
  readonly #options: LinkOptions;
  readonly #end = new AbortController();
  #connection: Connection | undefined;
  #connecting: Promise<Connection> | undefined;
  #wasOpen = false;
  #isOld = false;
  /** How often the process ended since it last answered a call. */
  #ends = 0;
  #refusal: { readonly error: ConnectorError; readonly until: number } | undefined;

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  async open(signal: AbortSignal): Promise<Connection> {
    this.throwIfEnded();
    if (this.#connection?.isOpen === true) return this.#connection;
    const { id, startTimeoutMs } = this.#options.settings;
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    const connecting = this.#connecting;
    return bounded(
      {
        connector: id,
        what: `connecting to "${id}"`,
        timeoutMs: startTimeoutMs,
        signal,
        lateCode: "SERVER_START_TIMEOUT",
        pauses: this.#options.pauses,
      },
      () => connecting,
    );
  }

  /** The server answered a call. */
  answered(): void {
    this.#ends = 0;
  }

  /** The connection is of no use any more. */
  drop(connection: Connection): void {
    if (this.#connection === connection) this.#connection = undefined;
    void connection.close();
  }

  throwIfEnded(): void {
    if (this.#end.signal.aborted) throw this.#ended();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort(new DOMException("The connector has ended", "AbortError"));
    this.#options.oauth?.end();
    const connection = this.#connection ?? (await this.#connecting?.catch(() => undefined));
    await connection?.close();
  }

  #ended(): ConnectorError {
    const { id } = this.#options.settings;
    return this.#options.failures.of("SERVER_UNAVAILABLE", `The connector "${id}" has ended`, {
      hasNoEffect: true,
    });
  }

  async #connect(): Promise<Connection> {
    if (this.#refusal !== undefined && performance.now() < this.#refusal.until) throw this.#refusal.error;
    this.#refusal = undefined;
    try {
      const connection = await this.#connectAgain();
      if (this.#wasOpen) this.#options.onReopen();
      this.#wasOpen = true;
      this.#connection = connection;
      return connection;
    } catch (error) {
      this.throwIfEnded();
      const told = this.#options.failures.from(error, ASKED);
      if (error instanceof ProcessEndError)
        this.#refusal = { error: told, until: performance.now() + this.#delayMs() };
      throw told;
    }
  }

  async #connectAgain(): Promise<Connection> {
    const isProcess = this.#options.settings.address.kind === "process";
    if (isProcess && this.#ends > 0) await this.#wait();
    try {
      return await this.#attempt(this.#isOld);
    } catch (error) {
      if (!(error instanceof ProcessEndError)) throw error;
      this.#ends++;
      await this.#wait();
      // Some servers end when they are asked in the newer protocol.
      return await this.#attempt(true).catch((again: unknown) => {
        this.#ends++;
        throw again;
      });
    }
  }

  async #attempt(isOld: boolean): Promise<Connection> {
    const { settings, oauth, pauses, questions, logs, onNotice } = this.#options;
    const { id, startTimeoutMs: timeoutMs } = settings;
    const { signal: end } = this.#end;
    const bound = { connector: id, what: `connecting to "${id}"`, timeoutMs, signal: end, pauses };
    const connection = await bounded({ ...bound, lateCode: "SERVER_START_TIMEOUT" }, (signal) =>
      connect({ settings, oauth, questions, logs, signal, isOld, onNotice, onEnd: () => this.#ends++ }),
    );
    if (this.#end.signal.aborted) await connection.close();
    this.throwIfEnded();
    this.#isOld = connection.isOld && settings.address.kind === "process";
    return connection;
  }

  #delayMs(): number {
    return Math.min(this.#options.settings.restartDelayMs * 2 ** (this.#ends - 1), LONGEST_DELAY_MS);
  }

  async #wait(): Promise<void> {
    await sleep(this.#delayMs(), undefined, { signal: this.#end.signal });
  }
}
