/**
 * Runs on the host. Arguments: makes the argument array of a program from the input of a tool.
 *
 * - A placeholder makes whole arguments. No shell reads them, and no text is split.
 * - A value cannot become an option, unless its placeholder says that it may begin with a hyphen.
 * - An argument reaches the program as it is: it is well-formed, has no NUL, and its size is bounded.
 */

/** A text is an argument as it is. The other kinds take their value from the input, and give nothing if it has none. */
export type CliArgument = string | CliValue | CliFlag;

export interface CliValue {
  /** The property of the input that has the value. Each item of a list becomes an argument. */
  readonly input: string;
  /** Put before each value, in the same argument: `--format=`. */
  readonly prefix?: string;
  /** Put before each value, as an argument of its own: `--format`. */
  readonly option?: string;
  /**
   * Default: a value that begins with a hyphen is refused. Set this only where the program reads no options: behind
   * `--`, or where an option takes whatever comes next.
   */
  readonly mayBeginWithHyphen?: boolean;
}

export interface CliFlag {
  /** The property of the input that is true or false. */
  readonly input: string;
  /** The argument that stands for true: `--verbose`. */
  readonly flag: string;
}

/** Linux takes 128 KiB in one argument. */
const MOST_BYTES = 64 * 1024;
/** macOS takes 1 MiB in all arguments and the environment together. */
const MOST_BYTES_TOGETHER = 256 * 1024;

/** `refuse` throws an error that ends with the problem. */
export function fillArguments(
  template: readonly CliArgument[],
  input: Readonly<Record<string, unknown>>,
  refuse: (problem: string) => never,
): string[] {
  const filled: string[] = [];
  let left = MOST_BYTES_TOGETHER;
  const add = (argument: string, name: string): void => {
    const problem = textProblem(argument);
    if (problem !== undefined) refuse(`"${name}" ${problem}`);
    const bytes = Buffer.byteLength(argument);
    left -= bytes;
    if (bytes > MOST_BYTES) refuse(`"${name}" has ${bytes} bytes, an argument may have ${MOST_BYTES}`);
    if (left < 0) refuse(`all arguments have more than ${MOST_BYTES_TOGETHER} bytes, give less`);
    filled.push(argument);
  };
  for (const one of template) {
    if (typeof one === "string") {
      filled.push(one);
      continue;
    }
    const value = Object.hasOwn(input, one.input) ? input[one.input] : undefined;
    if (value === undefined || value === null) continue;
    if ("flag" in one) {
      if (typeof value !== "boolean") refuse(`"${one.input}" must be true or false`);
      if (value) filled.push(one.flag);
      continue;
    }
    for (const item of Array.isArray(value) ? (value as unknown[]) : [value]) {
      const text = toText(item) ?? refuse(`"${one.input}" must be a text, a number, true or false`);
      if (one.option !== undefined) add(one.option, one.input);
      const argument = `${one.prefix ?? ""}${text}`;
      if (one.prefix === undefined && argument.startsWith("-") && one.mayBeginWithHyphen !== true)
        refuse(`"${one.input}" begins with a hyphen, give a value that does not`);
      add(argument, one.input);
    }
  }
  return filled;
}

/** What is wrong with an argument of a command; undefined if nothing is. */
export function argumentProblem(
  argument: unknown,
  properties: Readonly<Record<string, unknown>>,
): string | undefined {
  if (typeof argument === "string") return textProblem(argument);
  if (typeof argument !== "object" || argument === null) return "is neither a text nor a placeholder";
  const given = argument as Readonly<Record<string, unknown>>;
  const { input, flag, prefix, option, mayBeginWithHyphen } = given;
  if (typeof input !== "string") return 'names no property of the input, give { input: "…" }';
  if (!Object.hasOwn(properties, input))
    return `takes "${input}", which inputSchema.properties does not have`;
  const known = "flag" in given ? FLAG_KEYS : VALUE_KEYS;
  const unknown = Object.keys(given).find((key) => !known.includes(key));
  if (unknown !== undefined) return `has "${unknown}", it may have ${known.join(", ")}`;
  if (mayBeginWithHyphen !== undefined && typeof mayBeginWithHyphen !== "boolean")
    return "has a mayBeginWithHyphen that is neither true nor false";
  for (const [key, text] of Object.entries({ flag, prefix, option })) {
    if (text === undefined) continue;
    if (typeof text !== "string" || text === "") return `has a ${key} that is no text`;
    const problem = textProblem(text);
    if (problem !== undefined) return `has a ${key} that ${problem}`;
  }
  if (prefix !== undefined && option !== undefined) return "has a prefix and an option, give one of them";
  if (typeof prefix === "string" && mayBeginWithHyphen !== true && isOpenPrefix(prefix))
    return `lets the input choose an option, as its prefix is "${prefix}", write all of the option: --name=`;
  return undefined;
}

const VALUE_KEYS: readonly string[] = ["input", "prefix", "option", "mayBeginWithHyphen"];
const FLAG_KEYS: readonly string[] = ["input", "flag"];

/** Whether a value behind the prefix would be a part of the option's name. */
function isOpenPrefix(prefix: string): boolean {
  return prefix === "-" || (prefix.startsWith("--") && !prefix.includes("="));
}

function toText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "boolean" || Number.isFinite(value)) return String(value);
  return undefined;
}

function textProblem(text: string): string | undefined {
  if (text.includes("\0")) return "has a NUL, which no argument can have";
  return text.isWellFormed() ? undefined : "has half of a surrogate pair, which no argument can have";
}
