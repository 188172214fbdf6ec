/**
 * Runs anywhere. The setting of the feature `connectors`: which handles a program has, and how they are declared.
 *
 * - The same words stand in what a model is shown and in what the check knows: both come from `declareHandles`.
 * - Handles are called as their root is: `connectors` gives ConnectorHandle and ConnectorsResult, `caplets` gives
 *   CapletHandle and CapletsResult.
 */

/** What a program is started with. It holds no card: a program asks for cards. */
export interface HandleSetting {
  /** The name of the global that holds the handles. */
  readonly root: string;
  /** By the ids of the handles, in their order: the beginning of the ids of their tools, as in `mcp:github:`. */
  readonly handles: Readonly<Record<string, string>>;
}

/** A handle, with what a model reads of its backend. */
export interface DeclaredHandle {
  readonly id: string;
  readonly hint: string;
}

const LONGEST_HINT = 240;

/** The declarations of the root object and of all that its handles give, for a model and for the check. */
export function declareHandles(root: string, handles: readonly DeclaredHandle[]): string {
  const names = namesFor(root);
  const members = handles.map(({ id, hint }) => {
    const shown = toHint(hint);
    return `${shown === "" ? "" : `/** ${shown} */ `}${JSON.stringify(id)}: ${names.handle}<${JSON.stringify(id)}>;`;
  });
  return `declare const ${root}: {\n${members.map((member) => `  ${member}\n`).join("")}};\n${typesFor(names)}`;
}

/** One line that cannot end its comment. */
function toHint(hint: string): string {
  const line = hint.replaceAll(/\s+/gu, " ").replaceAll("*/", "*\u2009/").trim();
  return line.length <= LONGEST_HINT ? line : `${line.slice(0, LONGEST_HINT - 1).toWellFormed()}…`;
}

interface TypeNames {
  readonly handle: string;
  readonly result: string;
  readonly meta: string;
  readonly error: string;
  readonly card: string;
}

/** The name of the type of what `callTool` and its like give. */
export function resultTypeOf(root: string): string {
  return namesFor(root).result;
}

function namesFor(root: string): TypeNames {
  const many = `${root.charAt(0).toUpperCase()}${root.slice(1)}`;
  const one = many.endsWith("s") ? many.slice(0, -1) : many;
  return {
    handle: `${one}Handle`,
    card: `${one}Card`,
    result: `${many}Result`,
    meta: `${many}Meta`,
    error: `${many}Error`,
  };
}

function typesFor({ handle, card, result, meta, error }: TypeNames): string {
  return `interface ${handle}<Id extends string> {
  readonly id: Id;
  /** The card: what the backend is for. No schemas. */
  inspect(): Promise<${card}<Id>>;
  /** Whether the backend is ready and lets us in; ok: false says why not. */
  check(): Promise<${result}<unknown>>;
  /** Summaries of tools, page by page. */
  tools(input?: PageInput): Promise<Page<ToolSummary>>;
  /** Tools for a request in words, best first; may be empty. */
  searchTools(query: string, input?: PageInput): Promise<Page<ToolSummary>>;
  /** Schemas, callSignature, types, examples. Prefer outputSchema to observedOutputShape. */
  describeTool(name: string): Promise<${result}<ToolDescriptor>>;
  /** Calls one tool. Expected failures are ok: false. Filter bulky data before returning it. */
  callTool(name: string, args?: unknown): Promise<${result}<unknown>>;
  /** Resources that can be read; many backends have none. */
  resources(input?: PageInput): Promise<Page<ResourceSummary>>;
  searchResources(query: string, input?: PageInput): Promise<Page<ResourceSummary>>;
  resourceTemplates(input?: PageInput): Promise<Page<ResourceTemplateSummary>>;
  readResource(uri: string): Promise<${result}<unknown>>;
  /** Prompts; many backends have none. */
  prompts(input?: PageInput): Promise<Page<PromptSummary>>;
  searchPrompts(query: string, input?: PageInput): Promise<Page<PromptSummary>>;
  getPrompt(name: string, args?: unknown): Promise<${result}<unknown>>;
  /** Values for an argument of a prompt or a resource template. */
  complete(input: CompleteInput): Promise<${result}<unknown>>;
}
type ${card}<Id extends string> = { id: Id; name: string; description: string; useWhen?: string; avoidWhen?: string; tags?: string[]; backend?: unknown };
type PageInput = { limit?: number; cursor?: string | undefined };
type Page<T> = { items: T[]; nextCursor?: string; truncated?: boolean };
type ${result}<T> = { ok: true; data: T; meta?: ${meta} } | { ok: false; error: ${error}; meta?: ${meta} };
type ${meta} = { [key: string]: unknown };
type ${error} = { code: string; message: string; details?: unknown };
type ToolSummary = { /** The exact name for describeTool and callTool. */ name: string; title?: string; description?: string; useWhen?: string; avoidWhen?: string; readOnlyHint?: boolean; destructiveHint?: boolean };
type ToolDescriptor = { id?: string; tool?: unknown; inputSchema?: unknown; outputSchema?: unknown; callSignature?: string; inputTypeScript?: string; outputTypeScript?: string; observedOutputShape?: ObservedOutputShape; examples?: unknown[] };
type ObservedOutputShape = { version: 1; source: "observed"; observedAt: string; sampleCount: number; typeScript: string; jsonShape: JsonShape; truncated: boolean };
type JsonShape = { kind: "null" } | { kind: "boolean" } | { kind: "number" } | { kind: "string" } | { kind: "unknown" } | { kind: "array"; element?: JsonShape; truncated?: boolean } | { kind: "object"; fields: Record<string, { optional: boolean; shape: JsonShape }>; truncated?: boolean } | { kind: "union"; variants: JsonShape[] };
type ResourceSummary = { uri?: string; name?: string; title?: string; description?: string };
type ResourceTemplateSummary = { uriTemplate?: string; name?: string; title?: string; description?: string };
type PromptSummary = { name?: string; title?: string; description?: string };
type CompleteInput = { ref: { type: "prompt"; name: string } | { type: "resourceTemplate"; uri: string }; argument: { name: string; value: string }; context?: { arguments?: Record<string, string> } };
`;
}
