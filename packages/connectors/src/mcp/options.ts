/**
 * Runs on the host. Options of an MCP connector, made complete and checked.
 *
 * - What is wrong is said by the names of options. Their values may be secret.
 */
import { createHash } from "node:crypto";
import type { HiddenTexts } from "../backend/hidden-texts.ts";
import type { Card } from "../contract/connector.ts";
import { ConnectorError } from "../contract/connector-error.ts";
import type { SecretOptions } from "../secrets/door.ts";
import { type McpOAuthOptions, type OAuthSettings, resolveOAuth } from "./oauth/options.ts";
import type { ServerProcess } from "./process-transport.ts";
import {
  QUESTION_NAMES,
  type QuestionOptions,
  type QuestionSettings,
  resolveQuestions,
} from "./questions/options.ts";

interface McpCommonOptions extends SecretOptions, QuestionOptions {
  /** The name by which programs know the server. */
  readonly id: string;
  /** What a model reads of the server. Without it, it reads the id. */
  readonly card?: Partial<Card>;
  /** How long a call may take. 60 s unless said. */
  readonly timeoutMs?: number;
  /** How long the server may take until it is ready: to start, and to list what it offers. 30 s unless said. */
  readonly startTimeoutMs?: number;
  /** How long to wait before a process that ended is started again; doubled each time. 500 ms unless said. */
  readonly restartDelayMs?: number;
  /** The largest answer that is taken. 10 MB unless said. */
  readonly responseBytes?: number;
  /** For how long a list of the server is given again. 30 s unless said. */
  readonly listTtlMs?: number;
  /** Whether what the server says of its tools decides about repetition. False unless said. */
  readonly trusted?: boolean;
}

/** A server that is started as a process. */
export interface McpProcessOptions extends McpCommonOptions {
  readonly command: string;
  readonly args?: readonly string[];
  /** Beside these the process sees only where programs, the home folder and the like are. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** A server behind a URL: Streamable HTTP, or the older events where the server has only these. */
export interface McpUrlOptions extends McpCommonOptions {
  readonly url: string | URL;
  readonly headers?: Readonly<Record<string, string>>;
  /** How to log in, where the server wants that. */
  readonly oauth?: McpOAuthOptions;
}

export type McpOptions = McpProcessOptions | McpUrlOptions;

export type McpAddress =
  | { readonly kind: "process"; readonly server: ServerProcess }
  | {
      readonly kind: "url";
      readonly url: URL;
      readonly headers: Readonly<Record<string, string>>;
      readonly oauth: OAuthSettings | undefined;
    };

export interface McpSettings {
  readonly id: string;
  readonly card: Card;
  readonly address: McpAddress;
  readonly identity: string;
  readonly timeoutMs: number;
  readonly startTimeoutMs: number;
  readonly restartDelayMs: number;
  readonly responseBytes: number;
  readonly listTtlMs: number;
  readonly isTrusted: boolean;
  readonly questions: QuestionSettings;
}

const COMMON = [
  "id",
  "card",
  "timeoutMs",
  "startTimeoutMs",
  "restartDelayMs",
  "responseBytes",
  "listTtlMs",
  "trusted",
  ...QUESTION_NAMES,
];
const PROCESS = ["command", "args", "env", "cwd"];
const URL_NAMES = ["url", "headers", "oauth"];

/** The longest time that a timer can wait. */
const LONGEST_MS = 2_147_483_647;

export function resolveMcpOptions(options: McpOptions, hidden: HiddenTexts): McpSettings {
  const { id, card, trusted = false } = options;
  if (typeof id !== "string" || id === "")
    throw new ConnectorError("mcp", "CONFIG_INVALID", 'An MCP connector needs an "id", a text');
  const wrong = (what: string): never => {
    throw new ConnectorError(id, "CONFIG_INVALID", `Cannot use the MCP connector "${id}": ${what}`);
  };
  const isProcess = "command" in options;
  if (isProcess === "url" in options) wrong('it needs either "command" or "url"');
  const known = new Set([...COMMON, ...(isProcess ? PROCESS : URL_NAMES)]);
  const unknown = Object.keys(options).filter((name) => !known.has(name));
  if (unknown.length > 0) wrong(`nobody reads its options ${unknown.join(", ")}`);
  const number = (
    name: "timeoutMs" | "startTimeoutMs" | "restartDelayMs" | "responseBytes" | "listTtlMs",
    fallback: number,
    least: number,
  ): number => {
    const value = options[name] ?? fallback;
    if (typeof value === "number" && value >= least && value <= LONGEST_MS) return value;
    return wrong(`"${name}" has to be a number from ${least} to ${LONGEST_MS}`);
  };
  const address = isProcess ? processOf(options, wrong) : urlOf(options, wrong);
  return {
    id,
    card: { name: id, description: `The MCP server "${id}"`, ...card },
    address,
    identity: identityOf(address, hidden),
    timeoutMs: number("timeoutMs", 60_000, 1),
    startTimeoutMs: number("startTimeoutMs", 30_000, 1),
    restartDelayMs: number("restartDelayMs", 500, 0),
    responseBytes: number("responseBytes", 10_000_000, 1),
    listTtlMs: number("listTtlMs", 30_000, 0),
    isTrusted: trusted,
    questions: resolveQuestions(options, wrong),
  };
}

type Wrong = (what: string) => never;

function processOf({ command, args = [], env = {}, cwd }: McpProcessOptions, wrong: Wrong): McpAddress {
  if (typeof command !== "string" || command === "") wrong('"command" has to be the name of a program');
  if (!Array.isArray(args) || args.some((one) => typeof one !== "string"))
    wrong('"args" has to be a list of texts');
  for (const [name, value] of Object.entries(env))
    if (typeof value !== "string") wrong(`"env.${name}" has to be a text`);
  return { kind: "process", server: { command, args: [...args], env: { ...env }, cwd } };
}

function urlOf({ url, headers = {}, oauth }: McpUrlOptions, wrong: Wrong): McpAddress {
  const parsed = URL.parse(String(url)) ?? wrong('"url" has to be a URL');
  if (!/^https?:$/u.test(parsed.protocol)) wrong('"url" has to begin with http: or https:');
  if (parsed.username !== "" || parsed.password !== "")
    wrong('"url" has credentials: put them into "headers" as an "authorization"');
  for (const [name, value] of Object.entries(headers)) {
    try {
      new Headers().set(name, value);
    } catch {
      wrong(`"headers.${name}" is no header`);
    }
  }
  const settings = oauth === undefined ? undefined : resolveOAuth(oauth, { url: parsed, headers }, wrong);
  return { kind: "url", url: parsed, headers: { ...headers }, oauth: settings };
}

/** Credentials may change without another service being there: those in arguments and in a query do not count. */
function identityOf(address: McpAddress, hidden: HiddenTexts): string {
  const { parts } =
    address.kind === "process"
      ? { parts: [address.server.command, ...address.server.args, address.server.cwd ?? ""] }
      : { parts: [address.url.origin, address.url.pathname, address.url.search] };
  return `mcp:${createHash("sha256")
    .update(JSON.stringify(parts.map((part) => hidden.hide(part))))
    .digest("hex")
    .slice(0, 32)}`;
}
