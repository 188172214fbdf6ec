/**
 * Runs on the host. What a host offers to an MCP server: answers to its questions, and ears for what it logs.
 */
import type { Json, JsonSchema } from "codecell";

/** Nobody waits for the answer any more when `signal` is aborted. */
interface Question {
  /** The id of the connector whose server asks. */
  readonly connector: string;
  readonly signal: AbortSignal;
}

/** The server asks a person to fill in a form. */
export interface ElicitQuestion extends Question {
  readonly message: string;
  /** An object whose properties are texts, numbers, truth values, and choices of texts. */
  readonly requestedSchema: JsonSchema;
}

/** The server asks a person to open a page, such as one for a payment. */
export interface ElicitUrlQuestion extends Question {
  readonly message: string;
  readonly url: URL;
}

export type FormContent = Readonly<Record<string, string | number | boolean | readonly string[]>>;

/** What the person said. Properties that have a default may be left out. */
export type ElicitAnswer =
  | { readonly action: "accept"; readonly content?: FormContent }
  | { readonly action: "decline" | "cancel" };

export type SampleContent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image" | "audio"; readonly data: string; readonly mimeType: string };

/** The server asks a model of the host's. */
export interface SampleQuestion extends Question {
  readonly messages: readonly {
    readonly role: "user" | "assistant";
    readonly content: SampleContent | readonly SampleContent[];
  }[];
  readonly maxTokens: number;
  readonly systemPrompt?: string;
  readonly temperature?: number;
  readonly stopSequences?: readonly string[];
  /** What the server says of the model that it would like. */
  readonly modelPreferences?: Json;
}

export interface SampleAnswer {
  /** The name of the model that answered. */
  readonly model: string;
  readonly content: SampleContent;
  readonly stopReason?: string;
}

/** A folder or file in which the server may work. */
export interface Root {
  /** Begins with file: */
  readonly uri: string;
  readonly name?: string;
}

export const LOG_LEVELS = [
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency",
] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];

export interface ServerLog {
  /** The id of the connector whose server writes. */
  readonly connector: string;
  readonly level: LogLevel;
  readonly logger?: string;
  readonly data: Json;
  /** The connector itself says, once, that it leaves out what is too much. */
  readonly isNotice?: true;
}

export interface QuestionOptions {
  /** Answers forms that the server wants filled in. Absent: the server is told that nobody does. */
  readonly onElicit?: (question: ElicitQuestion) => Promise<ElicitAnswer>;
  /** Answers whether somebody opens a page. */
  readonly onElicitUrl?: (
    question: ElicitUrlQuestion,
  ) => Promise<{ readonly action: ElicitAnswer["action"] }>;
  /** Answers what the server asks a model. */
  readonly onSample?: (question: SampleQuestion) => Promise<SampleAnswer>;
  /** Where the server may work. Absent: it is told nothing of that. */
  readonly roots?: readonly Root[];
  /** How long an answer may take. 5 minutes unless said. */
  readonly questionTimeoutMs?: number;
  /** Hears what the server logs, at this level and above. */
  readonly onLog?: (log: ServerLog) => void;
  /** `info` unless said. */
  readonly logLevel?: LogLevel;
}

export interface QuestionSettings extends Pick<
  QuestionOptions,
  "onElicit" | "onElicitUrl" | "onSample" | "onLog"
> {
  readonly roots: readonly Root[] | undefined;
  readonly questionTimeoutMs: number;
  readonly logLevel: LogLevel;
}

export const QUESTION_NAMES: readonly string[] = [
  "onElicit",
  "onElicitUrl",
  "onSample",
  "roots",
  "questionTimeoutMs",
  "onLog",
  "logLevel",
];

const HANDLERS = ["onElicit", "onElicitUrl", "onSample", "onLog"] as const;
const FIVE_MINUTES_MS = 300_000;
const LONGEST_MS = 2_147_483_647;

export function resolveQuestions(options: QuestionOptions, wrong: (what: string) => never): QuestionSettings {
  for (const name of HANDLERS)
    if (options[name] !== undefined && typeof options[name] !== "function")
      wrong(`"${name}" has to be a function`);
  const { roots, questionTimeoutMs = FIVE_MINUTES_MS, logLevel = "info" } = options;
  if (roots !== undefined && (!Array.isArray(roots) || !roots.every(isRoot)))
    wrong('"roots" has to be a list of { uri, name? }, with uris that begin with file:');
  if (typeof questionTimeoutMs !== "number" || !(questionTimeoutMs >= 1 && questionTimeoutMs <= LONGEST_MS))
    wrong(`"questionTimeoutMs" has to be a number from 1 to ${LONGEST_MS}`);
  if (!LOG_LEVELS.includes(logLevel)) wrong(`"logLevel" has to be one of ${LOG_LEVELS.join(", ")}`);
  return {
    ...Object.fromEntries(
      HANDLERS.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]])),
    ),
    roots: roots?.map(({ uri, name }) => (name === undefined ? { uri } : { uri, name })),
    questionTimeoutMs,
    logLevel,
  };
}

function isRoot(root: unknown): boolean {
  const { uri, name } = (root ?? {}) as Partial<Record<keyof Root, unknown>>;
  if (typeof uri !== "string" || URL.parse(uri)?.protocol !== "file:") return false;
  return name === undefined || typeof name === "string";
}
