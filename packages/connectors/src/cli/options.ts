/**
 * Runs on the host. The options of a connector to a command line, as an operator writes them, and made complete.
 *
 * - A mistake is refused when the connector is made: a misread option would make a command weaker than it looks.
 */
import { resolve } from "node:path";
import type { JsonSchema } from "codecell";
import type { BackendTool, Card } from "../contract/connector.ts";
import { ConnectorError } from "../contract/connector-error.ts";
import { argumentProblem, type CliArgument } from "./arguments.ts";
import type { SecretOptions } from "../secrets/door.ts";
import { toEnvironment, type Variables, variablesProblem } from "./environment.ts";

/** What all commands of a connector may have, and each for itself. */
export interface CliDefaults {
  /** Where the programs run; default is where this process runs when the connector is made. */
  readonly cwd?: string;
  /** Variables of the programs' environment, beside PATH, HOME and a few like them. */
  readonly env?: Variables;
  /** Variables that nobody may see: their values are replaced in all that the programs print. */
  readonly secretEnv?: Variables;
  /** How long a program may take; default 60,000. */
  readonly timeoutMs?: number;
  /** Most bytes that a program may print; default 1,000,000. */
  readonly responseBytes?: number;
}

export interface CliOptions extends CliDefaults, SecretOptions {
  /** The name by which programs know the connector. */
  readonly id: string;
  /** What a model reads of the connector. Without it, it reads the id and the names of the commands. */
  readonly card?: Partial<Card>;
  readonly commands: readonly CliCommand[];
  /** How long a program may take to end after it was told to, before it is killed; default 2000. */
  readonly killAfterMs?: number;
  /** Most programs that run at the same time; further calls wait. Default 16. */
  readonly processes?: number;
}

/** What a program prints: text, JSON, a list of lines, or bytes. */
export type CliOutput = "text" | "json" | "lines" | "bytes";

/** A tool that is a program with arguments. Its hints are the operator's own, so they are trusted. */
export interface CliCommand extends BackendTool, CliDefaults {
  /** A name that is looked up in PATH, or a path. It is never read by a shell. */
  readonly program: string;
  readonly args?: readonly CliArgument[];
  /** The property of the input that the program reads from its standard input: a text as it is, other values as JSON. */
  readonly stdin?: string;
  /** Default "text". */
  readonly output?: CliOutput;
  /** The media type of bytes. */
  readonly mediaType?: string;
  /** Exit codes that are no failure; default 0 alone. */
  readonly exitCodes?: readonly number[];
}

export interface ResolvedCommand {
  readonly tool: BackendTool;
  readonly program: string;
  readonly args: readonly CliArgument[];
  readonly stdin: string | undefined;
  readonly output: CliOutput;
  readonly mediaType: string | undefined;
  readonly exitCodes: readonly number[];
  readonly cwd: string;
  readonly env: Variables;
  readonly timeoutMs: number;
  readonly responseBytes: number;
}

export interface ResolvedCli {
  readonly id: string;
  readonly card: Card;
  readonly commands: ReadonlyMap<string, ResolvedCommand>;
  readonly timeoutMs: number;
  readonly responseBytes: number;
  readonly killAfterMs: number;
  readonly processes: number;
}

const TIMEOUT_MS = 60_000;
const RESPONSE_BYTES = 1_000_000;
const KILL_AFTER_MS = 2000;
const PROCESSES = 16;
/** The longest time of a timer. */
const MOST_MS = 2 ** 31 - 1;

export function resolveCli(options: CliOptions): ResolvedCli {
  const id: unknown = options.id;
  if (typeof id !== "string" || id === "") throw new TypeError("Cannot make a connector: it needs an id");
  const refuse = (problem: string): never => {
    throw new ConnectorError(id, "CONFIG_INVALID", `Cannot make connector "${id}": ${problem}`);
  };
  assertKnown(options, OPTION_KEYS, "it", refuse);
  const { commands, killAfterMs = KILL_AFTER_MS, processes = PROCESSES } = options;
  if (!Array.isArray(commands) || commands.length === 0) refuse("it needs a list of commands");
  assertDefaults(options, "it", refuse);
  assertCount(killAfterMs, "killAfterMs", "it", refuse);
  assertCount(processes, "processes", "it", refuse);
  const resolved = new Map<string, ResolvedCommand>();
  for (const command of commands) {
    const { name } = command;
    if (typeof name !== "string" || name === "") refuse("each command needs a name");
    if (resolved.has(name)) refuse(`two commands have the name "${name}", rename one`);
    resolved.set(
      name,
      resolveCommand(command, options, (problem) => refuse(`command "${name}" ${problem}`)),
    );
  }
  const description = `Runs ${[...resolved.keys()].join(", ")}`;
  const card = { name: id, description, ...options.card };
  if (typeof card.name !== "string" || typeof card.description !== "string")
    refuse("its card has a name or a description that is no text");
  const { timeoutMs = TIMEOUT_MS, responseBytes = RESPONSE_BYTES } = options;
  return { id, card, commands: resolved, timeoutMs, responseBytes, killAfterMs, processes };
}

type Refuse = (problem: string) => never;

function resolveCommand(command: CliCommand, defaults: CliDefaults, refuse: Refuse): ResolvedCommand {
  assertKnown(command, COMMAND_KEYS, "", refuse);
  assertDefaults(command, "", refuse);
  const { name, program, args = [], stdin, output = "text", mediaType, exitCodes = [0] } = command;
  if (typeof program !== "string" || program === "" || program.includes("\0")) refuse("needs a program");
  if (!Array.isArray(args)) refuse("needs its arguments as a list, one text for each");
  if (!OUTPUTS.includes(output)) refuse(`has the output "${output}", it may be ${OUTPUTS.join(", ")}`);
  if (!Array.isArray(exitCodes) || !exitCodes.every((code) => Number.isInteger(code)))
    refuse("needs its exitCodes as a list of integers");
  const inputSchema = toInputSchema(command.inputSchema, refuse);
  const { properties } = inputSchema;
  for (const [at, argument] of args.entries()) {
    const problem = argumentProblem(argument, properties);
    if (problem !== undefined) refuse(`has an argument, number ${at + 1}, that ${problem}`);
  }
  if (stdin !== undefined && !Object.hasOwn(properties, stdin))
    refuse(`has the stdin "${stdin}", which inputSchema.properties does not have`);
  const used = new Set([stdin, ...args.map((one) => (typeof one === "string" ? undefined : one.input))]);
  const unused = Object.keys(properties).find((property) => !used.has(property));
  if (unused !== undefined)
    refuse(`takes the input "${unused}" and does nothing with it, put it in args or stdin`);
  const plain = { ...defaults.env, ...command.env };
  const secrets = { ...defaults.secretEnv, ...command.secretEnv };
  const outputSchema = command.outputSchema ?? SCHEMAS[output];
  const tool: Record<string, unknown> = { name, inputSchema };
  if (outputSchema !== undefined) tool["outputSchema"] = outputSchema;
  for (const key of TOOL_KEYS) if (command[key] !== undefined) tool[key] ??= command[key];
  return {
    tool: freeze(structuredClone(tool)) as BackendTool,
    program,
    args: structuredClone(args) as readonly CliArgument[],
    stdin,
    output,
    mediaType,
    exitCodes: [...exitCodes],
    cwd: resolve(command.cwd ?? defaults.cwd ?? process.cwd()),
    env: toEnvironment(plain, secrets),
    timeoutMs: command.timeoutMs ?? defaults.timeoutMs ?? TIMEOUT_MS,
    responseBytes: command.responseBytes ?? defaults.responseBytes ?? RESPONSE_BYTES,
  };
}

/** What a program gives if its command does not say more. */
const SCHEMAS: Readonly<Record<CliOutput, JsonSchema | undefined>> = {
  text: { type: "string" },
  lines: { type: "array", items: { type: "string" } },
  json: undefined,
  bytes: undefined,
};

const OUTPUTS = Object.keys(SCHEMAS) as CliOutput[];

type InputSchema = Readonly<Record<string, unknown>> & {
  readonly properties: Readonly<Record<string, unknown>>;
};

/** A property that no argument takes would be lost without a word, so there can be no others. */
function toInputSchema(schema: JsonSchema | undefined, refuse: Refuse): InputSchema {
  if (schema === undefined) return { type: "object", properties: {}, additionalProperties: false };
  if (typeof schema !== "object" || schema === null || schema["type"] !== "object")
    return refuse('needs an inputSchema of an object, { type: "object", properties: { … } }');
  const { properties = {} } = schema;
  if (typeof properties !== "object" || properties === null || Array.isArray(properties))
    return refuse("has an inputSchema whose properties are no object");
  return { ...schema, properties: properties as InputSchema["properties"], additionalProperties: false };
}

const DEFAULT_KEYS = ["cwd", "env", "secretEnv", "timeoutMs", "responseBytes"] as const;
const OPTION_KEYS: readonly string[] = [
  ...DEFAULT_KEYS,
  "id",
  "card",
  "commands",
  "killAfterMs",
  "processes",
];
const TOOL_KEYS = [
  "name",
  "title",
  "description",
  "inputSchema",
  "outputSchema",
  "useWhen",
  "avoidWhen",
  "tags",
  "readOnlyHint",
  "destructiveHint",
  "idempotentHint",
] as const;
const COMMAND_KEYS: readonly string[] = [
  ...DEFAULT_KEYS,
  ...TOOL_KEYS,
  "program",
  "args",
  "stdin",
  "output",
  "mediaType",
  "exitCodes",
];

function assertKnown(given: object, known: readonly string[], whose: string, refuse: Refuse): void {
  const unknown = Object.keys(given).find((key) => !known.includes(key));
  if (unknown !== undefined) refuse(`${whose} has "${unknown}", it may have ${known.join(", ")}`.trim());
}

function assertDefaults(given: CliDefaults, whose: string, refuse: Refuse): void {
  const { cwd, env = {}, secretEnv = {}, timeoutMs = 1, responseBytes = 1 } = given;
  if (cwd !== undefined && (typeof cwd !== "string" || cwd === ""))
    refuse(`${whose} has a cwd that is no path`.trim());
  for (const [key, variables] of Object.entries({ env, secretEnv })) {
    const problem = variablesProblem(variables);
    if (problem !== undefined) refuse(`${whose} has an ${key} that ${problem}`.trim());
  }
  assertCount(timeoutMs, "timeoutMs", whose, refuse);
  assertCount(responseBytes, "responseBytes", whose, refuse);
}

function assertCount(value: number, key: string, whose: string, refuse: Refuse): void {
  if (!Number.isInteger(value) || value < 1 || value > MOST_MS)
    refuse(`${whose} has a ${key} that is ${String(value)}, expected a positive integer`.trim());
}

/** Whoever reads the tools cannot change them. */
function freeze(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  for (const inner of Object.values(value)) freeze(inner);
  return Object.freeze(value);
}
