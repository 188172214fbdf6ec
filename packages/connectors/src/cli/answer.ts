/**
 * Runs on the host. Answer: what the end of a program means for the call that it served.
 *
 * - Nothing that a program prints is changed without a word. Secrets are taken out of its words before they are cut, and out
 *   of its output before that is parsed or split: nobody finds one that is in parts.
 */
import { stripVTControlCharacters } from "node:util";
import type { Json } from "codecell";
import { inTurns } from "../backend/hide-in-data.ts";
import { hidingInJson } from "../backend/hide-in-json.ts";
import { positionOf } from "../backend/parse-position.ts";
import type { Hidden, HiddenTexts } from "../backend/hidden-texts.ts";
import { type BackendOutput, Bytes } from "../contract/connector.ts";
import { ConnectorError } from "../contract/connector-error.ts";
import type { ResolvedCommand } from "./options.ts";
import type { ProcessEnd } from "./own-process.ts";

/** How much of what a program says of its failure is told, in the message and as data. */
const MESSAGE_CHARACTERS = 600;
const DETAILS_CHARACTERS = 4000;

/** How many bytes of the errors are needed, in the longest form of UTF-8. */
const ERROR_BYTES = DETAILS_CHARACTERS * 4;

/** What may be the rest of a hidden text that was cut is not told: so much more is needed. */
export function errorBytes(hidden: HiddenTexts): number {
  return ERROR_BYTES + hidden.longest * 4;
}

export async function toAnswer(
  connector: string,
  command: ResolvedCommand,
  end: ProcessEnd,
  { inData, inErrors }: Hidden,
): Promise<BackendOutput> {
  const { exitCode, output } = end;
  if (exitCode === null || !command.exitCodes.includes(exitCode))
    throw toFailure(connector, command, end, inErrors);
  const data = await dataOf(connector, command, output, inData);
  return { data, meta: { exitCode } };
}

async function dataOf(
  connector: string,
  command: ResolvedCommand,
  output: Buffer,
  hidden: HiddenTexts,
): Promise<unknown> {
  const { tool, mediaType } = command;
  if (command.output === "bytes") return new Bytes(output, mediaType === undefined ? {} : { mediaType });
  const broken = (problem: string, cause?: unknown): ConnectorError => {
    const message = `Cannot read what "${tool.name}" of "${connector}" printed: ${problem}`;
    return new ConnectorError(connector, "DOWNSTREAM_PROTOCOL_ERROR", message, { cause });
  };
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(output);
  } catch (error) {
    throw broken('it is not UTF-8, its command needs output: "bytes"', error);
  }
  switch (command.output) {
    case "text":
      return text;
    case "lines":
      return toLines(await inTurns(hidden.hiding(text)));
    case "json":
      try {
        return JSON.parse(await inTurns(hidingInJson(text, hidden))) as Json;
      } catch (error) {
        throw broken(`it is not JSON${positionOf(error)}`);
      }
    default:
      return command.output satisfies never;
  }
}

/** The end of the last line begins no other. */
function toLines(text: string): string[] {
  const lines = text.split("\n").map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function toFailure(
  connector: string,
  command: ResolvedCommand,
  end: ProcessEnd,
  hidden: HiddenTexts,
): ConnectorError {
  const { exitCode, signal } = end;
  const words = wordsOf(hidden, end);
  const how = exitCode === null ? `it was ended by ${signal ?? "a signal"}` : `exit code ${exitCode}`;
  const shown = words.length > MESSAGE_CHARACTERS ? `…${words.slice(-MESSAGE_CHARACTERS)}` : words;
  const message = `Tool "${command.tool.name}" of "${connector}" failed, ${how}${shown === "" ? "" : `: ${shown}`}`;
  const details: Json = { exitCode, ...(signal === null ? {} : { signal }), words };
  return new ConnectorError(connector, "DOWNSTREAM_TOOL_ERROR", message, { details });
}

/** The last of what a program says: of its errors or, if there are none, of its output. */
function wordsOf(hidden: HiddenTexts, { errors, areErrorsCut, output }: ProcessEnd): string {
  const words = lastWords(hidden, errors, areErrorsCut);
  const most = errorBytes(hidden);
  return words === "" ? lastWords(hidden, output.subarray(-most), output.length > most) : words;
}

function lastWords(hidden: HiddenTexts, bytes: Buffer, isCut: boolean): string {
  const text = stripVTControlCharacters(bytes.toString());
  // What is left of a character that was cut is none.
  const whole = isCut ? text.replace(/^\uFFFD{1,3}/u, "") : text;
  return hidden.hideCut(whole, { start: isCut }).trim().slice(-DETAILS_CHARACTERS).toWellFormed();
}
