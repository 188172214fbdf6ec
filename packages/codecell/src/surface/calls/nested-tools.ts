/**
 * Runs on the host. NestedTools holds the tools of a catalog as the programs of one agent run call them.
 *
 * - Every call goes through the host's hook and its approval, with the agent's own context.
 * - The run's events record what happens to calls (../record/program-recorder.ts), in whichever exchange of their
 *   program the calls end. No event has an output, so middleware adds outputs: they are built in turns, and the call
 *   waits for that.
 * - A hook is asked once per call. The input that was decided on is executed, over all exchanges of the program. This
 *   process keeps the input as it is. With a store the run keeps it with the question, as JSON: another process makes the
 *   call with an input of the same JSON, or not at all.
 * - All programs share one set of tools. Only the middleware of a run knows which program a call belongs to.
 */
import {
  type AdapterCall,
  type AdapterMiddleware,
  type CallDetails,
  type CallMiddleware,
  type Decision,
  ownMiddlewareOf,
  parseDecision,
  REMEMBERS,
  type Rewrite,
  withOwnMiddleware,
} from "../../calls/middleware.ts";
import { fromToolId } from "../../catalog/tool-id.ts";
import type { Catalog } from "../../catalog/catalog.ts";
import type { CatalogEntry } from "../../catalog/catalog-entry.ts";
import type { CallOutcome } from "../../contract/ledger.ts";
import { toolOf } from "../../contract/late-tools.ts";
import type { AnyTool, ToolSet } from "../../contract/tool.ts";
import type { ConnectorHandles } from "../../run/host/connector-handles.ts";
import type { GuestCatalog } from "../../run/host/guest-catalog.ts";
import type { RunOptions } from "../../run/host/host.ts";
import { utf8Bytes } from "../../value/json-text.ts";
import { isTurnLong, nextTurn } from "../../loop/turn.ts";
import { buildJson } from "../../value/parse-json.ts";
import { hasSameText } from "../../value/print-json.ts";
import { isRecord } from "../../value/shape.ts";
import type { AgentProgram, ToolUpdate } from "../agent-program.ts";
import type { AgentTool } from "../agent-tools.ts";
import { catalogTools, toCatalogEntry } from "../catalog-tools.ts";
import type { CodeModeSettings } from "../config.ts";
import type { SavedValues } from "../output/saved-values.ts";
import { ProgramRecorder } from "../record/program-recorder.ts";
import type { Telemetry } from "../record/telemetry.ts";
import type { Trajectory } from "../record/trajectory.ts";
import type { AgentContext, Approve, BeforeToolCall, HookDecision, NestedCall } from "./nested-call.ts";
import { SequentialLock } from "./sequential-lock.ts";

export interface NestedSetup {
  readonly catalog: Catalog;
  readonly settings: CodeModeSettings;
  readonly context: AgentContext;
  readonly beforeToolCall: BeforeToolCall | undefined;
  readonly approve: Approve | undefined;
  readonly telemetry: Telemetry;
  readonly trajectory: Trajectory;
  readonly saved: SavedValues;
  /** Under the policy of the agent run. */
  readonly connectors: ConnectorHandles | undefined;
}

export class NestedTools {
  /** Tools by id, and by convenience name. */
  readonly set: ToolSet;
  readonly guest: GuestCatalog;
  readonly #setup: NestedSetup;
  readonly #byName = new Map<string, CatalogEntry>();
  readonly #sequential = new SequentialLock();
  /** Whether somebody may be asked about calls. */
  readonly #areDecidedOn: boolean;
  #allTools: string | undefined;

  constructor(setup: NestedSetup) {
    this.#setup = setup;
    const { catalog } = setup;
    const set = Object.create(null) as Record<string, AnyTool>;
    for (const entry of catalog.entries) {
      set[entry.id] = toCalledTool(entry, setup.connectors);
      this.#byName.set(entry.id, entry);
    }
    const names = new Set<string>();
    for (const [name, id] of catalog.names) {
      const [tool, entry] = [set[id], this.#byName.get(id)];
      if (tool === undefined || entry === undefined) continue;
      set[name] = tool;
      this.#byName.set(name, entry);
      names.add(name);
    }
    this.#areDecidedOn =
      setup.beforeToolCall !== undefined ||
      setup.approve !== undefined ||
      setup.connectors !== undefined ||
      catalog.entries.some(({ tool }) => ownMiddlewareOf(tool) !== undefined);
    const helpers = catalogTools(setup, this.#byName, set);
    for (const [name, tool] of Object.entries(helpers)) {
      // Not enumerable: these are not among the names that a program is told of.
      Object.defineProperty(set, name, { value: tool });
    }
    this.set = Object.freeze(set);
    this.guest = {
      names,
      allTools: () => (this.#allTools ??= JSON.stringify(catalog.entries.map(toCatalogEntry))),
    };
  }

  /** Every tool, hook and approval gets this. */
  get context(): AgentContext {
    return this.#setup.context;
  }

  get connectors(): ConnectorHandles | undefined {
    return this.#setup.connectors;
  }

  /**
   * The tool behind a name that a program used. Handles call tools that are not catalogued, because their backend was not
   * ready then, and have methods that reach backends.
   */
  #entryOf(name: string): CatalogEntry | undefined {
    const known = this.#byName.get(name);
    const { connectors } = this.#setup;
    if (known !== undefined || connectors === undefined) return known;
    const tool = toolOf(connectors.tools, name);
    if (tool === undefined) return undefined;
    const made = fromToolId(name);
    // The methods of handles are calls of the connectors themselves.
    if (made === undefined) return { id: name, kind: "connectors", owner: "connectors", name, tool };
    return { id: name, kind: made.kind, owner: made.owner, name: made.tool, tool };
  }

  /** The id behind a name that a program used; the name itself if no tool has it. */
  idOf(name: string): string {
    return this.#byName.get(name)?.id ?? name;
  }

  /**
   * The middleware between the calls of one program and their tools, and the listener that records what becomes of
   * them. With a store another process may go on with the program.
   */
  watch(
    agentProgram: AgentProgram,
    isDurable: boolean,
  ): Required<Pick<RunOptions, "middleware" | "onEvent">> {
    const { beforeToolCall, approve, telemetry, trajectory } = this.#setup;
    const entryOf = (name: string): CatalogEntry | undefined => this.#entryOf(name);
    const recorder = new ProgramRecorder({ agentProgram, telemetry, trajectory, entryOf });
    const isDecidedOn = ({ tool }: CallDetails): boolean =>
      beforeToolCall !== undefined ||
      approve !== undefined ||
      ownMiddlewareOf(entryOf(tool)?.tool) !== undefined;
    const middleware: readonly AdapterMiddleware[] = [
      {
        ...(isDurable && this.#areDecidedOn ? { [REMEMBERS]: "input" } : {}),
        decide: (call) => agentProgram.keptOf(call.callId) ?? restored(call),
        execute: (call, execute) => {
          const entry = entryOf(call.tool);
          if (entry === undefined) return execute();
          const { callId } = call;
          const onPart = (update: unknown): void => tell(agentProgram, { callId, tool: entry.id, update });
          return this.#execute(entry, agentProgram, call, (signal) => execute({ signal, onPart }));
        },
        end: (call, outcome) => {
          if (outcome.kind === "asked" && isDecidedOn(call)) agentProgram.keep(call.callId, call.input);
          return this.#keepResult(recorder, call, outcome);
        },
      },
      { decide: (call) => (agentProgram.keptOf(call.callId) === undefined ? unlessOther(call) : "allow") },
      ...(beforeToolCall === undefined ? [] : [this.#hooking(beforeToolCall, agentProgram)]),
      ...(approve === undefined ? [] : [this.#approving(approve, agentProgram)]),
    ];
    return { middleware, onEvent: (event) => recorder.hear(event) };
  }

  /** Nobody is asked about the catalog's helpers. */
  #forTools(
    decide: (entry: CatalogEntry, call: AdapterCall) => Promise<Decision | Rewrite>,
  ): NonNullable<AdapterMiddleware["decide"]> {
    return (call) => {
      const entry = this.#entryOf(call.tool);
      return entry === undefined ? "allow" : decide(entry, call);
    };
  }

  /** Asks the hook about calls. A call that waited comes again; the hook is not asked again, and the decision stays. */
  #hooking(beforeToolCall: BeforeToolCall, agentProgram: AgentProgram): CallMiddleware {
    return {
      decide: this.#forTools(async (entry, call) => {
        if (agentProgram.keptOf(call.callId) !== undefined || call.before?.input !== undefined)
          return "allow";
        const given = parseHook(await beforeToolCall(this.#toCall(entry, agentProgram, call)));
        if (given === undefined) return "allow";
        return "block" in given ? { deny: given.block } : { rewrite: given.input };
      }),
    };
  }

  #approving(approve: Approve, agentProgram: AgentProgram): CallMiddleware {
    return {
      decide: this.#forTools(async (entry, call) => {
        const asked = { ...this.#toCall(entry, agentProgram, call), resolution: call.resolution };
        return parseDecision(await approve(asked), "approve");
      }),
    };
  }

  #toCall({ id, name }: CatalogEntry, agentProgram: AgentProgram, call: CallDetails): NestedCall {
    const { callId, input } = call;
    const { context } = this.#setup;
    const signal = AbortSignal.any([call.signal, agentProgram.signal]);
    return { callId, parentToolCallId: agentProgram.toolCallId, tool: id, name, input, context, signal };
  }

  async #execute(
    entry: CatalogEntry,
    agentProgram: AgentProgram,
    call: CallDetails,
    execute: (signal: AbortSignal) => Promise<unknown>,
  ): Promise<unknown> {
    const signal = AbortSignal.any([call.signal, agentProgram.signal]);
    // The approval may have come after the program's end.
    signal.throwIfAborted();
    const { sequential }: AgentTool = entry.tool;
    return sequential === true ? this.#sequential.execute(signal, () => execute(signal)) : execute(signal);
  }

  /** Keeps the output of a catalog tool's call, for its record and for what the catalog learns of the tool. */
  async #keepResult(
    recorder: ProgramRecorder,
    { callId, tool }: CallDetails,
    outcome: CallOutcome,
  ): Promise<void> {
    const entry = this.#entryOf(tool);
    if (outcome.kind !== "output" || entry === undefined) return;
    const result = await buildJson(outcome.output);
    // Building, learning and recording each read all names of a record, which takes 15 ms for a hundred thousand.
    while (isTurnLong()) await nextTurn();
    recorder.keepResult(callId, { result, resultBytes: utf8Bytes(outcome.output) });
    void this.#setup.catalog.observe(entry.id, result).catch(() => {});
    while (isTurnLong()) await nextTurn();
  }
}

/** The catalogued tool, also where a handle calls it: the host may have wrapped it. The handle learns what came of it. */
function toCalledTool({ id, tool }: CatalogEntry, connectors: ConnectorHandles | undefined): AnyTool {
  const known = toRunTool(tool);
  const ofHandle = connectors === undefined ? undefined : toolOf(connectors.tools, id);
  const { end } = ownMiddlewareOf(ofHandle) ?? {};
  return end === undefined ? known : withOwnMiddleware(known, { end, ...ownMiddlewareOf(tool) });
}

/** What a run knows of a tool. The rest belongs to the surface. */
function toRunTool(tool: AgentTool): AnyTool {
  const { input, output, readOnly, idempotent } = tool;
  const own = ownMiddlewareOf(tool);
  const known: AnyTool = {
    input,
    output,
    readOnly,
    idempotent,
    execute: (given: unknown, call) => tool.execute(given, call),
  };
  return own === undefined ? known : withOwnMiddleware(known, own);
}

/** Gives a call that waited in another process the input that was decided on there. It is validated again. */
function restored({ input, before }: AdapterCall): Decision | Promise<Decision | Rewrite> {
  const json = before?.input?.json;
  if (json === undefined) return "allow";
  return hasSameText(input, json).then((isSame) => (isSame ? "allow" : { rewrite: json }));
}

/** Some schemas make another value each time. Nobody decided on that one. */
function unlessOther({ input, before }: AdapterCall): Decision | Promise<Decision> {
  if (before?.input === undefined) return "allow";
  const deny = "its input cannot be made again as it was decided on, start the program again";
  return hasSameText(input, before.input.json).then((isSame) => (isSame ? "allow" : { deny }));
}

/** Throws for a value that is no decision of a hook: such a value allows nothing. */
function parseHook(given: unknown): HookDecision {
  if (given === undefined) return given;
  if (isRecord(given)) {
    if (typeof given["block"] === "string") return { block: given["block"] };
    if (given["block"] === undefined && "input" in given) return { input: given["input"] };
  }
  throw new TypeError('beforeToolCall gave no decision: give nothing, { input } or { block: "why" }');
}

/** A listener's error must not fail the call. */
function tell({ onUpdate }: AgentProgram, update: ToolUpdate): void {
  try {
    const told: unknown = onUpdate?.(update);
    if (told instanceof Promise) told.catch(() => undefined);
  } catch {
    // The error is the listener's own affair.
  }
}
