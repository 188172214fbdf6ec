/**
 * Runs on the host. A host whose runs leave OpenTelemetry spans: one for each run, and beneath it one for each call.
 *
 * - Spans are derived from the run's events. Middleware does the one thing that no event can do: it calls the tool with
 *   the span of its call as the active span.
 * - Give the host to `codecell/ai` or `codecell/surface`, and their programs leave the same spans.
 * - A span tells names of tools, ids, states, counts and codes of failures; never a source, an input, an output, a
 *   message, or a name that is not a tool's.
 * - The parent of what a tool records is the span of its call. The parent of a run's span is the span that is active
 *   when the run starts.
 * - A tracer that throws changes nothing.
 */
import {
  type Attributes,
  type Context,
  context,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from "@opentelemetry/api";
import type { CallMiddleware } from "../../calls/middleware.ts";
import { assertNames, type OptionNames } from "../../contract/assert-names.ts";
import { BEHIND_CALLS } from "../../contract/features.ts";
import type { LiveEvent } from "../../contract/events.ts";
import type { CallOutcome, Ledger } from "../../contract/ledger.ts";
import type { RunResult } from "../../contract/result.ts";
import type { ToolSet } from "../../contract/tool.ts";
import type {
  DiscardOptions,
  EndedRecord,
  ForkOptions,
  Host,
  ReadEndedOptions,
  ResumeOptions,
  RunHandle,
  RunOptions,
  StartOptions,
} from "../../run/host/host.ts";
import { noteSandbox, sandboxOf } from "../../run/host/host-sandbox.ts";
import { quietly } from "./quietly.ts";

export interface TracingOptions {
  /** Default: the global tracer, under the name "codecell". */
  readonly tracer?: Tracer;
}

const OF_TRACING: OptionNames<TracingOptions> = { tracer: true };

/** The same host with spans. Closing either host closes both. */
export function withTracing(host: Host, options: TracingOptions = {}): Host {
  assertNames(options, OF_TRACING, "trace a host");
  // Whatever a tracer does later changes nothing, so nobody would notice that there are no spans.
  if (options.tracer !== undefined && quietly(() => typeof options.tracer?.startSpan) !== "function") {
    throw new TypeError("Cannot trace a host: tracer must be a tracer of OpenTelemetry, with startSpan()");
  }
  return new TracedHost(host, options.tracer);
}

class TracedHost implements Host {
  readonly #host: Host;
  readonly #tracer: Tracer | undefined;

  constructor(host: Host, tracer: Tracer | undefined) {
    this.#host = host;
    noteSandbox(this, sandboxOf(host));
    this.#tracer = tracer;
  }

  get isDurable(): boolean {
    return this.#host.isDurable;
  }

  get limits(): Host["limits"] {
    return this.#host.limits;
  }

  start(options: StartOptions): RunHandle {
    return this.#traced("start", options, (traced) => this.#host.start(traced));
  }

  resume(options: ResumeOptions): RunHandle {
    return this.#traced("resume", options, (traced) => this.#host.resume(traced));
  }

  fork(ledger: Ledger, options: ForkOptions): RunHandle {
    return this.#traced("fork", options, (traced) => this.#host.fork(ledger, traced));
  }

  /** Leaves no spans: a replay calls no tool and waits for nothing. */
  replay(ledger: Ledger): RunHandle {
    return this.#host.replay(ledger);
  }

  readEnded(options: ReadEndedOptions): Promise<EndedRecord | undefined> {
    return this.#host.readEnded(options);
  }

  deleteEnded(options: ReadEndedOptions): Promise<boolean> {
    return this.#host.deleteEnded(options);
  }

  discard(options: DiscardOptions): Promise<boolean> {
    return this.#host.discard(options);
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#host[Symbol.asyncDispose]();
  }

  #traced<Options extends RunOptions>(
    beginning: string,
    options: Options,
    begin: (options: Options) => RunHandle,
  ): RunHandle {
    // Read at every start: a provider may be registered after the host was made.
    const tracer = this.#tracer ?? quietly(() => trace.getTracer("codecell"));
    if (tracer === undefined) return begin(options);
    const spans = new RunSpans(tracer, beginning, options.tools);
    try {
      const { middleware = [], onEvent } = options;
      const handle = spans.inside(() =>
        begin({
          ...options,
          // Outermost, so that the span of the call is also the parent of what other middleware records.
          middleware: [spans.middleware, ...middleware],
          onEvent: (event) => {
            spans.hear(event);
            return onEvent?.(event);
          },
        }),
      );
      handle.result.catch(() => spans.misused());
      return handle;
    } catch (error) {
      spans.misused();
      throw error;
    }
  }
}

/** An open span, and the context in which it is active. */
interface ActiveSpan {
  readonly span: Span;
  readonly context: Context;
}

class RunSpans {
  readonly #tracer: Tracer;
  readonly #tools: ToolSet;
  readonly #run: ActiveSpan | undefined;
  /** Spans of calls that have not ended, by call id. */
  readonly #calls = new Map<string, ActiveSpan>();
  #isOver = false;

  readonly middleware: CallMiddleware = {
    execute: ({ callId }, execute) => {
      const open = this.#calls.get(callId);
      return open === undefined ? execute() : context.with(open.context, () => execute());
    },
  };

  constructor(tracer: Tracer, beginning: string, tools: ToolSet = {}) {
    this.#tracer = tracer;
    this.#tools = tools;
    this.#run = this.#open("codecell.run", context.active(), { "codecell.run.beginning": beginning });
  }

  /** A call that is decided on and has no tool is one that the host serves. It is shown as the program writes it. */
  #shown(name: string): string {
    return Object.hasOwn(this.#tools, name) ? name : (BEHIND_CALLS.get(name)?.shown ?? name);
  }

  inside<T>(begin: () => T): T {
    return this.#run === undefined ? begin() : context.with(this.#run.context, begin);
  }

  hear(event: LiveEvent): void {
    switch (event.type) {
      case "call-decide":
        this.#start(event.callId, this.#shown(event.tool));
        return;
      case "call-ask":
        this.#endCall(event.callId, "asked", undefined);
        return;
      case "call-end": {
        const { callId, outcome } = event;
        // A call that was never decided on begins and ends here. The program may have chosen any name for it.
        this.#start(callId, undefined);
        if (outcome.status === "completed") this.#endCall(callId, "output", undefined);
        else this.#endCall(callId, "failure", outcome.failure.code);
        return;
      }
      case "run-end":
        this.#end(event.result);
        return;
      case "run-start":
      case "log":
      case "call-start":
      case "call-rewrite":
      case "call-execute":
      case "call-progress":
        return;
      default:
        event satisfies never;
    }
  }

  #end(result: RunResult): void {
    const { runId, stats, status } = result;
    this.#finish(
      {
        "codecell.run.id": runId,
        "codecell.run.status": status,
        "codecell.run.calls": stats.calls,
        "codecell.run.cpu_time_ms": stats.cpuTimeMs,
        "codecell.run.rebuilds": stats.rebuilds,
      },
      status === "failed" ? result.failure.code : undefined,
    );
  }

  /** The host refused to begin the run. The caller gets the reason: a throw, or the result's rejection. */
  misused(): void {
    this.#finish({ "codecell.run.status": "refused" }, "misuse");
  }

  #finish(attributes: Attributes, failure: string | undefined): void {
    this.#isOver = true;
    // Calls of a suspended run go on without the run, and calls of a failed run may.
    for (const callId of this.#calls.keys()) this.#endCall(callId, "abandoned", undefined);
    close(this.#run, attributes, failure);
  }

  #start(callId: string, tool: string | undefined): void {
    // Nobody would end a span that begins after the run's end.
    if (this.#isOver || this.#calls.has(callId) || this.#run === undefined) return;
    const open = this.#open(tool === undefined ? "execute_tool" : `execute_tool ${tool}`, this.#run.context, {
      "gen_ai.operation.name": "execute_tool",
      ...(tool === undefined ? {} : { "gen_ai.tool.name": tool }),
      "gen_ai.tool.call.id": callId,
    });
    if (open !== undefined) this.#calls.set(callId, open);
  }

  #endCall(callId: string, outcome: CallOutcome["kind"] | "abandoned", failure: string | undefined): void {
    const open = this.#calls.get(callId);
    this.#calls.delete(callId);
    close(open, { "codecell.call.outcome": outcome }, failure);
  }

  #open(name: string, parent: Context, attributes: Attributes): ActiveSpan | undefined {
    return quietly(() => {
      const span = this.#tracer.startSpan(name, { kind: SpanKind.INTERNAL, attributes }, parent);
      return { span, context: trace.setSpan(parent, span) };
    });
  }
}

function close(open: ActiveSpan | undefined, attributes: Attributes, failure: string | undefined): void {
  if (open === undefined) return;
  const { span } = open;
  quietly(() => span.setAttributes(attributes));
  if (failure !== undefined) {
    quietly(() => span.setAttribute("error.type", failure));
    quietly(() => span.setStatus({ code: SpanStatusCode.ERROR }));
  }
  quietly(() => span.end());
}
