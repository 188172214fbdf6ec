/**
 * NestedTools: the tools of a catalog as the programs of one agent run call them.
 *
 * - Every call goes through the host's hook and its approval, with the agent's own context, and is told to telemetry and
 *   trajectory, in whichever exchange of its program it ends.
 * - A hook is asked once per call. What was approved is what is executed: an input that a hook rewrote is validated first.
 * - One set for all programs: a call knows its program by the context it was made with.
 */
import {
  type Authorize,
  type CallDetails,
  CallRefusal,
  type Decision,
  parseDecision,
  toCallFailure,
  UNDECIDED,
} from "../../calls/invoke.ts";
import { isLarge, printJson } from "../../value/print-json.ts";
import { validatorOf } from "../../calls/schema.ts";
import type { Catalog } from "../../catalog/catalog.ts";
import type { CatalogEntry } from "../../catalog/catalog-entry.ts";
import { CATALOG_TOOLS } from "../../contract/ledger.ts";
import type { AnyTool, CallContext, ToolSet } from "../../contract/tool.ts";
import type { Json } from "../../contract/value.ts";
import type { GuestCatalog } from "../../run/host/guest-catalog.ts";
import type { RunHandle } from "../../run/host/host.ts";
import { judgeApartFor } from "../../sandbox/node/judges.ts";
import { toJsonText, utf8Bytes } from "../../value/json-text.ts";
import { isRecord } from "../../value/shape.ts";
import type { AgentTool } from "../agent-tools.ts";
import { catalogTools, toCatalogEntry } from "../catalog-tools.ts";
import type { AgentProgram, ToolUpdate } from "../agent-program.ts";
import type { CodeModeSettings } from "../config.ts";
import { SequentialLock } from "./sequential-lock.ts";
import type { AgentContext, Approve, BeforeToolCall, HookDecision, NestedCall } from "./nested-call.ts";
import { toNestedOutput } from "./nested-output.ts";
import type { ParkedValues } from "../output/parked-values.ts";
import type { Telemetry } from "../record/telemetry.ts";
import type { Trajectory } from "../record/trajectory.ts";
import type { CallEnd, CallStart } from "../record/trajectory-record.ts";

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
  readonly #line = new SequentialLock();
  #allTools: string | undefined;

  constructor(setup: NestedSetup) {
    this.#setup = setup;
    const { catalog } = setup;
    const set = Object.create(null) as Record<string, AnyTool>;
    for (const entry of catalog.entries) {
      set[entry.id] = this.#toNested(entry);
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

  /** The id behind a name that a program used; the name itself where it is none. */
  idOf(name: string): string {
    return this.#byName.get(name)?.id ?? name;
  }

  /** Records the calls that came to nobody who would: unknown ones, those whose input does not fit, those resolved with no. */
  async follow({ events }: RunHandle, agentProgram: AgentProgram): Promise<void> {
    const { trajectory } = this.#setup;
    const inputs = new Map<string, unknown>();
    for await (const event of events) {
      if (event.type === "call-start") inputs.set(event.callId, event.input);
      if (event.type !== "call-end") continue;
      const { callId, tool, outcome } = event;
      const input = inputs.get(callId);
      inputs.delete(callId);
      if (outcome.status !== "failed" || HELPERS.has(tool)) continue;
      // One that came here before may have made room in the trajectory since.
      if (!agentProgram.isKnown(callId)) {
        const inputBytes = await bytesIfLarge(input);
        const id = this.idOf(tool).slice(0, LONGEST_ID);
        trajectory.startCall(toStart(agentProgram, callId, id, input, inputBytes));
      }
      trajectory.endCall(callId, { status: "failed", error: { ...outcome.failure } });
      agentProgram.settle(callId);
    }
  }

  readonly authorize: Authorize = async (details) => {
    const entry = this.#byName.get(details.tool);
    // A helper of the catalog.
    if (entry === undefined) return "allow";
    const { trajectory } = this.#setup;
    const { callId, input, signal } = details;
    const agentProgram = details.context as AgentProgram;
    const counting = bytesIfLarge(input);
    const inputBytes = counting instanceof Promise ? await counting : counting;
    // Meanwhile it may have ended: then nobody would end the record of this call.
    if (signal.aborted) return { deny: "the run has ended" };
    agentProgram.begin(callId, entry.id, input);
    trajectory.startCall(toStart(agentProgram, callId, entry.id, input, inputBytes));
    let decision: Decision;
    try {
      decision = await this.#ask(entry, agentProgram, details);
    } catch (error) {
      agentProgram.settle(callId);
      trajectory.endCall(callId, toFailed(new CallRefusal("denied", UNDECIDED)));
      // Who asks denies the call, and tells the host alone of this.
      throw error;
    }
    if (decision === "allow") return decision;
    if ("suspend" in decision) {
      agentProgram.end(callId);
      trajectory.holdCall(callId);
    } else {
      agentProgram.settle(callId);
      trajectory.endCall(callId, toFailed(new CallRefusal("denied", decision.deny)));
    }
    return decision;
  };

  async #ask(entry: CatalogEntry, agentProgram: AgentProgram, details: CallDetails): Promise<Decision> {
    const { beforeToolCall, approve, trajectory } = this.#setup;
    const { callId } = details;
    if (beforeToolCall !== undefined && !agentProgram.isHooked(callId)) {
      const decision = parseHook(
        await beforeToolCall(this.#toCall(entry, agentProgram, details, details.input)),
      );
      if (decision !== undefined && "block" in decision) return { deny: decision.block || "it was denied" };
      if (decision === undefined) agentProgram.hook(callId, details.input);
      else {
        const validate = validatorOf(entry.tool.input, "input");
        const checked = await validate(decision.input, "input", judgeApartFor(details.runId, details.signal));
        if (!checked.ok) return { deny: `a hook gave it another input, ${checked.problems}` };
        agentProgram.hook(callId, checked.value);
        trajectory.rewriteCall(callId, toRecorded(checked.value));
      }
    }
    if (approve === undefined) return "allow";
    const call = this.#toCall(entry, agentProgram, details, agentProgram.inputOf(callId, details.input));
    const decision = parseDecision(await approve({ ...call, resolution: details.resolution }), "approve");
    return decision !== "allow" && "deny" in decision && decision.deny === ""
      ? { deny: "it was denied" }
      : decision;
  }

  #toCall(
    { id, name }: CatalogEntry,
    agentProgram: AgentProgram,
    details: CallDetails,
    input: unknown,
  ): NestedCall {
    const { callId } = details;
    const { context } = this.#setup;
    const signal = AbortSignal.any([details.signal, agentProgram.signal]);
    return { callId, parentToolCallId: agentProgram.toolCallId, tool: id, name, input, context, signal };
  }

  /** Without the schema of its output: that is looked at before the call counts as completed. */
  #toNested(entry: CatalogEntry): AnyTool {
    const { input, readOnly, idempotent } = entry.tool;
    return {
      input,
      readOnly,
      idempotent,
      execute: (given: unknown, call) => this.#execute(entry, given, call),
    };
  }

  async #execute(entry: CatalogEntry, given: unknown, call: CallContext): Promise<unknown> {
    const agentProgram = call.context as AgentProgram;
    const { callId } = call;
    const { telemetry, trajectory, catalog } = this.#setup;
    const signal = AbortSignal.any([call.signal, agentProgram.signal]);
    let hasAsked = false;
    const context: CallContext = {
      ...call,
      signal,
      context: this.#setup.context,
      suspend: (payload) => {
        hasAsked = true;
        return call.suspend(payload);
      },
    };
    try {
      // Its approval may have come after the program's end.
      signal.throwIfAborted();
      const input = agentProgram.inputOf(callId, given);
      if (agentProgram.execute(callId)) telemetry.call(entry.id);
      agentProgram.begin(callId, entry.id, given);
      trajectory.executeCall(callId);
      const work = (): Promise<unknown> =>
        this.#outputOf(entry, input, agentProgram, context, () => hasAsked);
      const { sequential }: AgentTool = entry.tool;
      const output = await (sequential === true ? this.#line.execute(signal, work) : work());
      if (hasAsked) {
        // It caught what suspend threw. Its run is suspended all the same, and what it gave is nobody's.
        trajectory.holdCall(callId);
        return null;
      }
      const { value, bytes } = await toNestedOutput(entry, output, judgeApartFor(call.runId, signal));
      trajectory.endCall(callId, { status: "completed", result: value, resultBytes: bytes });
      void catalog.observe(entry.id, value).catch(() => {});
      return value;
    } catch (error) {
      if (hasAsked) trajectory.holdCall(callId);
      // Whatever it says then, it was stopped.
      else trajectory.endCall(callId, signal.aborted ? { status: "aborted" } : toFailed(error));
      throw error;
    } finally {
      if (hasAsked) agentProgram.end(callId);
      else agentProgram.settle(callId);
    }
  }

  async #outputOf(
    entry: CatalogEntry,
    input: unknown,
    agentProgram: AgentProgram,
    call: CallContext,
    hasAsked: () => boolean,
  ): Promise<unknown> {
    const output: unknown = await entry.tool.execute(input, call);
    if (typeof output !== "object" || output === null || !(Symbol.asyncIterator in output)) return output;
    let last: unknown;
    for await (const update of output as AsyncIterable<unknown>) {
      // Leaving the loop tells the iterable to stop.
      if (hasAsked()) break;
      last = update;
      tell(agentProgram, { callId: call.callId, tool: entry.id, update });
      if (call.signal.aborted) break;
    }
    return last;
  }
}

/** Programs choose the names of unknown tools. */
const LONGEST_ID = 200;
const HELPERS: ReadonlySet<string> = new Set(Object.values(CATALOG_TOOLS));

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

/** Of an error only what a program would see of it. */
function toFailed(error: unknown): CallEnd {
  return { status: "failed", error: { ...toCallFailure(error) } };
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
