/**
 * An authorization server and an MCP server that asks for its tokens, each at an origin of its own, over HTTP. Both keep the
 * standards; a test changes what it wants to be wrong. For tests.
 */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import * as consumers from "node:stream/consumers";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler } from "@modelcontextprotocol/server";
import { addressOf, closeServer, listen } from "./control.ts";
import { createFixtureServer } from "./fixture-server.ts";

/** A request to the authorization server. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | undefined;
  /** Of the query, the form or the JSON. */
  readonly params: Readonly<Record<string, unknown>>;
}

type Json = Readonly<Record<string, unknown>>;

/** Gives whether it has answered. */
type Answer = (asked: Asked, response: ServerResponse) => boolean | Promise<boolean>;

/** The body was read before. */
type Handle = (request: IncomingMessage, response: ServerResponse, body: unknown) => Promise<void>;

export const REDIRECT_URL = "http://127.0.0.1:9/callback";

export class OAuthWorld implements AsyncDisposable {
  /** What the authorization server was asked, in order. */
  readonly asked: Asked[] = [];
  /** The `authorization` of each request to the MCP server that had one. */
  readonly shown: string[] = [];
  /** Tokens that are taken, with their scopes. */
  readonly access = new Map<string, string>();
  readonly refresh = new Map<string, string>();
  readonly clients = new Map<string, { readonly secret: string | undefined }>();
  /** All that was given out and is secret. */
  readonly secrets: string[] = [];
  /** Answers before the authorization server does. */
  answer: Answer = () => false;
  /** Changes what the servers say of themselves. */
  metadata: (metadata: Json) => Json = (metadata) => metadata;
  resource: (metadata: Json) => Json = (metadata) => metadata;
  /** Answers before the MCP server describes its logins. */
  describe: (response: ServerResponse) => boolean = () => false;
  /** Whether the MCP server is its own authorization server, and describes no logins, as it was in the older protocol. */
  isAlone = false;
  challenge = (text: string): string => text;
  /** The scope without which the MCP server does not take a request. */
  neededScope: (body: string) => string | undefined = () => undefined;
  /** How often a tool was called. */
  calls = 0;
  handle: Handle;
  readonly #authorization: Server;
  readonly #resource: Server;
  readonly #codes = new Map<string, Json>();

  private constructor() {
    const handle = toNodeHandler(
      createMcpHandler(() => {
        const server = createFixtureServer({ onHanging: () => {}, onCancelled: () => {} });
        server.registerTool("count", { description: "Counts its calls" }, () => {
          this.calls++;
          return { content: [{ type: "text", text: `call ${this.calls}` }] };
        });
        return server;
      }),
    );
    this.handle = (request, response, body) => {
      const { method = "", url = "" } = request;
      return handle(Object.assign(request, { method, url }), response, body);
    };
    this.#authorization = createServer((request, response) => void this.#serve(request, response));
    this.#resource = createServer((request, response) => void this.#guard(request, response));
  }

  static async open(): Promise<OAuthWorld> {
    const world = new OAuthWorld();
    await Promise.all([listen(world.#authorization), listen(world.#resource)]);
    return world;
  }

  get issuer(): string {
    return addressOf(this.isAlone ? this.#resource : this.#authorization);
  }

  get url(): string {
    return `${addressOf(this.#resource)}/mcp`;
  }

  of(path: string): Asked[] {
    return this.asked.filter((one) => one.path === path);
  }

  /** A person who opens the URL and says yes. Gives where the browser was sent. */
  readonly person = async ({ url }: { readonly url: URL }): Promise<string> => {
    const response = await fetch(url, { redirect: "manual" });
    await response.body?.cancel();
    return response.headers.get("location") ?? "";
  };

  secret(kind: string): string {
    const secret = `${kind}-${crypto.randomUUID()}`;
    this.secrets.push(secret);
    return secret;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([closeServer(this.#authorization), closeServer(this.#resource)]);
  }

  async #guard(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.isAlone && request.url?.startsWith("/mcp") !== true) {
      await this.#serve(request, response);
      return;
    }
    if (request.url?.startsWith("/.well-known/oauth-protected-resource") === true) {
      if (this.describe(response)) return;
      json(response, 200, this.resource({ resource: this.url, authorization_servers: [this.issuer] }));
      return;
    }
    const { authorization } = request.headers;
    if (authorization !== undefined) this.shown.push(authorization);
    const scopes = this.access.get(authorization?.replace("Bearer ", "") ?? "");
    const metadata = `${addressOf(this.#resource)}/.well-known/oauth-protected-resource/mcp`;
    const refuse = (status: number, challenge: string): void => {
      request.resume();
      response.writeHead(status, {
        "www-authenticate": this.challenge(`Bearer ${challenge}resource_metadata="${metadata}"`),
      });
      response.end();
    };
    if (scopes === undefined) {
      refuse(401, "");
      return;
    }
    const body = await consumers.text(request);
    const needed = this.neededScope(body);
    if (needed !== undefined && !scopes.split(" ").includes(needed)) {
      refuse(403, `error="insufficient_scope", scope="${needed}", `);
      return;
    }
    await this.handle(request, response, body === "" ? undefined : (JSON.parse(body) as unknown));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "", this.issuer);
    const body = await consumers.text(request);
    const asked: Asked = {
      method: request.method ?? "",
      path: url.pathname,
      authorization: request.headers.authorization,
      params: paramsOf(url, request.headers["content-type"], body),
    };
    this.asked.push(asked);
    if (await this.answer(asked, response)) return;
    switch (asked.path) {
      case "/.well-known/oauth-authorization-server":
        json(response, 200, this.metadata(this.#metadata()));
        return;
      case "/register":
        this.#register(asked, response);
        return;
      case "/authorize":
        this.#authorize(asked, response);
        return;
      case "/token":
        this.#token(asked, response);
        return;
      default:
        response.writeHead(404).end();
    }
  }

  #metadata(): Json {
    return {
      issuer: this.issuer,
      authorization_endpoint: `${this.issuer}/authorize`,
      token_endpoint: `${this.issuer}/token`,
      registration_endpoint: `${this.issuer}/register`,
      response_types_supported: ["code"],
      grant_types_supported: ["authorization_code", "refresh_token", "client_credentials"],
      code_challenge_methods_supported: ["S256"],
      token_endpoint_auth_methods_supported: ["client_secret_basic"],
      authorization_response_iss_parameter_supported: true,
    };
  }

  #register({ params }: Asked, response: ServerResponse): void {
    const id = `client-${this.clients.size}`;
    const secret = this.secret("client-secret");
    this.clients.set(id, { secret });
    json(response, 201, { ...params, client_id: id, client_secret: secret });
  }

  #authorize({ params }: Asked, response: ServerResponse): void {
    const code = `code-${crypto.randomUUID()}`;
    this.#codes.set(code, params);
    const back = new URL(String(params["redirect_uri"]));
    back.searchParams.set("code", code);
    back.searchParams.set("state", String(params["state"]));
    back.searchParams.set("iss", this.issuer);
    response.writeHead(302, { location: back.href }).end();
  }

  #token({ authorization, params }: Asked, response: ServerResponse): void {
    const [id = "", secret] = Buffer.from(authorization?.replace("Basic ", "") ?? "", "base64")
      .toString()
      .split(":");
    const client = this.clients.get(id);
    if (client === undefined || client.secret !== secret) {
      json(response, 401, { error: "invalid_client", error_description: `No such client: ${secret}` });
      return;
    }
    const refuse = (): void => json(response, 400, { error: "invalid_grant", error_description: "over" });
    let scope = typeof params["scope"] === "string" ? params["scope"] : "";
    if (params["grant_type"] === "authorization_code") {
      const asked = this.#codes.get(String(params["code"]));
      this.#codes.delete(String(params["code"]));
      const challenge = createHash("sha256").update(String(params["code_verifier"])).digest("base64url");
      if (asked?.["code_challenge"] !== challenge || asked["redirect_uri"] !== params["redirect_uri"]) {
        refuse();
        return;
      }
      scope = typeof asked["scope"] === "string" ? asked["scope"] : "";
    } else if (params["grant_type"] === "refresh_token") {
      const known = this.refresh.get(String(params["refresh_token"]));
      if (known === undefined) {
        refuse();
        return;
      }
      this.refresh.delete(String(params["refresh_token"]));
      scope = known;
    }
    const [access, refresh] = [this.secret("access"), this.secret("refresh")];
    this.access.set(access, scope);
    this.refresh.set(refresh, scope);
    json(response, 200, {
      access_token: access,
      token_type: "Bearer",
      expires_in: 3600,
      ...(params["grant_type"] !== "client_credentials" && { refresh_token: refresh }),
      ...(scope !== "" && { scope }),
    });
  }
}

function paramsOf(url: URL, type: string | undefined, body: string): Json {
  if (type?.startsWith("application/json") === true) return JSON.parse(body) as Json;
  return Object.fromEntries(body === "" ? url.searchParams : new URLSearchParams(body));
}

export function json(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
}
