/**
 * Runs on the host. Asking: puts one question to a server, over a connection that is there or is made.
 *
 * - A question is put again, once, if the connection was lost and the server has certainly not acted on it.
 */
import { SdkError, SdkErrorCode, SdkHttpError } from "@modelcontextprotocol/client";
import { bounded } from "../backend/bounded.ts";
import type { Pauses } from "../backend/pauses.ts";
import type { ConnectorError } from "../contract/connector-error.ts";
import type { Connection } from "./connection.ts";
import type { Asked, Failures } from "./failures.ts";
import type { Link } from "./link.ts";
import type { McpSettings } from "./options.ts";
import type { Questions } from "./questions/questions.ts";

export interface Question<T> extends Asked {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** The question changes nothing. */
  readonly isRead: boolean;
  readonly ask: (connection: Connection, signal: AbortSignal) => Promise<T>;
}

export interface AskingOptions {
  readonly settings: McpSettings;
  readonly link: Link;
  readonly failures: Failures;
  readonly pauses: Pauses;
  readonly questions: Questions;
}

export class Asking {
  readonly #options: AskingOptions;

  constructor(options: AskingOptions) {
    this.#options = options;
  }

  async ask<T>(question: Question<T>): Promise<T> {
    const { link } = this.#options;
    const connection = await link.open(question.signal);
    try {
      return await this.#once(connection, question);
    } catch (error) {
      const told = this.#told(error, question);
      if (!isLost(connection, error)) throw told;
      link.drop(connection);
      if ((!told.hasNoEffect && !question.isRead) || question.signal.aborted) throw told;
    }
    const again = await link.open(question.signal);
    return this.#once(again, question).catch((error: unknown) => {
      throw this.#told(error, question);
    });
  }

  #told(error: unknown, question: Asked): ConnectorError {
    // Its own end explains better what happened to the calls that were open.
    this.#options.link.throwIfEnded();
    return this.#options.failures.from(error, question);
  }

  #once<T>(connection: Connection, { what, timeoutMs, signal, ask }: Question<T>): Promise<T> {
    const { settings, pauses, questions } = this.#options;
    return questions.during(() =>
      bounded({ connector: settings.id, what, timeoutMs, signal, pauses }, (told) => {
        if (!connection.isOpen) throw new SdkError(SdkErrorCode.NotConnected, "The connection has ended");
        return ask(connection, told);
      }),
    );
  }
}

const ENDED: ReadonlySet<string> = new Set([SdkErrorCode.NotConnected, SdkErrorCode.ConnectionClosed]);

/** The connection is gone, or the server has forgotten its session. */
function isLost(connection: Connection, error: unknown): boolean {
  if (!connection.isOpen) return true;
  // A write may fail before anybody hears that the process has ended.
  if (error instanceof SdkError && ENDED.has(error.code)) return true;
  return (
    connection.hasSession && error instanceof SdkHttpError && (error.status === 404 || error.status === 400)
  );
}
