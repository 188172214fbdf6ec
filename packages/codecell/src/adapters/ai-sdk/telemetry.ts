/**
 * Runs on the host. Telemetry: OpenTelemetry spans of an invocation, with a child span for each of its calls.
 *
 * - Spans tell names, ids, states, sizes and errors; never a source, an input, an output, or the query of a URL.
 * - The parent of the invocation's span is the span that is active where the invocation starts: the AI SDK's tool call,
 *   if the AI SDK records one. The parent of what a nested tool records is the span of its call.
 * - Whatever a tracer does, the program does not notice.
 */
import { readUrl } from "../../fetch/check-url.ts";
import { quietly } from "../otel/quietly.ts";
import type { CodeModeTraceError } from "./events.ts";

export interface CodeModeTelemetryOptions {
  isEnabled?: boolean;
  /** Default: OpenTelemetry's global tracer. */
  tracer?: unknown;
  /** Whether spans tell the sizes of sources and inputs. Default: true. */
  recordInputs?: boolean;
  recordOutputs?: boolean;
  functionId?: string;
  metadata?: Record<string, unknown>;
}

/**
 * The part of `@opentelemetry/api` that is used here. With that package's own types, everybody who uses ours would need
 * the package.
 */
interface Api {
  readonly trace: {
    readonly getTracer: (name: string) => Tracer;
    readonly setSpan: (context: Context, span: Span) => Context;
  };
  readonly context: {
    readonly active: () => Context;
    readonly with: <T>(context: Context, execute: () => T) => T;
  };
}

interface Tracer {
  readonly startSpan: (name: string, options: { attributes: Attributes }, parent?: Context) => Span;
}

/** Opaque. */
interface Context {
  readonly getValue: (key: symbol) => unknown;
}

type Attributes = Readonly<Record<string, unknown>>;

/** The part of a span that is used here. A method that a tracer's span lacks is not called. */
interface Span {
  spanContext?: () => unknown;
  setAttributes?: (attributes: Attributes) => unknown;
  addEvent?: (name: string, attributes?: Attributes) => unknown;
  recordException?: (error: CodeModeTraceError) => unknown;
  setStatus?: (status: { code: number; message?: string }) => unknown;
  end?: () => unknown;
}

interface OpenSpan {
  readonly span: Span;
  readonly context: Context | undefined;
}

/** What is known when a span starts; `inputBytes` and `sourceBytes` only if `recordInputs` allows them. */
export interface CallFacts {
  readonly index: number;
  readonly replayed: boolean;
  readonly inputBytes: number;
  readonly kind: "tool" | "fetch";
  readonly attributes: Attributes;
}

export interface EndFacts {
  readonly status: string;
  readonly outputBytes?: number | undefined;
  readonly error?: CodeModeTraceError | undefined;
}

const TRACER_NAME = "codecell";
const STATUS_ERROR = 2;

export class Spans {
  readonly #api: Api | undefined;
  readonly #tracer: Tracer;
  readonly #options: CodeModeTelemetryOptions;
  readonly #ids: Attributes;
  readonly #root: OpenSpan | undefined;
  readonly #calls = new Map<number, OpenSpan>();
  #isEnded = false;

  private constructor(
    api: Api | undefined,
    tracer: Tracer,
    options: CodeModeTelemetryOptions,
    ids: Attributes,
    facts: Attributes,
  ) {
    this.#api = api;
    this.#tracer = tracer;
    this.#options = options;
    this.#ids = ids;
    this.#root = this.#start("ai.code_mode.execute", facts, undefined);
  }

  /** Undefined if nobody wants spans. */
  static async open(
    options: CodeModeTelemetryOptions | undefined,
    ids: { readonly invocationId: string; readonly outerToolCallId: string },
    { sourceBytes, ...facts }: { readonly sourceBytes: number } & Attributes,
  ): Promise<Spans | undefined> {
    if (options?.isEnabled !== true) return undefined;
    const api = await loadApi();
    const tracer = (options.tracer as Tracer | undefined) ?? api?.trace.getTracer(TRACER_NAME);
    if (quietly(() => typeof tracer?.startSpan) !== "function" || tracer === undefined) {
      warnOnce();
      return undefined;
    }
    return new Spans(
      api,
      tracer,
      options,
      {
        "code_mode.invocation.id": ids.invocationId,
        "code_mode.outer_tool_call.id": ids.outerToolCallId,
      },
      { ...facts, ...(options.recordInputs === false ? {} : { "code_mode.source.bytes": sourceBytes }) },
    );
  }

  start({ index, kind, replayed, inputBytes, attributes }: CallFacts): void {
    const bytes = { [`code_mode.${kind}.input.bytes`]: inputBytes };
    // Nobody would end a span that begins after the invocation's end.
    if (this.#isEnded) return;
    const started = this.#start(
      kind === "tool" ? "ai.code_mode.nested_tool" : "ai.code_mode.fetch",
      {
        "code_mode.bridge.index": index + 1,
        "code_mode.replayed": replayed,
        ...attributes,
        ...(this.#options.recordInputs === false ? {} : bytes),
      },
      this.#root?.context,
    );
    if (started !== undefined) this.#calls.set(index, started);
  }

  /** Executes a call with the call's span as the active span. */
  inside<T>(index: number, execute: () => T): T {
    const context = this.#calls.get(index)?.context;
    if (this.#api === undefined || context === undefined) return execute();
    return this.#api.context.with(context, execute);
  }

  endCall(index: number, kind: CallFacts["kind"], { status, outputBytes, error }: EndFacts): void {
    const open = this.#calls.get(index);
    this.#calls.delete(index);
    const isTold = outputBytes !== undefined && this.#options.recordOutputs !== false;
    this.#end(
      open,
      { "code_mode.status": status, ...(isTold ? { [`code_mode.${kind}.output.bytes`]: outputBytes } : {}) },
      error,
    );
  }

  /** Ends the invocation's span, once. Later facts are ignored. */
  end(attributes: Attributes, error: CodeModeTraceError | undefined): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    // Calls that the program left behind end with the program.
    for (const [index] of this.#calls) this.endCall(index, "tool", { status: "abandoned" });
    this.#end(this.#root, attributes, error);
  }

  #start(name: string, attributes: Attributes, parent: Context | undefined): OpenSpan | undefined {
    return quietly(() => {
      const all = { ...this.#common(), ...this.#ids, ...attributes };
      const under = parent ?? this.#api?.context.active();
      const span = this.#tracer.startSpan(name, { attributes: onlyPlain(all) }, under);
      // An object that is not a real span must not become the parent of a tool's own spans.
      const isTrue = under !== undefined && typeof span.spanContext === "function";
      return { span, context: isTrue ? this.#api?.trace.setSpan(under, span) : undefined };
    });
  }

  #end(open: OpenSpan | undefined, attributes: Attributes, error: CodeModeTraceError | undefined): void {
    if (open === undefined) return;
    const { span } = open;
    quietly(() => span.setAttributes?.(onlyPlain(attributes)));
    if (error !== undefined) {
      const { name, message, code } = error;
      quietly(() => span.recordException?.({ name, message, ...(code === undefined ? {} : { code }) }));
      quietly(() => span.setStatus?.({ code: STATUS_ERROR, message }));
      quietly(() =>
        span.setAttributes?.(
          onlyPlain({
            "code_mode.error.name": name,
            "code_mode.error.message": message,
            "code_mode.error.code": code,
          }),
        ),
      );
    }
    quietly(() => span.end?.());
  }

  #common(): Attributes {
    const { functionId, metadata = {} } = this.#options;
    const own = Object.entries(metadata).map(([key, value]) => [`ai.telemetry.metadata.${key}`, value]);
    return {
      "ai.telemetry.functionId": functionId,
      "resource.name": functionId,
      ...(Object.fromEntries(own) as Attributes),
    };
  }
}

let isWarned = false;

/** Programs run without OpenTelemetry too. */
function warnOnce(): void {
  if (isWarned) return;
  isWarned = true;
  process.emitWarning(
    "Cannot record telemetry of code mode: give telemetry.tracer, or install @opentelemetry/api for its global one",
    { code: "CODECELL_NO_TRACER" },
  );
}

/** The origin and the path of a URL: the query and the fragment may hold secrets. */
export function withoutQuery(url: string): string {
  const read = readUrl(url);
  return read === undefined ? "" : `${read.origin}${read.pathname}`;
}

async function loadApi(): Promise<Api | undefined> {
  try {
    return (await import("@opentelemetry/api")) as unknown as Api;
  } catch {
    // The package is an optional peer: a given tracer works without the package.
    return undefined;
  }
}

/** Keeps only values that OpenTelemetry takes: texts, numbers, booleans and lists of them. */
function onlyPlain(attributes: Attributes): Attributes {
  const kept = Object.entries(attributes).filter(
    ([, value]) => isPlain(value) || (Array.isArray(value) && value.every(isPlain)),
  );
  return Object.fromEntries(kept);
}

function isPlain(value: unknown): boolean {
  return ["string", "number", "boolean"].includes(typeof value);
}
