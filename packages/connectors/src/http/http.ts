/**
 * http: a connector to an HTTP API whose actions were declared by hand. Runs on the host.
 *
 * - An action's templates say where each input goes. An input that no template names goes into the body, if the body is
 *   "json" or "form", and is refused at the door otherwise: nothing is sent that nobody placed.
 */
import type { Json, JsonSchema } from "codecell";
import type { Hidden } from "../backend/hidden-texts.ts";
import type {
  BackendOutput,
  BackendRequest,
  BackendTool,
  Connector,
  Facts,
  Readiness,
  ToolRequest,
} from "../contract/connector.ts";
import { type ConnectorError, noSuchTool } from "../contract/connector-error.ts";
import { type PlainSecrets, throughDoor } from "../secrets/door.ts";
import { secretsOfHeaders, secretsOfParameters, secretsOfQuery } from "../secrets/secrets-of.ts";
import { formBody, jsonBody, rawBody } from "../web/body.ts";
import {
  createDraft,
  type Draft,
  partsOfPath,
  isFramingHeader,
  isHeaderName,
  setHeader,
} from "../web/draft.ts";
import { hintsOf, isRepeatable } from "../web/hints.ts";
import { InputRefused, prepared } from "../web/input-refused.ts";
import { encodePathText, fillPath, pathParameters } from "../web/path-text.ts";
import { encodeText, isBytes, ownOf, toText } from "../web/text.ts";
import { type Credential, placeOf } from "../web/credentials.ts";
import { openWebClient } from "../web/open-web-client.ts";
import type { WebClient } from "../web/web-client.ts";
import {
  checkCredentials,
  misconfigured,
  parseBaseUrl,
  type ResolvedWebOptions,
  WEB_PLACES,
  type WebOptions,
  webSecrets,
} from "../web/web-options.ts";
import { fillJson, fillText, type Input, placeholdersOf } from "./template.ts";

/** A tool, and where its inputs go. A hint that is absent is what HTTP says of the method. */
export interface HttpAction extends Omit<BackendTool, "inputSchema" | "outputSchema"> {
  readonly method: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS";
  /** Below the base URL: `/repos/{owner}/contents/{+path}`. Only `{+name}` may have slashes. */
  readonly path: string;
  /** A schema of type object, with all inputs as properties. */
  readonly input?: JsonSchema;
  /** What the body of a response is. */
  readonly output?: JsonSchema;
  /** Each value is a template. A list becomes a parameter that is repeated. */
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** "json" and "form" take all inputs that nothing else takes. */
  readonly body?:
    | "json"
    | "form"
    | { readonly json: Json }
    | { readonly form: Readonly<Record<string, string>> }
    | { readonly text: string; readonly mediaType?: string };
  /** The header in which the API takes a key that makes a repeated call one: usually `Idempotency-Key`. */
  readonly idempotencyHeader?: string;
}

export interface HttpOptions extends WebOptions {
  /** The beginning of every URL: `https://api.example.com/v1`. */
  readonly baseUrl: string;
  readonly credentials?: readonly Credential[];
  readonly actions: readonly HttpAction[];
}

interface PlacedAction {
  readonly action: HttpAction;
  readonly tool: BackendTool;
  /** The inputs that no template names. */
  readonly rest: readonly string[];
}

export function http(options: HttpOptions): Connector {
  return throughDoor(options, {
    kind: "http",
    places: {
      ...WEB_PLACES,
      templates: ["path", "query.*", "headers.*"].map((place) => `actions.*.${place}`),
    },
    plainSecrets,
    make: (resolved, hidden) => new HttpConnector(resolved, hidden),
  });
}

function plainSecrets(options: HttpOptions): PlainSecrets {
  const { credentials = [], baseUrl, actions } = options;
  const { certain, likely = [] } = webSecrets(options, credentials, baseUrl);
  const ofActions: string[] = [];
  for (const action of Array.isArray(actions) ? (actions as Partial<HttpAction>[]) : []) {
    const { path, query, headers, body } = action;
    if (typeof path === "string") ofActions.push(...secretsOfQuery(path));
    ofActions.push(...secretsOfParameters(query), ...secretsOfHeaders(headers));
    if (typeof body === "object" && "form" in body) ofActions.push(...secretsOfParameters(body.form));
  }
  // Placeholders are no secrets.
  return { certain: [...certain, ...ofActions.filter((text) => placeholdersOf(text).length === 0)], likely };
}

class HttpConnector implements Connector {
  readonly id: string;
  readonly kind = "http" as const;
  readonly card: Connector["card"];
  readonly facts: Facts;
  readonly identity: string;
  /** What is said of the actions is the operator's own. */
  readonly isTrusted = true;
  readonly #options: ResolvedWebOptions;
  readonly #base: URL;
  readonly #credentials: readonly Credential[];
  readonly #actions: ReadonlyMap<string, PlacedAction>;
  readonly #tools: readonly BackendTool[];
  readonly #client: WebClient;

  constructor(options: HttpOptions, hidden: Hidden) {
    const { credentials = [], actions } = options;
    const { options: resolved, client, facts, identityOf } = openWebClient("http", options, hidden);
    const { id, card } = resolved;
    [this.#options, this.#client] = [resolved, client];
    this.#base = parseBaseUrl(id, options.baseUrl);
    checkCredentials(id, credentials);
    this.#credentials = credentials;
    this.#actions = new Map(actions.map((action) => [action.name, this.#placed(action)]));
    if (this.#actions.size < actions.length) throw misconfigured(id, "two of its actions have the same name");
    this.#tools = Object.freeze([...this.#actions.values()].map(({ tool }) => tool));
    [this.id, this.card] = [id, card];
    this.facts = { transport: this.#base.protocol.slice(0, -1), ...facts };
    this.identity = identityOf(this.#base.href);
  }

  async check({ signal }: BackendRequest): Promise<Readiness> {
    const check = { base: this.#base, credentials: this.#credentials, path: this.#options.checkPath };
    await this.#client.check(check, signal);
    return { tools: this.#actions.size };
  }

  tools({ signal }: BackendRequest): Promise<readonly BackendTool[]> {
    return Promise.resolve().then(() => {
      signal.throwIfAborted();
      this.#client.refuseEnded("listing the tools");
      return this.#tools;
    });
  }

  async callTool(
    name: string,
    input: Input,
    { signal, idempotencyKey }: ToolRequest,
  ): Promise<BackendOutput> {
    const what = `calling "${name}"`;
    this.#client.refuseEnded(what);
    const placed = this.#actions.get(name);
    if (placed === undefined) throw noSuchTool(this.id, name);
    const { action } = placed;
    const draft = prepared(this.id, what, () => draftOf(placed, input));
    if (action.idempotencyHeader !== undefined) draft.headers.set(action.idempotencyHeader, idempotencyKey);
    const mayRepeat = isRepeatable(action.method) || action.idempotencyHeader !== undefined;
    return this.#client.call(
      { what, base: this.#base, draft, credentials: this.#credentials, mayRepeat },
      signal,
    );
  }

  onChange(): () => void {
    // The actions are part of the configuration.
    return () => {};
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#client[Symbol.dispose]();
  }

  /** Checks an action when it is declared, so that no call finds that it cannot be made. */
  #placed(action: HttpAction): PlacedAction {
    const { name, method, path, input, output, query = {}, headers = {}, body, idempotencyHeader } = action;
    const wrong = (problem: string): ConnectorError =>
      misconfigured(this.#options.id, `action "${name}" ${problem}`);
    if (name === "") throw wrong("needs a name");
    if (!path.startsWith("/")) throw wrong("needs a path that begins with a slash");
    if (body !== undefined && (method === "GET" || method === "HEAD"))
      throw wrong(`cannot have a body with ${method}`);
    const owned = new Set(Object.keys(this.#options.headers).map((header) => header.toLowerCase()));
    for (const credential of this.#credentials) {
      const place = placeOf(credential);
      if (place.in === "header") owned.add(place.name.toLowerCase());
      if (place.in === "query" && Object.hasOwn(query, place.name))
        throw wrong(`cannot set "${place.name}", a credential does`);
    }
    for (const header of [
      ...Object.keys(headers),
      ...(idempotencyHeader === undefined ? [] : [idempotencyHeader]),
    ]) {
      if (!isHeaderName(header) || isFramingHeader(header)) throw wrong(`cannot set the header "${header}"`);
      if (owned.has(header.toLowerCase()))
        throw wrong(`cannot set the header "${header}", the connector does`);
    }
    const bodyTemplate: Json = typeof body === "object" ? body : [];
    const used = [
      ...pathParameters(path).map((parameter) => parameter.name),
      ...[query, headers, bodyTemplate].flatMap(placeholdersOf),
    ];
    const declared = propertiesOf(input);
    const unknown = used.find((one) => !declared.includes(one));
    if (unknown !== undefined) throw wrong(`places "${unknown}", which its input has not`);
    const rest = declared.filter((property) => !used.includes(property));
    const [left] = rest;
    if (left !== undefined && typeof body !== "string")
      throw wrong(`places "${left}" nowhere, say where it goes`);
    return { action, rest, tool: toolOf(action, input, output) };
  }
}

const NO_INPUT: JsonSchema = { type: "object", properties: {}, additionalProperties: false };

function toolOf(
  action: HttpAction,
  input: JsonSchema | undefined,
  output: JsonSchema | undefined,
): BackendTool {
  const {
    name,
    title,
    description,
    useWhen,
    avoidWhen,
    tags,
    readOnlyHint,
    destructiveHint,
    idempotentHint,
  } = action;
  const said = { title, description, useWhen, avoidWhen, tags, outputSchema: output };
  const hints = { readOnlyHint, destructiveHint, idempotentHint };
  const tool: BackendTool = {
    name,
    inputSchema: input ?? NO_INPUT,
    ...present(said),
    ...hintsOf(action.method),
    ...present(hints),
  };
  return Object.freeze(tool);
}

function present(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function propertiesOf(input: JsonSchema | undefined): readonly string[] {
  const properties = typeof input === "object" ? input["properties"] : undefined;
  return typeof properties === "object" && properties !== null ? Object.keys(properties) : [];
}

function draftOf({ action, rest }: PlacedAction, input: Input): Draft {
  const { method, path, query = {}, headers = {}, body } = action;
  const declared = propertiesOf(action.input);
  const unknown = Object.keys(input).find((name) => !declared.includes(name));
  if (unknown !== undefined) throw new InputRefused(`it takes no "${unknown}"`);
  const { path: plainPath, search } = partsOfPath(path);
  const filled = fillPath(plainPath, ({ name, mayHaveSlashes }) =>
    encodePathText(name, toText(name, ownOf(input, name) ?? ""), mayHaveSlashes),
  );
  const draft = createDraft(method, filled);
  if (search !== undefined) draft.query.push(search);
  for (const [name, template] of Object.entries(query))
    draft.query.push(...pairsOf(name, fillText(template, input)));
  for (const [name, template] of Object.entries(headers)) {
    const value = fillText(template, input);
    if (value !== undefined && value !== null) setHeader(draft, name, toText(name, value));
  }
  const left = Object.fromEntries(
    rest.filter((name) => Object.hasOwn(input, name)).map((name) => [name, input[name]]),
  );
  if (body === "json") draft.body = jsonBody("body", left);
  else if (body === "form")
    draft.body = formBody(Object.entries(left).flatMap(([name, value]) => pairsOf(name, value)));
  else if (body !== undefined) draft.body = templateBody(body, input);
  return draft;
}

function templateBody(body: Exclude<HttpAction["body"], string | undefined>, input: Input): Draft["body"] {
  if ("json" in body) return jsonBody("body", fillJson(body.json, input) ?? null);
  if ("form" in body) {
    return formBody(
      Object.entries(body.form).flatMap(([name, template]) => pairsOf(name, fillText(template, input))),
    );
  }
  const value = fillText(body.text, input) ?? "";
  return rawBody(
    "body",
    value,
    body.mediaType ?? (isBytes(value) ? "application/octet-stream" : "text/plain; charset=utf-8"),
  );
}

/** A parameter of a query or a form; a list becomes several. */
function pairsOf(name: string, value: unknown): readonly string[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((item: unknown) => pairsOf(name, item));
  return [`${encodeText(name)}=${encodeText(toText(name, value))}`];
}
