/**
 * openapi: a connector to an HTTP API that a description of OpenAPI 3 or Swagger 2 describes. Runs on the host.
 *
 * - One tool per operation. The description is read when somebody first asks, on a thread of its own.
 * - Requests go to one origin: the configured base URL's, or that of the description's first server. An operation at
 *   another origin is no tool.
 * - A description that cannot be read again leaves the one before in place.
 */
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
import { noSuchTool } from "../contract/connector-error.ts";
import { keepSecretsFrom, sourceOf, addressOf, textOf } from "../description/document-source.ts";
import {
  DEFAULT_DOCUMENT_BYTES,
  type DescriptionOptions,
  KeptDescription,
} from "../description/kept-description.ts";
import type { DocumentSource } from "../description/messages.ts";
import { scriptBeside } from "../description/read-apart.ts";
import { readDescription } from "../description/read-description.ts";
import { throughDoor } from "../secrets/door.ts";
import { isRepeatable } from "../web/hints.ts";
import { prepared } from "../web/input-refused.ts";
import { openWebClient } from "../web/open-web-client.ts";
import type { WebClient } from "../web/web-client.ts";
import {
  misconfigured,
  parseBaseUrl,
  type ResolvedWebOptions,
  WEB_PLACES,
  type WebOptions,
  webSecrets,
} from "../web/web-options.ts";
import type { Credential } from "../web/credentials.ts";
import { isRecord } from "../web/text.ts";
import { chooseCredentials, credentialsByScheme, type SchemeCredentials } from "./credentials.ts";
import type { Described, Server, ThreadSetup } from "./description/messages.ts";
import { DESCRIBED_FORM } from "./described-form.ts";
import { draftOfOperation } from "./draft-of-operation.ts";
import { type Operation, operationsOf } from "./operation.ts";
import { baseUrlOf } from "./servers.ts";

export interface OpenApiOptions extends WebOptions, DescriptionOptions {
  /** A path, an address, or the document itself. JSON or YAML. */
  readonly document: string | URL | object;
  /** The beginning of every URL. If absent, the description's first server says it. */
  readonly baseUrl?: string;
  /** Values of the variables in the server's URL. */
  readonly serverVariables?: Readonly<Record<string, string>>;
  /** By the names of the description's security schemes. An access token is enough for OAuth 2. */
  readonly credentials?: SchemeCredentials;
  /** Whether what the description says of its operations is believed. */
  readonly isTrusted?: boolean;
}

const SCRIPT = scriptBeside(import.meta.url, "description/worker");

/** A description that was read, and what the configuration makes of it. */
interface Api {
  readonly described: Described;
  readonly cached: string | undefined;
  readonly base: URL;
  readonly credentials: ReadonlyMap<string, Credential>;
  readonly operations: ReadonlyMap<string, Operation>;
  readonly tools: readonly BackendTool[];
}

export function openapi(options: OpenApiOptions): Connector {
  return throughDoor(options, {
    kind: "openapi",
    places: { texts: [...WEB_PLACES.texts, "serverVariables.*"], urls: [...WEB_PLACES.urls, "document"] },
    plainSecrets: (given) =>
      webSecrets(given, plainCredentials(given), given.baseUrl, textOf(given.document)),
    make: (resolved, hidden) => new OpenApiConnector(resolved, hidden),
  });
}

class OpenApiConnector implements Connector {
  readonly id: string;
  readonly kind = "openapi" as const;
  readonly card: Connector["card"];
  readonly facts: Facts;
  readonly identity: string;
  readonly isTrusted: boolean;
  readonly #given: OpenApiOptions;
  readonly #options: ResolvedWebOptions;
  readonly #source: DocumentSource;
  readonly #client: WebClient;
  readonly #description: KeptDescription<Api>;
  readonly #hidden: HiddenTexts;

  constructor(options: OpenApiOptions, hidden: Hidden) {
    this.#given = options;
    this.#hidden = hidden.inErrors;
    const { options: resolved, client, facts, identityOf } = openWebClient("openapi", options, hidden);
    const { id, card } = resolved;
    [this.#options, this.#client] = [resolved, client];
    this.#source = sourceOf(options.document);
    const base = options.baseUrl === undefined ? undefined : parseBaseUrl(id, options.baseUrl);
    this.#description = new KeptDescription({
      connector: id,
      client: this.#client,
      source: this.#source,
      ttlMs: options.documentTtlMs,
      load: (signal) => this.#load(signal),
    });
    [this.id, this.card, this.isTrusted] = [id, card, options.isTrusted ?? false];
    this.facts = { description: this.#source.kind, ...facts };
    const place = JSON.stringify([
      base?.href,
      this.#source.kind === "object" ? placeOf(this.#source.document) : this.#source,
    ]);
    this.identity = identityOf(place);
  }

  async check({ signal }: BackendRequest): Promise<Readiness> {
    const { described, cached, base, credentials, tools } = await this.#description.get("the check", signal);
    const own = chooseCredentials(described.security, credentials);
    // Without a default of the API, any of them is most likely the one that it takes.
    const checked = own.length > 0 ? own : [...credentials.values()].slice(0, 1);
    await this.#client.check({ base, credentials: checked, path: this.#options.checkPath }, signal);
    const { title, version, problems, operations } = described;
    const [problem] = problems;
    const leftOut = operations.length - tools.length;
    const about = {
      title,
      version,
      problems: problems.length,
      operationsAtOtherOrigins: leftOut,
      ...(problem === undefined ? {} : { problem }),
      ...(cached === undefined ? {} : { cache: cached }),
    };
    return { tools: tools.length, about };
  }

  async tools({ signal }: BackendRequest): Promise<readonly BackendTool[]> {
    return (await this.#description.get("listing the tools", signal)).tools;
  }

  async callTool(
    name: string,
    input: Readonly<Record<string, unknown>>,
    { signal, idempotencyKey }: ToolRequest,
  ): Promise<BackendOutput> {
    const what = `calling "${name}"`;
    const api = await this.#description.get(what, signal);
    const operation = api.operations.get(name);
    if (operation === undefined) throw noSuchTool(this.id, name);
    const plan = operation.plan();
    const draft = prepared(this.id, what, () => draftOfOperation(operation.method, plan, input));
    if (plan.idempotencyHeader !== undefined) draft.headers.set(plan.idempotencyHeader, idempotencyKey);
    const credentials = chooseCredentials(plan.security ?? api.described.security, api.credentials);
    const mayRepeat = isRepeatable(operation.method) || plan.idempotencyHeader !== undefined;
    return this.#client.call({ what, base: operation.base, draft, credentials, mayRepeat }, signal);
  }

  onChange(listener: (list: ChangedList) => void): () => void {
    return this.#description.onChange(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#description[Symbol.dispose]();
    this.#client[Symbol.dispose]();
  }

  async #load(signal: AbortSignal): Promise<Api> {
    const { documentBytes = DEFAULT_DOCUMENT_BYTES, credentials: given = {}, cache } = this.#given;
    const ownedHeaders = Object.keys(this.#options.headers).map((name) => name.toLowerCase());
    const setup: ThreadSetup = {
      source: this.#source,
      documentBytes,
      ownedHeaders,
      hidden: this.#hidden.texts,
    };
    const { described, cached } = await readDescription(
      { connector: this.id, kind: this.kind, script: SCRIPT, setup, form: DESCRIBED_FORM, cache },
      signal,
    );
    const credentials = credentialsByScheme(this.id, described, given);
    const base = this.#chooseBase(described, credentials);
    const operations = operationsOf(described, (servers) => this.#baseOf(base, servers));
    const tools = Object.freeze([...operations.values()].map(({ tool }) => tool));
    return { described, cached, base, credentials, operations, tools };
  }

  #chooseBase({ servers }: Described, credentials: ReadonlyMap<string, Credential>): URL {
    const { baseUrl, serverVariables: variables = {} } = this.#given;
    if (baseUrl !== undefined) return parseBaseUrl(this.id, baseUrl);
    const documentUrl = addressOf(this.#source);
    const base = baseUrlOf(this.id, servers[0] ?? { url: "/", variables: {} }, { documentUrl, variables });
    const hasSecrets = credentials.size > 0 || Object.keys(this.#options.headers).length > 0;
    if (hasSecrets) keepSecretsFrom(this.id, base, this.#source, "baseUrl");
    return base;
  }

  /** Where an operation with servers of its own is, if that is at the same origin. */
  #baseOf(base: URL, servers: readonly Server[] | undefined): URL | undefined {
    const [server] = servers ?? [];
    if (server === undefined) return base;
    const { serverVariables: variables = {} } = this.#given;
    const choice = { documentUrl: addressOf(this.#source) ?? base, variables };
    try {
      const own = baseUrlOf(this.id, server, choice);
      return own.origin === base.origin ? own : undefined;
    } catch {
      // Nobody knows where this one is. The others are there all the same.
      return undefined;
    }
  }
}

/** What the same service would say of itself in its next version, too. */
function placeOf(document: object): unknown {
  const { info, servers, host, basePath } = document as Readonly<Record<string, unknown>>;
  return [isRecord(info) ? info["title"] : undefined, servers, host, basePath];
}

/** Which scheme each is for is known when the description was read. */
function plainCredentials({ id, credentials = {} }: OpenApiOptions): readonly Credential[] {
  return Object.entries(credentials).map(([name, one]) => {
    if (typeof one === "string") return { type: "bearer", token: one };
    const { username, password } = (one ?? {}) as Partial<typeof one>;
    if (typeof username !== "string" || typeof password !== "string")
      throw misconfigured(id, `credentials.${name} is no text, and no username with a password`);
    return { type: "basic", username, password };
  });
}
