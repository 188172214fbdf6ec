/**
 * graphql: a connector to a GraphQL API. Runs on the host.
 *
 * - One tool for each query and each mutation, and one for documents that a program writes itself.
 * - The schema is read when somebody first asks, on a thread of its own. So is every document, before it is sent.
 * - A schema that cannot be read again leaves the one before in place.
 */
import type { JsonSchema } from "codecell";
import { bounded } from "../backend/bounded.ts";
import type { Hidden, HiddenTexts } from "../backend/hidden-texts.ts";
import type {
  BackendOutput,
  BackendRequest,
  BackendTool,
  ChangedList,
  Connector,
  Facts,
  Readiness,
  ToolRequest,
} from "../contract/connector.ts";
import { ConnectorError, noSuchTool } from "../contract/connector-error.ts";
import { describedTool, planOf } from "../description/described-tools.ts";
import { KeptDescription } from "../description/kept-description.ts";
import { jsonBody } from "../web/body.ts";
import { throughDoor } from "../secrets/door.ts";
import type { Credential } from "../web/credentials.ts";
import { createDraft, type Draft } from "../web/draft.ts";
import { InputRefused, prepared } from "../web/input-refused.ts";
import { openWebClient } from "../web/open-web-client.ts";
import type { WebCall, WebClient } from "../web/web-client.ts";
import {
  checkCredentials,
  misconfigured,
  parseBaseUrl,
  type ResolvedWebOptions,
  WEB_PLACES,
  type WebOptions,
  webSecrets,
} from "../web/web-options.ts";
import { readAnswer } from "./answer.ts";
import { documentTool, givenDocument, problemText } from "./document-tool.ts";
import { openSchema, type SchemaPlace, type SchemaSource } from "./open-schema.ts";
import type { CheckAnswer, CheckQuestion, DescribedSchema, FieldPlan } from "./schema/messages.ts";
import { NoAnswer, type SchemaThread } from "./schema/schema-thread.ts";
import { QUERY_TOOL } from "./schema/tool-names.ts";

export interface GraphqlOptions extends Omit<WebOptions, "checkPath"> {
  /** Where requests go: `https://api.example.com/graphql`. */
  readonly endpoint: string;
  readonly credentials?: readonly Credential[];
  /**
   * The schema as a text, or a file that has it, in GraphQL's language or as the JSON of an introspection. If absent,
   * the endpoint is asked for it.
   */
  readonly schema?: SchemaSource;
  /** For how long a schema from a file or the endpoint is used before it is read again. One hour if absent. */
  readonly schemaTtlMs?: number;
  /** How many bytes the schema may have. 20,000,000 if absent. */
  readonly schemaBytes?: number;
  /** Leaves out mutations, also in documents that a program writes. */
  readonly queriesOnly?: boolean;
  /** How many levels of fields the tools select. 2 if absent. */
  readonly selectionDepth?: number;
  /** How many fields a tool selects at most. 150 if absent. */
  readonly selectionFields?: number;
  /** What values of the schema's own scalars are, by the names of the scalars. */
  readonly scalars?: Readonly<Record<string, JsonSchema>>;
  /** Whether the backend is believed that its queries change nothing. */
  readonly isTrusted?: boolean;
}

const DEFAULT_SCHEMA_BYTES = 20_000_000;
const DEFAULT_DEPTH = 2;
const MOST_DEPTH = 10;
const DEFAULT_FIELDS = 150;
const MOST_FIELDS = 5000;
const ACCEPT = "application/graphql-response+json, application/json;q=0.9";

interface FieldTool {
  readonly tool: BackendTool;
  readonly plan: () => FieldPlan;
}

/** A schema that was read, and what the configuration makes of it. */
interface Api {
  readonly described: DescribedSchema;
  readonly thread: SchemaThread;
  readonly fields: ReadonlyMap<string, FieldTool>;
  readonly tools: readonly BackendTool[];
}

export function graphql(options: GraphqlOptions): Connector {
  return throughDoor(options, {
    kind: "graphql",
    places: { texts: WEB_PLACES.texts, urls: ["endpoint"] },
    plainSecrets: (given) => webSecrets(given, given.credentials ?? [], given.endpoint),
    make: (resolved, hidden) => new GraphqlConnector(resolved, hidden),
  });
}

class GraphqlConnector implements Connector {
  readonly id: string;
  readonly kind = "graphql" as const;
  readonly card: Connector["card"];
  readonly facts: Facts;
  readonly identity: string;
  readonly isTrusted: boolean;
  readonly #given: GraphqlOptions;
  readonly #options: ResolvedWebOptions;
  readonly #endpoint: URL;
  readonly #credentials: readonly Credential[];
  readonly #client: WebClient;
  readonly #description: KeptDescription<Api>;
  readonly #hidden: HiddenTexts;
  #thread: SchemaThread | undefined;

  constructor(options: GraphqlOptions, hidden: Hidden) {
    const { credentials = [], schema } = options;
    this.#given = options;
    this.#hidden = hidden.inErrors;
    const { options: resolved, client, facts, identityOf } = openWebClient("graphql", options, hidden);
    const { id, card } = resolved;
    [this.#options, this.#client] = [resolved, client];
    this.#endpoint = parseBaseUrl(id, options.endpoint, "endpoint");
    checkCredentials(id, credentials);
    this.#credentials = credentials;
    checkCounts(options);
    const isGiven = schema !== undefined && "sdl" in schema;
    const ttlMs = isGiven ? Number.POSITIVE_INFINITY : options.schemaTtlMs;
    const load = (signal: AbortSignal): Promise<Api> => this.#load(signal);
    this.#description = new KeptDescription({ connector: id, client, ttlMs, load });
    [this.id, this.card, this.isTrusted] = [id, card, options.isTrusted ?? false];
    const source = schema === undefined ? "introspection" : isGiven ? "text" : "file";
    this.facts = { transport: this.#endpoint.protocol.slice(0, -1), schema: source, ...facts };
    this.identity = identityOf(this.#endpoint.href);
  }

  /** Asks for nothing but the name of a type: a backend that answers that lets us in. */
  async check({ signal }: BackendRequest): Promise<Readiness> {
    const { described, tools } = await this.#description.get("the check", signal);
    const call = this.#callOf("the check", this.#draftOf({ query: "{ __typename }" }), true);
    await this.#answered(call, "__typename", signal);
    const { types, problems } = described;
    const [problem] = problems;
    return { tools: tools.length, about: problem === undefined ? { types } : { types, problem } };
  }

  async tools({ signal }: BackendRequest): Promise<readonly BackendTool[]> {
    return (await this.#description.get("listing the tools", signal)).tools;
  }

  async callTool(
    name: string,
    input: Readonly<Record<string, unknown>>,
    { signal }: ToolRequest,
  ): Promise<BackendOutput> {
    const what = `calling "${name}"`;
    const api = await this.#description.get(what, signal);
    if (name === QUERY_TOOL) return this.#runDocument(what, api, input, signal);
    const tool = api.fields.get(name);
    if (tool === undefined) throw noSuchTool(this.id, name);
    const { kind, field, document, arguments: args } = tool.plan();
    const draft = prepared(this.id, what, () => {
      const unknown = Object.keys(input).find((one) => !args.includes(one));
      if (unknown !== undefined) throw new InputRefused(`it takes no "${unknown}"`);
      return this.#draftOf({ query: document, variables: input });
    });
    return this.#answered(this.#callOf(what, draft, kind === "query"), field, signal);
  }

  onChange(listener: (list: ChangedList) => void): () => void {
    return this.#description.onChange(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#description[Symbol.dispose]();
    this.#client[Symbol.dispose]();
    this.#thread?.[Symbol.dispose]();
  }

  async #runDocument(
    what: string,
    { thread }: Api,
    input: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ): Promise<BackendOutput> {
    const { queriesOnly = false } = this.#given;
    const { draft, question } = prepared(this.id, what, () => {
      const { document, variables, operationName } = givenDocument(input);
      const named = operationName === undefined ? {} : { operationName };
      return {
        draft: this.#draftOf({ query: document, variables, ...named }),
        question: { document, variables: JSON.stringify(variables), operationName, queriesOnly },
      };
    });
    const answer = await this.#checked(what, thread, { kind: "check", ...question }, signal);
    if (answer.kind === "unsound") {
      const { problems } = answer;
      const message = `Stopped ${what}: the document cannot be sent, correct it:\n${problemText(problems)}`;
      throw new ConnectorError(this.id, "REQUEST_INVALID", message, {
        details: { problems },
        hasNoEffect: true,
      });
    }
    return this.#answered(this.#callOf(what, draft, !answer.mayWrite), undefined, signal);
  }

  async #answered(call: WebCall, field: string | undefined, signal: AbortSignal): Promise<BackendOutput> {
    const output = await this.#client.call(call, signal);
    return readAnswer({ connector: this.id, what: call.what, field, hidden: this.#hidden }, output);
  }

  async #checked(
    what: string,
    thread: SchemaThread,
    question: CheckQuestion,
    signal: AbortSignal,
  ): Promise<CheckAnswer> {
    const { timeoutMs } = this.#options;
    const either = AbortSignal.any([signal, this.#client.ended]);
    try {
      return await bounded({ connector: this.id, what, timeoutMs, signal: either }, (bound) =>
        thread.check(question, bound),
      );
    } catch (cause) {
      if (!(cause instanceof NoAnswer)) throw cause;
      this.#client.refuseEnded(what);
      const message = `Stopped ${what}: checking the document took too much time or memory, make it smaller`;
      throw new ConnectorError(this.id, "REQUEST_INVALID", message, { cause, hasNoEffect: true });
    }
  }

  #draftOf(body: Readonly<Record<string, unknown>>): Draft {
    // The slash at the end of an endpoint belongs to it.
    const draft = createDraft("POST", this.#endpoint.pathname.endsWith("/") ? "/" : "");
    draft.headers.set("accept", ACCEPT);
    draft.body = jsonBody("variables", body);
    return draft;
  }

  #callOf(what: string, draft: Draft, mayRepeat: boolean): WebCall {
    return { what, base: this.#endpoint, draft, credentials: this.#credentials, mayRepeat };
  }

  async #load(signal: AbortSignal): Promise<Api> {
    const { selectionDepth: depth = DEFAULT_DEPTH, selectionFields: fields = DEFAULT_FIELDS } = this.#given;
    const { schema: source, schemaBytes = DEFAULT_SCHEMA_BYTES } = this.#given;
    const { queriesOnly = false, scalars = {} } = this.#given;
    const place: SchemaPlace = {
      connector: this.id,
      source,
      hidden: this.#hidden.texts,
      schemaBytes,
      question: { kind: "describe", depth, fields, queriesOnly, scalars },
      introspect: (query, most, left) => {
        const call = this.#callOf("reading its schema", this.#draftOf({ query }), true);
        return this.#client.bytes(call, most, left);
      },
    };
    const { thread, described } = await openSchema(place, signal);
    this.#thread?.retire();
    this.#thread = thread;
    if (this.#client.ended.aborted) thread[Symbol.dispose]();
    const tools = new Map(
      described.tools.map((text): [string, FieldTool] => {
        const plan = (): FieldPlan => planOf(described, text) as FieldPlan;
        return [text.name, { tool: describedTool(described, text), plan }];
      }),
    );
    const generated = [...tools.values()].map(({ tool }) => tool);
    const all = Object.freeze([documentTool(queriesOnly), ...generated]);
    return { described, thread, fields: tools, tools: all };
  }
}

function checkCounts({ id, schemaBytes, selectionDepth, selectionFields }: GraphqlOptions): void {
  const bounds = [
    ["schemaBytes", schemaBytes, Number.MAX_SAFE_INTEGER],
    ["selectionDepth", selectionDepth, MOST_DEPTH],
    ["selectionFields", selectionFields, MOST_FIELDS],
  ] as const;
  for (const [name, value, most] of bounds) {
    if (value === undefined || (Number.isSafeInteger(value) && value > 0 && value <= most)) continue;
    throw misconfigured(id, `"${name}" is ${value}, it has to be a whole number from 1 to ${most}`);
  }
}
