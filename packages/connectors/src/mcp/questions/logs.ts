/**
 * Runs on the host. Logs: what an MCP server logs, as the host hears it.
 *
 * - It is bounded in rate and size. That some was left out is said once.
 * - It has no secret of the connector. What the listener throws is its own concern.
 */
import type { Client, LoggingMessageNotification } from "@modelcontextprotocol/client";
import type { Json } from "codecell";
import { hideAtOnce } from "../../backend/hide-in-data.ts";
import type { HiddenTexts } from "../../backend/hidden-texts.ts";
import { LOG_LEVELS, type LogLevel, type ServerLog } from "./options.ts";

export interface LogsOptions {
  readonly id: string;
  readonly onLog: (log: ServerLog) => void;
  readonly level: LogLevel;
  readonly hidden: HiddenTexts;
}

const MOST_IN_A_SECOND = 100;
const SECOND_MS = 1000;
const MOST_CHARACTERS = 10_000;
const LONGEST_LOGGER = 200;

export class Logs {
  readonly #options: LogsOptions;
  #since = Number.NEGATIVE_INFINITY;
  #heard = 0;
  #isToldOfLoss = false;

  constructor(options: LogsOptions) {
    this.#options = options;
  }

  get level(): LogLevel {
    return this.#options.level;
  }

  attach(client: Client): void {
    client.setNotificationHandler("notifications/message", ({ params }) => this.hear(params));
  }

  hear({ level, logger, data }: LoggingMessageNotification["params"]): void {
    const { id, hidden, level: least } = this.#options;
    if (LOG_LEVELS.indexOf(level) < LOG_LEVELS.indexOf(least)) return;
    const start = performance.now();
    if (start - this.#since >= SECOND_MS) {
      this.#since = start;
      this.#heard = 0;
    }
    this.#heard++;
    if (this.#heard > MOST_IN_A_SECOND) {
      this.#tellOfLoss();
      return;
    }
    this.#tell({
      connector: id,
      level,
      ...(logger !== undefined && { logger: cut(logger, LONGEST_LOGGER, hidden) }),
      data: this.#shown(data),
    });
  }

  #shown(data: unknown): Json {
    const { hidden } = this.#options;
    const text = JSON.stringify(data) ?? "null";
    if (text.length <= MOST_CHARACTERS) return hideAtOnce(data as Json, hidden);
    return cut(typeof data === "string" ? data : text, MOST_CHARACTERS, hidden);
  }

  #tellOfLoss(): void {
    if (this.#isToldOfLoss) return;
    this.#isToldOfLoss = true;
    const { id } = this.#options;
    const data = `"${id}" logs more than ${MOST_IN_A_SECOND} messages in a second: the others are left out`;
    this.#tell({ connector: id, level: "warning", data, isNotice: true });
  }

  #tell(log: ServerLog): void {
    try {
      this.#options.onLog(log);
    } catch {
      // A listener that fails must not fail the server's calls.
    }
  }
}

/** Cut with care: a part of a hidden text is hidden too. */
function cut(text: string, length: number, hidden: HiddenTexts): string {
  if (text.length <= length) return hidden.hide(text);
  return `${hidden.hideCut(text.slice(0, length), { end: true }).toWellFormed()}…`;
}
