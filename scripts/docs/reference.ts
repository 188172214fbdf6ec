/**
 * The reference: pages of options, limits, failures, events and exports, rendered from the code.
 *
 * - All pages in docs/reference are generated; nothing there is written by hand.
 * - A type is found by its public name, and a table of codes or bounds is imported: rendering fails if one of them is
 *   gone.
 */
import { CODE_MODE_BOUNDS } from "../../packages/codecell/src/surface/config.ts";
import { CODE_MODE_ERROR_CODES } from "../../packages/codecell/src/surface/shown/code-mode-result.ts";
import { CALL_FAILURE_CODES, FAILURE_CODES } from "../../packages/codecell/src/contract/failure.ts";
import { type Bound, LIMIT_BOUNDS } from "../../packages/codecell/src/contract/limits.ts";
import { STORE_ERROR_CODES } from "../../packages/codecell/src/contract/store.ts";
import {
  allFieldsOf,
  alternativesOf,
  declarationOf,
  entriesOf,
  type Entry,
  type Field,
  fieldsOf,
  literalsOf,
  parentsOf,
} from "./declared.ts";

type Row = readonly string[];

/** A heading, a sentence, and the types whose fields are listed under it. */
interface Section {
  readonly title: string;
  readonly text: string;
  readonly types: readonly string[];
}

const NOTE = "Made from the code by `npm run docs`. Do not edit.";

const OPTIONS: readonly Section[] = [
  {
    title: "createHost",
    text: "`createHost(options)` owns the worker threads; `run(options)` uses a host that the process shares.",
    types: ["HostOptions"],
  },
  {
    title: "Runs",
    text: "What `run`, `host.start`, `host.resume`, `host.fork` and `host.discard` take, and what a handle has.",
    types: ["StartOptions", "RunOptions", "ResumeOptions", "ForkOptions", "DiscardOptions", "RunHandle"],
  },
  {
    title: "A tool",
    text: "What `defineTool` takes, and what `execute` is given as its second argument.",
    types: ["Tool", "CallContext"],
  },
  {
    title: "Middleware",
    text: "What stands between calls and their tools. See [Decide about calls](../guide/decide-about-calls.md).",
    types: ["CallMiddleware", "CallDetails"],
  },
  { title: "Fetch policy", text: "See [Fetch](../guide/fetch.md).", types: ["FetchPolicy"] },
  {
    title: "The check",
    text: "See [Check programs](../guide/check.md).",
    types: ["HostCheck", "CheckerOptions", "CheckRequest"],
  },
  {
    title: "Stores",
    text: "See [Stores and durable runs](../guide/stores.md).",
    types: ["SqliteStoreOptions", "PostgresStoreOptions", "ListQuery"],
  },
  {
    title: "Declarations and catalogs",
    text: "See [Declarations](../guide/declarations.md) and [Catalog and search](../guide/catalog.md).",
    types: [
      "DeclareOptions",
      "CatalogOptions",
      "CatalogPolicy",
      "ToolSource",
      "SearchOptions",
      "ShapeMemoryOptions",
    ],
  },
  {
    title: "exec and wait",
    text: "See [exec and wait](../guide/exec-and-wait.md). Settings of `config` are among the [limits](limits.md#exec-and-wait).",
    types: ["AgentRuntimeOptions", "AgentRunOptions", "PreparedAgentRun", "TrajectoryOptions"],
  },
  {
    title: "AI SDK",
    text: "Defaults are in [AI SDK](../guide/ai-sdk.md#options).",
    types: [
      "CodeModeOptions",
      "CodeModeExecutionPolicy",
      "CodeModeApprovalOptions",
      "CodeModeContinuationOptions",
      "CodeModeModelOutputOptions",
      "CodeModeTelemetryOptions",
      "ExecWaitOptions",
    ],
  },
];

/** Texts of the pages, by path below docs/reference. */
export function renderReference(): Readonly<Record<string, string>> {
  const entries = entriesOf("packages/codecell");
  return {
    "index.md": page("Reference", [
      "Everything here is made from the code, and a test fails when it is stale.",
      [
        "- [Options](options.md): what functions and objects take.",
        "- [Limits](limits.md): names, defaults and bounds.",
        "- [Failures](failures.md): every code, and what it means.",
        "- [Events and results](events.md): what a run tells, and how it ends.",
        "- [Exports](exports.md): what each entry of the package exports.",
      ].join("\n"),
    ]),
    "options.md": page("Options", [
      "`?` marks what may be left out.",
      ...OPTIONS.flatMap((section) => optionSection(section, entries)),
    ]),
    "limits.md": limitsPage(entries),
    "failures.md": failuresPage(entries),
    "events.md": eventsPage(entries),
    "exports.md": page("Exports", entries.flatMap(entrySection)),
  };
}

function optionSection({ title, text, types }: Section, entries: readonly Entry[]): string[] {
  return [`## ${title}`, text, ...types.flatMap((name) => typeSection(name, entries))];
}

function typeSection(name: string, entries: readonly Entry[]): string[] {
  const declaration = declarationOf(name, entries);
  const parents = parentsOf(declaration).map((parent) => code(parent));
  const fields = fieldsOf(declaration);
  return [
    `### ${name}`,
    ...(declaration.comment === "" ? [] : [prose(declaration.comment)]),
    ...(parents.length === 0 ? [] : [`Has all of ${parents.join(" and ")} as well.`]),
    ...(fields.length === 0 ? [] : [fieldTable(fields, entries)]),
  ];
}

function fieldTable(fields: readonly Field[], entries: readonly Entry[]): string {
  return table([
    ["Name", "Type", "Meaning"],
    ...fields.map(({ name, type, isOptional, comment }) => [
      code(isOptional ? `${name}?` : name),
      code(spelledOut(type, entries)),
      prose(comment),
    ]),
  ]);
}

/** If a type is a name for a few texts, gives the texts. */
function spelledOut(type: string, entries: readonly Entry[]): string {
  const named = entries.flatMap(({ exports }) => exports).find(({ name }) => name === type);
  return (named === undefined ? undefined : literalsOf(named)) ?? type;
}

function limitsPage(entries: readonly Entry[]): string {
  return page("Limits", [
    "See [Limits](../guide/limits.md) for how to give them.",
    "## Of a run",
    boundTable(LIMIT_BOUNDS, fieldsOf(declarationOf("Limits", entries))),
    "## exec and wait",
    "What an operator may write in `config`, beside `enabled`, `runtime`, `mode` and `languages`.",
    boundTable(CODE_MODE_BOUNDS, allFieldsOf(declarationOf("CodeModeSettings", entries))),
  ]);
}

function boundTable(bounds: Readonly<Record<string, Bound>>, fields: readonly Field[]): string {
  return table([
    ["Name", "Default", "Least", "Most", "What it bounds"],
    ...Object.entries(bounds).map(([name, bound]) => {
      const comment = fields.find((field) => field.name === name)?.comment ?? "";
      if (comment === "") throw new Error(`Cannot document limit "${name}": it has no comment`);
      const [usual = "", least = "", most = ""] = [bound.default, bound.min, bound.max].map((value) =>
        renderNumber(name, value),
      );
      return [code(name), usual, least, most, prose(comment)];
    }),
  ]);
}

function failuresPage(entries: readonly Entry[]): string {
  const errors = entries
    .flatMap(({ exports }) => exports)
    .filter(({ name, kind }) => kind === "class" && name.startsWith("CodeMode"));
  return page("Failures", [
    "A code never changes its meaning. The host and the worker assign it; nothing that a program throws can choose it.",
    "## Runs",
    "`result.failure.code` of a result that is `failed`.",
    codeTable(FAILURE_CODES),
    "## Calls",
    "A failed call rejects in the program with an error that has one of these as `code`.",
    codeTable(CALL_FAILURE_CODES),
    "## exec and wait",
    "`code` of an answer of `exec` or `wait` that is `failed`.",
    codeTable(CODE_MODE_ERROR_CODES),
    "## Stores",
    "`code` of a `StoreError`.",
    codeTable(STORE_ERROR_CODES),
    "## AI SDK",
    "Classes of errors that `codecell/ai` throws.",
    table([
      ["Class", "Code", "Meaning"],
      ...errors.map(({ name, comment, node, file }) => {
        const [, found = ""] = /"(CODE_MODE_\w+)"/u.exec(file.text.slice(node.start, node.end)) ?? [];
        return [code(name), code(found), prose(comment)];
      }),
    ]),
    "## Errors of the host's own code",
    "`source` of what `onError` is told. See [Watch a run](../guide/watch-a-run.md#errors-of-your-own-code).",
    ...typeSection("HostError", entries),
  ]);
}

function eventsPage(entries: readonly Entry[]): string {
  const events = alternativesOf(declarationOf("RunEvent", entries));
  const steps = alternativesOf(declarationOf("CallStep", entries));
  const outcomes = alternativesOf(declarationOf("OutcomeSummary", entries));
  const results = alternativesOf(declarationOf("RunResult", entries));
  const valueOf = (fields: readonly Field[], name: string): string =>
    (fields.find((field) => field.name === name)?.type ?? "").replaceAll('"', "");
  const section = (fields: readonly Field[], by: string, before = ""): string[] => [
    `### ${before}${valueOf(fields, by)}`,
    fieldTable(
      fields.filter(({ name }) => name !== by),
      entries,
    ),
  ];
  return page("Events and results", [
    "See [Watch a run](../guide/watch-a-run.md) and [Run a program](../guide/run-a-program.md).",
    "## Events",
    "`events` of a run's handle has these. `onEvent` hears them too, each with the time of the event (`at`, in milliseconds since the epoch) and a `call-start` with its `inputText`.",
    ...events.flatMap((fields) => section(fields, "type")),
    "## Steps of calls",
    "Only `onEvent` hears these. They also have `runId`, `callId`, `index`, `tool` and `at`.",
    ...steps.flatMap((fields) => section(fields, "type")),
    "## Outcomes of calls",
    "What a `call-end` says of an outcome, and the inspection of a ledger too.",
    ...outcomes.flatMap((fields) => section(fields, "status", "Call ")),
    "## Results",
    "Every result has `runId`, `logs`, `logsDropped` and `stats`.",
    ...results.flatMap((fields) => section(fields, "status")),
    "## What they hold",
    ...["Failure", "CallFailure", "LogLine", "RunStats", "Suspension", "PendingCall"].flatMap((name) =>
      typeSection(name, entries),
    ),
  ]);
}

function entrySection({ specifier, exports }: Entry): string[] {
  const rows = exports.map(({ name, kind, comment }) => [code(name), kind, prose(comment)]);
  const values = rows.filter(([, kind]) => kind !== "type");
  const types = rows.filter(([, kind]) => kind === "type");
  return [
    `## ${specifier}`,
    ...(values.length === 0 ? [] : [table([["Value", "Kind", "Meaning"], ...values])]),
    ...(types.length === 0
      ? []
      : [table([["Type", "Meaning"], ...types.map(([name = "", , text = ""]) => [name, text])])]),
  ];
}

function codeTable(codes: Readonly<Record<string, string>>): string {
  return table([
    ["Code", "Meaning"],
    ...Object.entries(codes).map(([name, meaning]) => [code(name), prose(meaning)]),
  ]);
}

function renderNumber(name: string, value: number): string {
  if (name.endsWith("Bytes")) {
    for (const [unit, bytes] of [
      ["GiB", 1024 ** 3],
      ["MiB", 1024 ** 2],
      ["KiB", 1024],
    ] as const) {
      if (value >= bytes && value % bytes === 0) return `${value / bytes} ${unit}`;
    }
    return `${value} B`;
  }
  return value.toLocaleString("en");
}

function page(title: string, parts: readonly string[]): string {
  return `${[`<!-- ${NOTE} -->`, `# ${title}`, ...parts].join("\n\n")}\n`;
}

function table([head = [], ...body]: readonly Row[]): string {
  return [head, head.map(() => "---"), ...body].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** In a table a bar ends a cell even inside code. */
function code(text: string): string {
  return text === "" ? "" : `\`${text.replaceAll("|", "\\|")}\``;
}

/** Escapes markup outside code. */
function prose(text: string): string {
  return text
    .split(/(`[^`]*`)/u)
    .map((part, index) => (index % 2 === 1 ? part : part.replaceAll("<", "&lt;").replaceAll("{{", "&#123;{")))
    .join("")
    .replaceAll("|", "\\|");
}
