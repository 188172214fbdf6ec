/**
 * discovery: a connector to an HTTP API that a Google Discovery document describes. Runs on the host.
 *
 * - One tool per method, and a second one where a method also gives bytes. The document is read when somebody first asks,
 *   on a thread of its own.
 * - Requests go to one origin: that of the configured root URL, or of the document's.
 */
import type { Hidden } from "../backend/hidden-texts.ts";
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
import type { DescriptionCache } from "../description/cache/description-cache.ts";
import { describedTool, planOf } from "../description/described-tools.ts";
import { keepSecretsFrom, sourceOf, textOf } from "../description/document-source.ts";
import {
  DEFAULT_DOCUMENT_BYTES,
  type DescriptionOptions,
  KeptDescription,
} from "../description/kept-description.ts";
import type { DocumentSource, ToolText } from "../description/messages.ts";
import { scriptBeside } from "../description/read-apart.ts";
import { readDescription } from "../description/read-description.ts";
import { throughDoor } from "../secrets/door.ts";
import { type Credential, placeOf } from "../web/credentials.ts";
import { isRepeatable } from "../web/hints.ts";
import { prepared } from "../web/input-refused.ts";
import { openWebClient } from "../web/open-web-client.ts";
import { isRecord } from "../web/text.ts";
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
import type { DescribedDiscovery, DiscoverySetup, MethodPlan } from "./description/messages.ts";
import { DESCRIBED_FORM } from "./described-form.ts";
import { draftOfMethod } from "./draft-of-method.ts";

export interface DiscoveryOptions extends WebOptions, DescriptionOptions {
  /** A path, an address, or the document itself. */
  readonly document: string | URL | object;
  /** The beginning of every URL, before the service's own path: `https://www.googleapis.com`. If absent, the document says it. */
  readonly rootUrl?: string;
  readonly credentials?: readonly Credential[];
  /** Names of methods, such as `files.list`, in which a star stands for any text: `files.*`. All methods if absent. */
  readonly include?: readonly string[];
  /** Methods that are no tools, whatever `include` says. */
  readonly exclude?: readonly string[];
  /** Whether what the document says of its methods is believed. */
  readonly isTrusted?: boolean;
}

const SCRIPT = scriptBeside(import.meta.url, "description/worker");

/** A document that was read, and what the configuration makes of it. */
interface Api {
  readonly described: DescribedDiscovery;
  readonly cached: string | undefined;
  readonly root: URL;
  readonly methods: ReadonlyMap<string, ToolText>;
  readonly tools: readonly BackendTool[];
}

export function discovery(options: DiscoveryOptions): Connector {
  return throughDoor(options, {
    kind: "discovery",
    places: { texts: WEB_PLACES.texts, urls: ["rootUrl", "document"] },
    plainSecrets: (given) =>
      webSecrets(given, given.credentials ?? [], given.rootUrl, textOf(given.document)),
    make: (resolved, hidden) => new DiscoveryConnector(resolved, hidden),
  });
}

class DiscoveryConnector implements Connector {
  readonly id: string;
  readonly kind = "discovery" as const;
  readonly card: Connector["card"];
  readonly identity: string;
  readonly isTrusted: boolean;
  readonly #options: ResolvedWebOptions;
  readonly #source: DocumentSource;
  readonly #root: URL | undefined;
  readonly #credentials: readonly Credential[];
  readonly #setup: DiscoverySetup;
  readonly #cache: DescriptionCache | undefined;
  readonly #facts: Facts;
  readonly #client: WebClient;
  readonly #description: KeptDescription<Api>;

  constructor(options: DiscoveryOptions, hidden: Hidden) {
    const { document, rootUrl, credentials = [], include = [], exclude = [] } = options;
    const { options: resolved, client, facts, identityOf } = openWebClient("discovery", options, hidden);
    const { id, card } = resolved;
    [this.#options, this.#client, this.#facts] = [resolved, client, facts];
    checkCredentials(id, credentials);
    this.#credentials = credentials;
    this.#source = sourceOf(document);
    this.#root = rootUrl === undefined ? undefined : parseBaseUrl(id, rootUrl);
    this.#setup = {
      hidden: hidden.inErrors.texts,
      source: this.#source,
      documentBytes: options.documentBytes ?? DEFAULT_DOCUMENT_BYTES,
      include: [...include],
      exclude: [...exclude],
      ownedQuery: credentials.flatMap((one) => {
        const { in: place, name } = placeOf(one);
        return place === "query" ? [name] : [];
      }),
    };
    this.#cache = options.cache;
    this.#description = new KeptDescription({
      connector: id,
      client: this.#client,
      source: this.#source,
      ttlMs: options.documentTtlMs,
      load: (signal) => this.#load(signal),
    });
    [this.id, this.card, this.isTrusted] = [id, card, options.isTrusted ?? false];
    const place = JSON.stringify([this.#root?.href, serviceOf(this.#source)]);
    this.identity = identityOf(place);
  }

  /** With the scopes that a token needs for all tools, as soon as the document was read. */
  get facts(): Facts {
    const scopes = this.#description.last?.described.scopes ?? [];
    const facts = { description: this.#source.kind, ...this.#facts };
    return scopes.length === 0 ? facts : { ...facts, scopes: scopes.join(" ") };
  }

  async check({ signal }: BackendRequest): Promise<Readiness> {
    const { described, cached, root, tools } = await this.#description.get("the check", signal);
    const { title, version, problems, scopes, servicePath } = described;
    const base = new URL(root);
    base.pathname = `${root.pathname.replace(/\/$/u, "")}/${servicePath}`;
    await this.#client.check({ base, credentials: this.#credentials, path: this.#options.checkPath }, signal);
    const [problem] = problems;
    const about = {
      title,
      version,
      problems: problems.length,
      scopes: scopes.join(" "),
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
    { signal }: ToolRequest,
  ): Promise<BackendOutput> {
    const what = `calling "${name}"`;
    const { described, root, methods } = await this.#description.get(what, signal);
    const text = methods.get(name);
    if (text === undefined) throw noSuchTool(this.id, name);
    const plan = planOf(described, text) as MethodPlan;
    const draft = prepared(this.id, what, () => draftOfMethod(text.method, plan, input));
    const output = await this.#client.call(
      {
        what,
        base: root,
        draft,
        credentials: this.#credentials,
        mayRepeat: isRepeatable(text.method),
        givesBytes: plan.alt === "media",
      },
      signal,
    );
    return plan.isWrapped ? { ...output, data: unwrapped(output.data) } : output;
  }

  onChange(listener: (list: ChangedList) => void): () => void {
    return this.#description.onChange(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#description[Symbol.dispose]();
    this.#client[Symbol.dispose]();
  }

  async #load(signal: AbortSignal): Promise<Api> {
    const [setup, cache, form] = [this.#setup, this.#cache, DESCRIBED_FORM];
    const reading = { connector: this.id, kind: this.kind, script: SCRIPT, setup, form, cache };
    const { described, cached } = await readDescription(reading, signal);
    const methods = new Map(described.methods.map((text) => [text.name, text]));
    const tools = Object.freeze(described.methods.map((text) => describedTool(described, text)));
    return { described, cached, root: this.#root ?? this.#rootOf(described), methods, tools };
  }

  #rootOf({ rootUrl }: DescribedDiscovery): URL {
    if (rootUrl === undefined) throw misconfigured(this.id, "its description names no root URL, set rootUrl");
    const root = parseBaseUrl(this.id, rootUrl);
    const hasSecrets = this.#credentials.length > 0 || Object.keys(this.#options.headers).length > 0;
    if (hasSecrets) keepSecretsFrom(this.id, root, this.#source, "rootUrl");
    return root;
  }
}

/** What the same service would say of itself in its next revision, too. */
function serviceOf(source: DocumentSource): unknown {
  if (source.kind !== "object") return source;
  const { name, version, rootUrl, servicePath, baseUrl } = source.document as Readonly<
    Record<string, unknown>
  >;
  return [name, version, rootUrl, servicePath, baseUrl];
}

/** APIs that wrap their answers do not wrap all of them. */
function unwrapped(data: unknown): unknown {
  return isRecord(data) && Object.hasOwn(data, "data") ? data["data"] : data;
}
