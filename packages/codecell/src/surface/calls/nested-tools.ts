/**
 * NestedTools: the tools of a catalog as the programs of one agent run call them.
 *
 * - Every call goes through the host's hook and its approval, with the agent's own context, and is told to telemetry and
 *   trajectory, in whichever exchange of its program it ends.
 * - A hook is asked once per call. What was decided on is what is executed, over all exchanges of its program.
 * - One set of tools for all programs; what knows the program of a call is the middleware of its run.
 */
import {
  type CallDetails,
  type CallMiddleware,
  type Decision,
  type KeptInput,
  ownMiddlewareOf,
  parseDecision,
  type Rewrite,
  withOwnMiddleware,
} from "../../calls/middleware.ts";
import type { Catalog } from "../../catalog/catalog.ts";
import type { CatalogEntry } from "../../catalog/catalog-entry.ts";
import type { CallFailureCode } from "../../contract/failure.ts";
import { CATALOG_TOOLS } from "../../contract/features.ts";
import type { CallOutcome } from "../../contract/ledger.ts";
import type { AnyTool, ToolSet } from "../../contract/tool.ts";
import type { Json } from "../../contract/value.ts";
import type { GuestCatalog } from "../../run/host/guest-catalog.ts";
import { toJsonText, utf8Bytes } from "../../value/json-text.ts";
import { buildJson } from "../../value/parse-json.ts";
import { isLarge, printJson } from "../../value/print-json.ts";
import { isRecord } from "../../value/shape.ts";
import type { AgentProgram, ToolUpdate } from "../agent-program.ts";
import type { AgentTool } from "../agent-tools.ts";
import { catalogTools, toCatalogEntry } from "../catalog-tools.ts";
import type { CodeModeSettings } from "../config.ts";
import type { ParkedValues } from "../output/parked-values.ts";
import type { Telemetry } from "../record/telemetry.ts";
import type { Trajectory } from "../record/trajectory.ts";
import type { CallStart } from "../record/trajectory-record.ts";
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
  readonly parked: ParkedValues;
}

export class NestedTools {
  /** By id, and by convenience name. */
  readonly set: ToolSet;
  readonly guest: GuestCatalog;
  readonly #setup: NestedSetup;
  readonly #byName = new Map<string, CatalogEntry>();
  readonly #sequential = new SequentialLock();
  #allTools: string | undefined;

  constructor(setup: NestedSetup) {
    this.#setup = setup;
    const { catalog } = setup;
    const set = Object.create(null) as Record<string, AnyTool>;
    for (const entry of catalog.entries) {
      set[entry.id] = toRunTool(entry.tool);
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
    const helpers = catalogTools(setup, this.#byName, set);
    for (const [name, tool] of Object.entries(helpers)) {
      // Not among the names that a program is told of.
      Object.defineProperty(set, name, { value: tool });
    }
    this.set = Object.freeze(set);
    this.guest = {
      names,
      allTools: () => (this.#allTools ??= JSON.stringify(catalog.entries.map(toCatalogEntry))),
    };
  }

  /** Handed to every tool, hook and approval. */
  get context(): AgentContext {
    return this.#setup.context;
  }

  /** The id behind a name that a program used; the name itself where it is none. */
  idOf(name: string): string {
    return this.#byName.get(name)?.id ?? name;
  }

  /** What stands between the calls of one program and their tools. */
  middlewareOf(agentProgram: AgentProgram): readonly CallMiddleware[] {
    const { beforeToolCall, approve } = this.#setup;
    const isDecidedOn = ({ tool }: CallDetails): boolean =>
      beforeToolCall !== undefined ||
      approve !== undefined ||
      ownMiddlewareOf(this.#byName.get(tool)?.tool) !== undefined;
    const rewritten = new Set<string>();
    return [
      {
        decide: (call) => this.#start(agentProgram, call),
        execute: (call, execute) => {
          const entry = this.#byName.get(call.tool);
          if (entry === undefined) return execute();
          const { callId } = call;
          const onPart = (update: unknown): void => tell(agentProgram, { callId, tool: entry.id, update });
          return this.#execute(entry, agentProgram, call, (signal) => execute({ signal, onPart }));
        },
        end: (call, outcome) => {
          rewritten.delete(call.callId);
          if (outcome.kind === "asked" && isDecidedOn(call)) agentProgram.keep(call.callId, call.input);
          return this.#end(agentProgram, call, outcome);
        },
      },
      ...(beforeToolCall === undefined ? [] : this.#hooking(beforeToolCall, agentProgram, rewritten)),
      ...(approve === undefined ? [] : [this.#approving(approve, agentProgram)]),
    ];
  }

  /** Nobody is asked about helpers of the catalog. */
  #forTools(
    decide: (entry: CatalogEntry, call: CallDetails) => Promise<Decision | Rewrite>,
  ): NonNullable<CallMiddleware["decide"]> {
    return (call) => {
      const entry = this.#byName.get(call.tool);
      return entry === undefined ? "allow" : decide(entry, call);
    };
  }

  /** The first to decide: the call is known from here on, with the input as the program wrote it. */
  async #start(
    agentProgram: AgentProgram,
    { callId, tool, input, signal }: CallDetails,
  ): Promise<Decision | KeptInput> {
    const entry = this.#byName.get(tool);
    if (entry === undefined) return "allow";
    const counting = bytesIfLarge(input);
    const inputBytes = counting instanceof Promise ? await counting : counting;
    // Meanwhile it may have ended: then nobody would end the record of this call.
    if (signal.aborted) return { deny: "the run has ended" };
    agentProgram.begin(callId, entry.id, input);
    this.#setup.trajectory.startCall(toStart(agentProgram, callId, entry.id, input, inputBytes));
    return agentProgram.keptOf(callId) ?? "allow";
  }

  /** What a hook makes of calls; one that waited comes again, and is left as it was decided on then. */
  #hooking(
    beforeToolCall: BeforeToolCall,
    agentProgram: AgentProgram,
    rewritten: Set<string>,
  ): readonly CallMiddleware[] {
    const hook = this.#forTools(async (entry, call) => {
      const { callId } = call;
      if (agentProgram.keptOf(callId) !== undefined) return "allow";
      const given = parseHook(await beforeToolCall(this.#toCall(entry, agentProgram, call)));
      if (given === undefined) return "allow";
      if ("block" in given) return { deny: given.block };
      rewritten.add(callId);
      return { rewrite: given.input };
    });
    const record = ({ callId, input }: CallDetails): Decision => {
      // As it was validated, which is as its tool gets it.
      if (rewritten.has(callId)) this.#setup.trajectory.rewriteCall(callId, toRecorded(input));
      return "allow";
    };
    return [{ decide: hook }, { decide: record }];
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
    const { telemetry, trajectory } = this.#setup;
    const signal = AbortSignal.any([call.signal, agentProgram.signal]);
    // Its approval may have come after the program's end.
    signal.throwIfAborted();
    if (agentProgram.execute(call.callId)) telemetry.call(entry.id);
    trajectory.executeCall(call.callId);
    const { sequential }: AgentTool = entry.tool;
    return sequential === true ? this.#sequential.execute(signal, () => execute(signal)) : execute(signal);
  }

  /** Of all calls, those too that came to no tool: unknown ones, those whose input does not fit, those resolved with no. */
  async #end(agentProgram: AgentProgram, call: CallDetails, outcome: CallOutcome): Promise<void> {
    const { trajectory, catalog } = this.#setup;
    const { callId, tool, input, signal } = call;
    if (HELPERS.has(tool)) return;
    switch (outcome.kind) {
      case "asked":
        trajectory.holdCall(callId);
        agentProgram.end(callId);
        return;
      case "output": {
        const result = await buildJson(outcome.output);
        const resultBytes = utf8Bytes(outcome.output);
        trajectory.endCall(callId, { status: "completed", result, resultBytes });
        void catalog.observe(this.idOf(tool), result).catch(() => {});
        break;
      }
      case "failure": {
        // One that came here before may have made room in the trajectory since.
        if (!agentProgram.isKnown(callId)) {
          // Its program ended before the call began: there is nothing to tell.
          if (agentProgram.signal.aborted) return;
          const inputBytes = await bytesIfLarge(input);
          const id = this.idOf(tool).slice(0, LONGEST_ID);
          trajectory.startCall(toStart(agentProgram, callId, id, input, inputBytes));
        }
        // Whatever a tool says then, it was stopped.
        const isAborted =
          !REFUSALS.has(outcome.failure.code) && (signal.aborted || agentProgram.signal.aborted);
        const error = { ...outcome.failure };
        trajectory.endCall(callId, isAborted ? { status: "aborted" } : { status: "failed", error });
        break;
      }
      default:
        outcome satisfies never;
    }
    agentProgram.settle(callId);
  }
}

/** What a run knows of a tool; the rest is the surface's. */
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

/** Programs choose the names of unknown tools. */
const LONGEST_ID = 200;
const HELPERS: ReadonlySet<string> = new Set(Object.values(CATALOG_TOOLS));
/** Of calls that came to no tool. */
const REFUSALS: ReadonlySet<CallFailureCode> = new Set(["denied", "unknown_tool", "invalid_input"]);

function toStart(
  { toolCallId }: AgentProgram,
  callId: string,
  tool: string,
  input: unknown,
  inputBytes: number | undefined,
): CallStart {
  return { parentToolCallId: toolCallId, callId, tool, input: toRecorded(input), inputBytes };
}

/** Of a value's JSON text; undefined for a small one, which is printed at once. */
function bytesIfLarge(value: unknown): undefined | Promise<number> {
  return isLarge(value) ? bytesOf(value) : undefined;
}

async function bytesOf(value: unknown): Promise<number> {
  return utf8Bytes((await printJson(value)) ?? "");
}

/** As it will cross; what cannot is told of by who passes it on. Of a large value a part is recorded, by who prints it anyway. */
function toRecorded(value: unknown): Json {
  return isLarge(value) ? (value as Json) : (JSON.parse(toJsonText(value ?? null) ?? "null") as Json);
}

/** Throws for what is no decision of a hook: it allows nothing. */
function parseHook(given: unknown): HookDecision {
  if (given === undefined) return given;
  if (isRecord(given)) {
    if (typeof given["block"] === "string") return { block: given["block"] };
    if (given["block"] === undefined && "input" in given) return { input: given["input"] };
  }
  throw new TypeError('beforeToolCall gave no decision: give nothing, { input } or { block: "why" }');
}

/** Whoever listens must not fail the call. */
function tell({ onUpdate }: AgentProgram, update: ToolUpdate): void {
  try {
    const told: unknown = onUpdate?.(update);
    if (told instanceof Promise) told.catch(() => undefined);
  } catch {
    // Its own affair.
  }
}
