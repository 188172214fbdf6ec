/**
 * Runs on the host. The connector to a command line: each tool is a program with arguments, written down by hand.
 *
 * - No shell reads anything. A call is one process, which ends with the call, with all that it has started.
 * - Nothing is kept between calls: the connector is ready as long as its programs are there.
 */
import { createHash } from "node:crypto";
import { bounded } from "../backend/bounded.ts";
import {
  type BackendOutput,
  type BackendRequest,
  type BackendTool,
  Bytes,
  type Card,
  type Connector,
  type Facts,
  type Readiness,
  type ToolRequest,
} from "../contract/connector.ts";
import { ConnectorError, noSuchTool } from "../contract/connector-error.ts";
import type { Hidden } from "../backend/hidden-texts.ts";
import { type PlainSecrets, throughDoor } from "../secrets/door.ts";
import { secretsOfArguments } from "../secrets/secrets-of.ts";
import { errorBytes, toAnswer } from "./answer.ts";
import { fillArguments } from "./arguments.ts";
import { secretsOfVariables } from "./environment.ts";
import {
  type CliCommand,
  type CliOptions,
  type ResolvedCli,
  type ResolvedCommand,
  resolveCli,
} from "./options.ts";
import { OutputTooLarge, OwnProcess } from "./own-process.ts";
import { Places } from "./places.ts";
import { lackOf } from "./programs.ts";

/** Throws a `ConnectorError` with the code `CONFIG_INVALID` when the options do not fit together. */
export function cli(options: CliOptions): Connector {
  const below = ["", "commands.*."];
  const texts = below.flatMap((place) => ["env.*", "secretEnv.*"].map((name) => place + name));
  return throughDoor(options, {
    kind: "cli",
    // A shell or a program of its own may read arguments.
    places: { texts, urls: [], templates: ["commands.*.args.*"] },
    plainSecrets,
    make: (resolved, hidden) => new CliConnector(resolveCli(resolved), hidden),
  });
}

function plainSecrets({ env, secretEnv, commands }: CliOptions): PlainSecrets {
  const all = [secretsOfVariables(secretEnv, env)];
  for (const command of Array.isArray(commands) ? (commands as Partial<CliCommand>[]) : [])
    all.push(secretsOfVariables(command.secretEnv, command.env), {
      certain: secretsOfArguments(command.args),
    });
  return {
    certain: all.flatMap(({ certain }) => certain),
    likely: all.flatMap(({ likely = [] }) => likely),
  };
}

class CliConnector implements Connector {
  readonly id: string;
  readonly kind = "cli";
  readonly card: Card;
  readonly facts: Facts;
  readonly identity: string;
  /** The operator has written down every tool. */
  readonly isTrusted = true;
  readonly #setup: ResolvedCli;
  readonly #hidden: Hidden;
  readonly #places: Places;
  readonly #running = new Set<OwnProcess>();
  readonly #ended = new AbortController();

  constructor(setup: ResolvedCli, hidden: Hidden) {
    this.#hidden = hidden;
    const { id, card, commands, timeoutMs, responseBytes } = setup;
    this.id = id;
    this.card = card;
    this.facts = { commands: commands.size, timeoutMs, responseBytes };
    const programs = [...commands].map(([name, { program, args, cwd }]) => [name, program, args, cwd]);
    this.identity = createHash("sha256")
      .update(hidden.inData.hide(JSON.stringify([id, programs])))
      .digest("hex");
    this.#setup = setup;
    this.#places = new Places(setup.processes);
  }

  async tools({ signal }: BackendRequest): Promise<readonly BackendTool[]> {
    this.#assertOpen("listing the tools", signal);
    return [...this.#setup.commands.values()].map(({ tool }) => tool);
  }

  async check({ signal }: BackendRequest): Promise<Readiness> {
    const { id } = this;
    const { commands, timeoutMs } = this.#setup;
    this.#assertOpen("the check", signal);
    return bounded({ connector: id, what: "the check", timeoutMs, signal }, async () => {
      const lacks = await Promise.all([...commands.values()].map(lackOf));
      const names = [...commands.keys()].filter((_, at) => lacks[at] !== undefined);
      if (names.length === 0) return { tools: commands.size };
      const message = `"${id}" is not ready: ${names.map((name) => `"${name}"`).join(", ")} cannot run, ${CURE}`;
      throw new ConnectorError(id, "SERVER_UNAVAILABLE", message, { hasNoEffect: true });
    });
  }

  async callTool(
    name: string,
    input: Readonly<Record<string, unknown>>,
    { signal }: ToolRequest,
  ): Promise<BackendOutput> {
    const { id } = this;
    const what = `calling "${name}"`;
    this.#assertOpen(what, signal);
    const command = this.#setup.commands.get(name);
    if (command === undefined) throw noSuchTool(id, name);
    const args = fillArguments(command.args, input, (problem) => {
      const message = `Cannot call "${name}" of "${id}": ${problem}`;
      throw new ConnectorError(id, "REQUEST_INVALID", message, { hasNoEffect: true });
    });
    const stdin = stdinOf(command, input);
    const leave = await this.#enter(what, signal);
    let own: OwnProcess | undefined;
    try {
      const { timeoutMs } = command;
      this.#assertOpen(what, signal);
      return await bounded({ connector: id, what, timeoutMs, signal }, (given) => {
        own = this.#start(command, args, stdin);
        return this.#answerOf(own, command, given);
      });
    } finally {
      // A program that was told to end still takes its place.
      void (own?.gone ?? Promise.resolve()).then(leave);
    }
  }

  onChange(): () => void {
    return () => {};
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort();
    const running = [...this.#running];
    for (const own of running) own.stop(this.#endedError("calling a tool"));
    await Promise.all(running.map(({ gone }) => gone));
  }

  /** After the connector's end it gives the places of what was running, to calls that are refused then. */
  async #enter(what: string, signal: AbortSignal): Promise<() => void> {
    try {
      return await this.#places.enter(signal);
    } catch (error) {
      this.#assertOpen(what, signal);
      throw error;
    }
  }

  #start(
    command: ResolvedCommand,
    args: readonly string[],
    stdin: string | Uint8Array | undefined,
  ): OwnProcess {
    const { program, cwd, env, responseBytes } = command;
    try {
      const own = new OwnProcess({
        program,
        args,
        cwd,
        env,
        stdin,
        outputBytes: responseBytes,
        errorBytes: errorBytes(this.#hidden.inErrors),
        killAfterMs: this.#setup.killAfterMs,
      });
      this.#running.add(own);
      void own.gone.then(() => this.#running.delete(own));
      return own;
    } catch (error) {
      throw this.#toError(command, error);
    }
  }

  async #answerOf(own: OwnProcess, command: ResolvedCommand, signal: AbortSignal): Promise<BackendOutput> {
    const stop = (): void => own.stop(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    try {
      return await toAnswer(this.id, command, await own.ended, this.#hidden);
    } catch (error) {
      throw this.#toError(command, error);
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  #toError({ tool, responseBytes }: ResolvedCommand, error: unknown): ConnectorError {
    const { id } = this;
    if (error instanceof ConnectorError) return error;
    const call = `"${tool.name}" of "${id}"`;
    if (error instanceof OutputTooLarge) {
      const message = `Stopped calling ${call}: it printed more than ${responseBytes} bytes, ask for less`;
      return new ConnectorError(id, "RESPONSE_TOO_LARGE", message);
    }
    const options = { cause: error, hasNoEffect: true };
    if ((error as NodeJS.ErrnoException).code === "E2BIG") {
      const message = `Cannot call ${call}: its input is too large for a program, give less`;
      return new ConnectorError(id, "REQUEST_INVALID", message, options);
    }
    const message = `Cannot call ${call}: its program could not be started, ${CURE}`;
    return new ConnectorError(id, "SERVER_UNAVAILABLE", message, options);
  }

  #assertOpen(what: string, signal: AbortSignal): void {
    if (this.#ended.signal.aborted) throw this.#endedError(what);
    if (!signal.aborted) return;
    const message = `Stopped ${what}: nobody waits for it any more`;
    throw new ConnectorError(this.id, "CALL_ABORTED", message, { cause: signal.reason, hasNoEffect: true });
  }

  #endedError(what: string): ConnectorError {
    return new ConnectorError(this.id, "SERVER_UNAVAILABLE", `Stopped ${what}: "${this.id}" was ended`);
  }
}

/** For whoever configured the connector: a program that it serves does not learn which programs there are. */
const CURE = "see whether its program and its cwd are there, and correct the connector's commands";

function stdinOf(
  { stdin }: ResolvedCommand,
  input: Readonly<Record<string, unknown>>,
): string | Uint8Array | undefined {
  if (stdin === undefined) return undefined;
  const value = Object.hasOwn(input, stdin) ? input[stdin] : undefined;
  if (value === undefined || typeof value === "string") return value ?? "";
  return value instanceof Bytes ? value.bytes : JSON.stringify(value);
}
