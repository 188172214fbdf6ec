/**
 * Runs on the host. ConnectedTools: the tools of one connector, as programs find, describe and call them by handles.
 *
 * - The connector says which tools there are, each time somebody asks: it keeps its list for a while, and hears of changes.
 * - A tool is found by its id at once, before anybody knows whether the backend has it. A call of it then learns that.
 * - The policy decides which tools there are. A tool that it denies is unknown under every name.
 */
import { setImmediate } from "node:timers/promises";
import type { AnyTool, CallContext, ToolSet } from "codecell";
import type { Catalog } from "codecell/catalog";
import {
  CallRefusal,
  closestNames,
  fromToolId,
  type ToolRule,
  toToolId,
  VALIDATE,
  withCallDetails,
  withOwnMiddleware,
} from "codecell/kit";
import type { Artifacts } from "../artifacts/artifacts.ts";
import type { BackendTool, Connector } from "../contract/connector.ts";
import { ConnectorError } from "../contract/connector-error.ts";
import { repetitionOf, toBackendTool } from "../tools/backend-tool.ts";
import { readLater } from "../tools/read-later.ts";
import { mending } from "../tools/repair.ts";
import { LONGEST_TOOL_NAME, problemOf } from "../tools/sound-tool.ts";
import { forProgram, toConnectorError } from "../tools/unexpected.ts";
import { cut } from "../tools/values.ts";

export interface KnownTool {
  readonly id: string;
  readonly told: BackendTool;
  readonly tool: AnyTool;
  /** Why nobody can call it, whoever lists it. */
  readonly problem: ConnectorError | undefined;
}

interface KnownTools {
  readonly byId: ReadonlyMap<string, KnownTool>;
  /** Made when somebody searches or asks for a description. */
  readonly catalog: () => Catalog;
}

/** A program may call by as many names as it likes. */
const MOST_LATE = 1000;
const MOST_COMPARED = 2000;
/** Some milliseconds. */
const TOOLS_PER_TURN = 1000;

export class ConnectedTools {
  /** The beginning of the ids of all tools of the connector. */
  readonly prefix: string;
  readonly #connector: Connector;
  readonly #artifacts: Artifacts;
  readonly #shared: Catalog;
  readonly #isAllowed: ToolRule;
  /** The name of the type of results. */
  readonly #result: string;
  readonly #late = new Map<string, AnyTool>();
  #listed: readonly BackendTool[] | undefined;
  #known: KnownTools | undefined;

  /** `shared` is an empty catalog: what is learnt of outputs belongs to all that are made from it. */
  constructor(setup: {
    readonly connector: Connector;
    readonly artifacts: Artifacts;
    readonly shared: Catalog;
    readonly isAllowed: ToolRule;
    readonly result: string;
  }) {
    const { kind, id } = setup.connector;
    this.#connector = setup.connector;
    this.#artifacts = setup.artifacts;
    this.#shared = setup.shared;
    this.#isAllowed = setup.isAllowed;
    this.#result = setup.result;
    this.prefix = toToolId(kind, id, "x").slice(0, -1);
  }

  /** The id that a tool of this name has. */
  idOf(name: string): string {
    return toToolId(this.#connector.kind, this.#connector.id, name);
  }

  /** Rejects with a `ConnectorError` if the backend cannot say which tools it has. */
  async known(signal: AbortSignal): Promise<KnownTools> {
    const { id } = this.#connector;
    const before = this.#listed;
    try {
      const listed = await this.#connector.tools({ signal });
      if (this.#known === undefined || !isSameList(listed, before)) {
        const known = await this.#toKnown(listed);
        // Whoever was faster may have a newer list.
        if (this.#listed === before) [this.#listed, this.#known] = [listed, known];
        return known;
      }
      return this.#known;
    } catch (error) {
      throw toConnectorError(id, `read the tools of "${id}"`, error, signal);
    }
  }

  async #toKnown(listed: readonly BackendTool[]): Promise<KnownTools> {
    const { kind, id: owner } = this.#connector;
    const byId = new Map<string, KnownTool>();
    for (const [index, told] of listed.entries()) {
      if (index % TOOLS_PER_TURN === TOOLS_PER_TURN - 1) await setImmediate();
      const { name } = told;
      // What has no name that a call can have is no tool.
      if (name === "" || name.length > LONGEST_TOOL_NAME) continue;
      const id = this.idOf(name);
      // Of two tools with one name nobody could call the second.
      if (byId.has(id) || !this.#isAllowed({ id, name })) continue;
      byId.set(id, this.#toKnownTool(id, told));
    }
    let catalog: Catalog | undefined;
    const toCatalog = (): Catalog => {
      const tools: ToolSet = Object.fromEntries(
        [...byId.values()].map(({ told, tool }) => [told.name, tool]),
      );
      // Some connectors know what is behind them only after they were asked.
      const { identity } = this.#connector;
      return this.#shared.withSource({ kind, owner, tools, identity });
    };
    return { byId, catalog: () => (catalog ??= toCatalog()) };
  }

  /** One tool that cannot be used keeps no other from being found. */
  #toKnownTool(id: string, told: BackendTool): KnownTool {
    const { id: connector } = this.#connector;
    const why = problemOf(told);
    const toTool = (one: BackendTool): AnyTool => toBackendTool(this.#connector, one, this.#artifacts);
    if (why === undefined) return { id, told, tool: toTool(told), problem: undefined };
    const message = `Cannot use tool ${JSON.stringify(cut(told.name, 100))} of "${connector}": ${why}, tell its operator`;
    const problem = new ConnectorError(connector, "DOWNSTREAM_PROTOCOL_ERROR", message, {
      hasNoEffect: true,
    });
    const { inputSchema: _, outputSchema: __, ...rest } = told;
    return { id, told: rest, tool: toTool(rest), problem };
  }

  /** The tool with this id, whether the backend has it or not. */
  find(id: string): AnyTool {
    let tool = this.#late.get(id);
    if (tool === undefined) {
      tool = this.#toLate(id);
      if (this.#late.size >= MOST_LATE) this.#late.clear();
      this.#late.set(id, tool);
    }
    return tool;
  }

  #toLate(id: string): AnyTool {
    const now = (): KnownTool | undefined => this.#known?.byId.get(id);
    const late: AnyTool = {
      input: readLater(() => now()?.told.inputSchema),
      output: readLater(() => now()?.told.outputSchema),
      execute: async (input: unknown, call: CallContext) => {
        // Validating the input has just asked for the list.
        const known =
          now() ??
          (await this.#found(id, call.signal).catch((error: ConnectorError) => {
            throw forProgram(error);
          }));
        return known.tool.execute(input, call);
      },
    };
    const tool = withOwnMiddleware(late, {
      // Before the input is validated: the list of tools has its schema.
      [VALIDATE]: async (call, validate) => {
        const { told, problem } = await this.#found(id, call.signal).catch(refuse);
        if (problem !== undefined) refuse(problem);
        return mending(this.#connector.id, told, this.#result)(call, validate);
      },
      // What cannot be learnt is no failure of the call.
      end: (_call, outcome) => void this.#learn(id, outcome).catch(() => {}),
    });
    // A call whose outcome is unknown may be made again if the tool is known by then, and permits that.
    const permission = (name: "readOnly" | "idempotent") => ({
      enumerable: true,
      get: (): boolean => {
        const known = now();
        return known !== undefined && repetitionOf(this.#connector, known.told)[name];
      },
    });
    return Object.defineProperties(tool, {
      readOnly: permission("readOnly"),
      idempotent: permission("idempotent"),
    });
  }

  /** What a tool without an output schema gives is remembered as a shape. */
  async #learn(id: string, outcome: { readonly kind: string; readonly output?: string }): Promise<void> {
    const known = this.#known?.byId.get(id);
    if (outcome.kind !== "output" || outcome.output === undefined || known === undefined) return;
    if (known.told.outputSchema !== undefined || outcome.output.length > LARGEST_SAMPLE) return;
    await this.#known?.catalog().observe(id, JSON.parse(outcome.output));
  }

  async #found(id: string, signal: AbortSignal): Promise<KnownTool> {
    const { byId } = await this.known(signal);
    const known = byId.get(id);
    if (known === undefined) throw this.notFound(fromToolId(id)?.tool ?? id.slice(this.prefix.length), byId);
    return known;
  }

  /** Says which tools the program may have meant. */
  notFound(name: string, byId: ReadonlyMap<string, KnownTool>): ConnectorError {
    const { id } = this.#connector;
    const names = [...byId.values()].slice(0, MOST_COMPARED).map(({ told }) => told.name);
    const suggestions = closestNames(name, names);
    const meant = suggestions.map((one) => JSON.stringify(one)).join(", ");
    const hint = meant === "" ? `list them with tools() or searchTools("…")` : `did you mean ${meant}`;
    const message = `Cannot find tool ${JSON.stringify(cut(name, 100))} of "${id}": it has no such tool, ${hint}`;
    return new ConnectorError(id, "TOOL_NOT_FOUND", message, { hasNoEffect: true, details: { suggestions } });
  }
}

/** Connectors copy their lists for each reader, and not what is in the lists. */
function isSameList(listed: readonly BackendTool[], before: readonly BackendTool[] = []): boolean {
  return listed.length === before.length && listed.every((tool, index) => tool === before[index]);
}

/** A larger output is not parsed once more to learn its shape. */
const LARGEST_SAMPLE = 65_536;

/** Refuses a call in the words of the error, before anybody decides on the call. */
function refuse(error: unknown): never {
  if (!(error instanceof ConnectorError)) throw error;
  const { code, message, details } = error;
  const isUnknown = code === "TOOL_NOT_FOUND";
  const refusal = new CallRefusal(
    isUnknown ? "unknown_tool" : "tool_failed",
    message,
    forProgram(error),
    code,
  );
  throw details === undefined ? refusal : withCallDetails(refusal, details);
}
