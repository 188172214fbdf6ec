/**
 * Runs on the host, as the run's `onEvent`. ProgramRecorder turns the events of one run into records of its agent
 * program's trajectory, counts of its telemetry, and the program's list of calls under way.
 *
 * - It has heard of a call's end before the program is told of it.
 * - An event has no output. `keepResult` takes the output, for the record that the call's end completes.
 * - A program's own calls of catalog helpers are counted, and have no records.
 */
import type { CatalogEntry } from "../../catalog/catalog-entry.ts";
import type { LiveEvent } from "../../contract/events.ts";
import type { CallFailureCode } from "../../contract/failure.ts";
import { CATALOG_TOOLS } from "../../contract/features.ts";
import type { Json } from "../../contract/value.ts";
import { toJsonText, utf8Bytes } from "../../value/json-text.ts";
import { isLarge } from "../../value/print-json.ts";
import { isRecord } from "../../value/shape.ts";
import type { AgentProgram } from "../agent-program.ts";
import type { Telemetry } from "./telemetry.ts";
import type { Trajectory } from "./trajectory.ts";

export interface ProgramRecorderSetup {
  readonly agentProgram: AgentProgram;
  readonly telemetry: Telemetry;
  readonly trajectory: Trajectory;
  /** The entry behind a name that the program used; undefined for helpers and for names that no tool has. */
  readonly entryOf: (name: string) => CatalogEntry | undefined;
}

/** An input as the program wrote it, kept from the call's start to a decision or the end. */
interface GivenInput {
  readonly input: unknown;
  /** The input as JSON text. */
  readonly inputText: string;
}

interface CallResult {
  readonly result: Json;
  readonly resultBytes: number;
}

type EventOf<Type extends LiveEvent["type"]> = Extract<LiveEvent, { readonly type: Type }>;

export class ProgramRecorder {
  readonly #setup: ProgramRecorderSetup;
  /** By call id. */
  readonly #given = new Map<string, GivenInput>();
  readonly #results = new Map<string, CallResult>();

  constructor(setup: ProgramRecorderSetup) {
    this.#setup = setup;
  }

  /** Keeps the output of a call that is about to end. */
  keepResult(callId: string, result: CallResult): void {
    this.#results.set(callId, result);
  }

  hear(event: LiveEvent): void {
    if (!("tool" in event)) return;
    if (HELPERS.has(event.tool)) {
      if (event.type === "call-execute") this.#countHelper(event);
      return;
    }
    const { agentProgram, trajectory } = this.#setup;
    switch (event.type) {
      case "call-start":
        this.#given.set(event.callId, event);
        return;
      case "call-decide":
        this.#begin(event);
        return;
      case "call-rewrite":
        this.#rewrite(event);
        return;
      case "call-execute":
        this.#execute(event);
        return;
      case "call-ask":
        trajectory.holdCall(event.callId);
        agentProgram.end(event.callId);
        return;
      case "call-end":
        this.#end(event);
        return;
      case "call-progress":
        return;
      default:
        event satisfies never;
    }
  }

  /** Records the input as the tool's schema made it. From here on the call is known. */
  #begin({ callId, tool, input }: EventOf<"call-decide">): void {
    const entry = this.#setup.entryOf(tool);
    const given = this.#given.get(callId);
    this.#given.delete(callId);
    if (entry === undefined) return;
    const inputText = given?.inputText ?? "";
    const isGiven = given !== undefined && given.input === input;
    this.#setup.agentProgram.begin(callId, entry.id, input, isGiven ? inputText : undefined);
    this.#record(callId, entry.id, { input, inputText }, isGiven);
  }

  /** `isGiven` says that the text is the input's own: no schema has changed the input. */
  #record(callId: string, tool: string, { input, inputText }: GivenInput, isGiven: boolean): void {
    const { agentProgram, trajectory } = this.#setup;
    const call = { parentToolCallId: agentProgram.toolCallId, callId, tool };
    // Take the size from the text where possible: reading the names of a hundred thousand fields takes 20 ms each time.
    if (isLarge(isGiven ? inputText : input)) {
      trajectory.startCall({ ...call, input: input as Json, inputBytes: utf8Bytes(inputText) });
    } else {
      // A small input is printed and then counted: a schema may have given it another size.
      trajectory.startCall({ ...call, input: toSmallRecord(input) });
    }
  }

  #rewrite({ callId, input, inputBytes }: EventOf<"call-rewrite">): void {
    const isLargeInput = inputBytes > SMALL_BYTES;
    const recorded = isLargeInput ? (input as Json) : toSmallRecord(input);
    this.#setup.trajectory.rewriteCall(callId, recorded, isLargeInput ? inputBytes : undefined);
  }

  #execute({ callId, tool }: EventOf<"call-execute">): void {
    const { agentProgram, telemetry, trajectory, entryOf } = this.#setup;
    const entry = entryOf(tool);
    // The approval may have come after the program's end.
    if (entry === undefined || agentProgram.signal.aborted) return;
    if (agentProgram.execute(callId)) telemetry.call(entry.id);
    trajectory.executeCall(callId);
  }

  /**
   * Ends every call, including a call that reached no tool: an unknown tool, an input that does not fit, or a
   * resolution that denied the call.
   */
  #end({ callId, tool, outcome }: EventOf<"call-end">): void {
    const { agentProgram, trajectory, entryOf } = this.#setup;
    const given = this.#given.get(callId);
    const kept = this.#results.get(callId);
    this.#given.delete(callId);
    this.#results.delete(callId);
    if (outcome.status === "completed") {
      const { result, resultBytes } = kept ?? { result: null, resultBytes: outcome.outputBytes };
      trajectory.endCall(callId, { status: "completed", result, resultBytes });
    } else {
      // A known call without a record may have made room in the trajectory since: it gets no second record.
      if (!agentProgram.isKnown(callId)) {
        // The program ended before the call began: there is nothing to tell.
        if (agentProgram.signal.aborted) return;
        const id = (entryOf(tool)?.id ?? tool).slice(0, LONGEST_ID);
        this.#record(callId, id, given ?? { input: undefined, inputText: "" }, given !== undefined);
      }
      const { failure, isAborted = agentProgram.signal.aborted } = outcome;
      // Whatever failure the tool gives then, the call was stopped.
      const isStopped = isAborted && !REFUSALS.has(failure.code);
      trajectory.endCall(
        callId,
        isStopped ? { status: "aborted" } : { status: "failed", error: { ...failure } },
      );
    }
    agentProgram.settle(callId);
  }

  #countHelper({ tool, input }: EventOf<"call-execute">): void {
    const { telemetry } = this.#setup;
    if (tool === CATALOG_TOOLS.search) telemetry.search();
    // A call without an id asks for no tool.
    if (tool === CATALOG_TOOLS.describe && isRecord(input) && typeof input["id"] === "string") {
      telemetry.describe();
    }
  }
}

/** Programs choose the names of unknown tools, so these need a bound. */
const LONGEST_ID = 200;
const HELPERS: ReadonlySet<string> = new Set(Object.values(CATALOG_TOOLS));
/** Failures of calls that reached no tool. */
const REFUSALS: ReadonlySet<CallFailureCode> = new Set(["denied", "unknown_tool", "invalid_input"]);

/** A value of at most so many bytes is recorded as it will cross. Of a larger value a part is recorded. */
const SMALL_BYTES = 65_536;

/** The value as it will cross. If it cannot cross, whoever passes it on reports that. */
function toSmallRecord(value: unknown): Json {
  return JSON.parse(toJsonText(value ?? null) ?? "null") as Json;
}
