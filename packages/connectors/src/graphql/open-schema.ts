/**
 * Gets a schema from where it is, and begins the thread that has it. Runs on the host.
 *
 * - The schema is bounded in bytes before the thread sees it. It is never parsed here.
 */
import { createReadStream } from "node:fs";
import type { HiddenText } from "../backend/hidden-texts.ts";
import { ConnectorError, type ConnectorErrorCode } from "../contract/connector-error.ts";
import { INTROSPECTIONS } from "./introspection.ts";
import type { DescribeAnswer, DescribedSchema, DescribeQuestion } from "./schema/messages.ts";
import { NoAnswer, SchemaThread } from "./schema/schema-thread.ts";

/** The schema as a text, or a file that has it: in GraphQL's language, or as the JSON of an introspection. */
export type SchemaSource = { readonly sdl: string } | { readonly file: string | URL };

export interface SchemaPlace {
  /** The id of the connector. */
  readonly connector: string;
  /** Undefined: the backend is asked. */
  readonly source: SchemaSource | undefined;
  /** Texts that are not told, whatever the schema says. */
  readonly hidden: readonly HiddenText[];
  readonly schemaBytes: number;
  readonly question: DescribeQuestion;
  /** Asks the backend, and gives so many bytes of its answer at most. */
  readonly introspect: (query: string, most: number, signal: AbortSignal) => Promise<Uint8Array>;
}

export interface OpenedSchema {
  readonly thread: SchemaThread;
  readonly described: DescribedSchema;
}

export async function openSchema(place: SchemaPlace, signal: AbortSignal): Promise<OpenedSchema> {
  const { source, schemaBytes } = place;
  if (source === undefined) return askBackend(place, signal);
  const bytes = "sdl" in source ? Buffer.from(source.sdl) : await readFile(place, source.file, signal);
  if (bytes.length > schemaBytes)
    throw unusable(place, `its schema has more than ${schemaBytes} bytes, raise "schemaBytes"`);
  const { thread, answer } = await describe(place, bytes, signal);
  if (answer.kind === "described") return { thread, described: answer.described };
  throw unusable(place, answer.problem);
}

async function askBackend(place: SchemaPlace, signal: AbortSignal): Promise<OpenedSchema> {
  let problem = "";
  for (const query of INTROSPECTIONS) {
    let bytes: Uint8Array;
    try {
      bytes = await place.introspect(query, place.schemaBytes, signal);
    } catch (error) {
      // What says no to a question may say yes to a simpler one.
      if (!(error instanceof ConnectorError) || error.code !== "DOWNSTREAM_TOOL_ERROR") throw error;
      problem = error.message;
      continue;
    }
    const { thread, answer } = await describe(place, bytes, signal);
    if (answer.kind === "described") return { thread, described: answer.described };
    if (!answer.isRefused) throw unusable(place, answer.problem, { code: "DOWNSTREAM_PROTOCOL_ERROR" });
    ({ problem } = answer);
  }
  throw unusable(place, `${problem}; set "schema" to a text or a file that has it`);
}

async function describe(
  place: SchemaPlace,
  bytes: Uint8Array,
  signal: AbortSignal,
): Promise<{ readonly thread: SchemaThread; readonly answer: DescribeAnswer }> {
  const thread = new SchemaThread({ bytes, hidden: place.hidden });
  try {
    const answer = await thread.describe(place.question, signal);
    if (answer.kind !== "described") thread[Symbol.dispose]();
    return { thread, answer };
  } catch (cause) {
    thread[Symbol.dispose]();
    if (!(cause instanceof NoAnswer)) throw cause;
    throw unusable(place, "reading its schema took too much time or memory", { cause });
  }
}

async function readFile(place: SchemaPlace, file: string | URL, signal: AbortSignal): Promise<Buffer> {
  const chunks: Buffer[] = [];
  try {
    // One byte more tells that there are too many.
    for await (const chunk of createReadStream(file, { end: place.schemaBytes, signal }))
      chunks.push(chunk as Buffer);
  } catch (cause) {
    signal.throwIfAborted();
    throw unusable(place, "the file of its schema cannot be read", { cause });
  }
  return Buffer.concat(chunks);
}

function unusable(
  { connector }: SchemaPlace,
  problem: string,
  { code = "CONFIG_INVALID", cause }: { readonly code?: ConnectorErrorCode; readonly cause?: unknown } = {},
): ConnectorError {
  const message = `Cannot use connector "${connector}": ${problem}`;
  return new ConnectorError(connector, code, message, { cause, hasNoEffect: true });
}
