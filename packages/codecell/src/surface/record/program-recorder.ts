/**
 * ProgramRecorder: what the events of one run say about an agent program, as records of its trajectory, counts of its
 * telemetry, and the program's list of calls under way.
 *
 * - Runs on the host, as the run's `onEvent`. It has heard of a call's end before the program is told of it.
 * - An event has no output. `keepResult` takes it, for the record that the call's end completes.
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
  /** What is behind a name that the program used; undefined for helpers and for what is no tool. */
  readonly entryOf: (name: string) => CatalogEntry | undefined;
}

/** An input as the program wrote it, from its call's start to a decision or the end. */
interface GivenInput {
  readonly input: unknown;
  /** The same as JSON text. */
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

  /** The output of a call that is about to end. */
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
        trajectory.rewriteCall(event.callId, toRecorded(event.input));
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

  /** With the input as the tool's schema made it. From here on the call is known. */
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

  /** `isGiven` says that the text is that of the input: no schema has changed it. */
  #record(callId: string, tool: string, { input, inputText }: GivenInput, isGiven: boolean): void {
    const { agentProgram, trajectory } = this.#setup;
    const call = { parentToolCallId: agentProgram.toolCallId, callId, tool };
    // From the text where that is possible: reading the names of a hundred thousand fields takes 20 ms each time.
    if (isLarge(isGiven ? inputText : input)) {
      trajectory.startCall({ ...call, input: input as Json, inputBytes: utf8Bytes(inputText) });
    } else {
      // A small input is printed, and counted then: a schema may have made it of another size.
      trajectory.startCall({ ...call, input: toSmallRecord(input) });
    }
  }

  #execute({ callId, tool }: EventOf<"call-execute">): void {
    const { agentProgram, telemetry, trajectory, entryOf } = this.#setup;
    const entry = entryOf(tool);
    // Its approval may have come after the program's end.
    if (entry === undefined || agentProgram.signal.aborted) return;
    if (agentProgram.execute(callId)) telemetry.call(entry.id);
    trajectory.executeCall(callId);
  }

  /** Of all calls, those too that came to no tool: unknown ones, those whose input does not fit, those resolved with no. */
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
      // A call that is known may have made room in the trajectory since.
      if (!agentProgram.isKnown(callId)) {
        // Its program ended before the call began: there is nothing to tell.
        if (agentProgram.signal.aborted) return;
        const id = (entryOf(tool)?.id ?? tool).slice(0, LONGEST_ID);
        this.#record(callId, id, given ?? { input: undefined, inputText: "" }, given !== undefined);
      }
      const { failure, isAborted = agentProgram.signal.aborted } = outcome;
      // Whatever a tool says then, it was stopped.
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

/** Programs choose the names of unknown tools. */
const LONGEST_ID = 200;
const HELPERS: ReadonlySet<string> = new Set(Object.values(CATALOG_TOOLS));
/** Of calls that came to no tool. */
const REFUSALS: ReadonlySet<CallFailureCode> = new Set(["denied", "unknown_tool", "invalid_input"]);

/** As it will cross; what cannot is told of by who passes it on. Of a large value a part is recorded, by who prints it anyway. */
function toRecorded(value: unknown): Json {
  return isLarge(value) ? (value as Json) : toSmallRecord(value);
}

function toSmallRecord(value: unknown): Json {
  return JSON.parse(toJsonText(value ?? null) ?? "null") as Json;
}
