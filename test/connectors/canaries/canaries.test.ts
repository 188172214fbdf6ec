/**
 * A canary in every credential of every kind of connector, backends that repeat whatever they are given, programs that call
 * them in every way, and a search of everything that leaves.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import {
  cli,
  type Connector,
  connectTools,
  discovery,
  graphql,
  http,
  mcp,
  openapi,
  openVault,
} from "@codecell/connectors";
import { createHost, type LiveEvent, type RunEvent, type Tool } from "codecell";
import { createCatalog } from "codecell/catalog";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SOURCE_FLAGS } from "../../../scripts/source-flags.ts";
import { startWebBackend, type WebBackend } from "../web-backend.ts";
import { newCanary, tracesOf } from "./leaks.ts";
import { MCP_LEAKS } from "./mcp-leaks.ts";
import { leakingAnswer, WEB_LEAKS } from "./web-leaks.ts";

const CLI_LEAKS = [
  "text",
  "json",
  "lines",
  "bytes",
  "broken-json",
  "fail",
  "fail-at-length",
  "fail-in-output",
];
const card = { name: "Leaks", description: "Repeats what it is given" };
const script = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const nobody = new AbortController().signal;

/** The connectors that read secrets from everywhere. */
const KINDS = ["http", "openapi", "discovery", "graphql", "mcp", "process", "cli"];
const canaries = new Map<string, string>();

/** A canary, whose name says where it is. */
function canary(name: string, isPlain = false): string {
  const value = canaries.get(name) ?? newCanary(isPlain);
  canaries.set(name, value);
  return value;
}

let folder: string;
let backend: WebBackend;
let connectors: Connector[];

const how = { type: "object", properties: { how: { type: "string" } }, required: ["how"] } as const;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "codecell-canaries-"));
  backend = await startWebBackend(leakingAnswer);
  const vault = openVault({ file: join(folder, "vault"), env: {} });
  for (const id of KINDS) {
    const name = `${id.toUpperCase()}_SECRET`;
    await vault.set(name, canary(`${id}: vault`));
    await vault.grant(name, id);
    writeFileSync(join(folder, id), `${canary(`${id}: file`, id === "openapi")}\n`);
  }
  const secrets = {
    vault,
    baseFolder: folder,
    env: Object.fromEntries(KINDS.map((id) => [id, canary(`${id}: env`)])),
  };
  const startTimeoutMs = 100_000;
  connectors = [
    http({
      id: "http",
      card,
      secrets,
      baseUrl: `${backend.origin}/base?key=${encodeURIComponent(canary("http: base URL"))}`,
      headers: {
        "x-api-key": canary("http: header"),
        "x-plain": "$env:http",
        "x-more": "a ${file:http} b",
        cookie: `session=${encodeURIComponent(canary("http: cookie header"))}`,
      },
      credentials: [
        { type: "basic", username: "$vault:HTTP_SECRET", password: canary("http: password") },
        { type: "apiKey", in: "query", name: "q", value: canary("http: key in the query") },
        { type: "apiKey", in: "cookie", name: "c", value: canary("http: key in a cookie") },
        { type: "apiKey", in: "header", name: "x-own", value: canary("http: key in a header") },
      ],
      actions: [
        { name: "leak", method: "GET", path: "/{how}", input: how },
        { name: "drop", method: "DELETE", path: "/{how}", input: how },
      ],
    }),
    openapi({
      id: "openapi",
      card,
      secrets,
      baseUrl: `${backend.origin}/\${file:openapi}`,
      headers: { authorization2: "$vault:OPENAPI_SECRET", "x-plain": "x ${env:openapi}" },
      credentials: {
        header: canary("openapi: header"),
        query: canary("openapi: query"),
        cookie: canary("openapi: cookie"),
        basic: { username: "ann", password: canary("openapi: basic") },
        bearer: canary("openapi: bearer"),
        oauth: canary("openapi: oauth2"),
      },
      document: {
        openapi: "3.1.0",
        info: { title: "Leaks", version: "1" },
        components: {
          securitySchemes: {
            header: { type: "apiKey", in: "header", name: "X-Own" },
            query: { type: "apiKey", in: "query", name: "q" },
            cookie: { type: "apiKey", in: "cookie", name: "c" },
            basic: { type: "http", scheme: "basic" },
            bearer: { type: "http", scheme: "bearer" },
            oauth: {
              type: "oauth2",
              flows: { clientCredentials: { tokenUrl: "https://x.example", scopes: {} } },
            },
          },
        },
        paths: Object.fromEntries(
          ["basic", "bearer", "oauth"].map((scheme) => [
            `/${scheme}/{how}`,
            {
              get: {
                operationId: `leak_${scheme}`,
                security: [{ header: [], query: [], cookie: [], [scheme]: [] }],
                parameters: [{ name: "how", in: "path", required: true, schema: { type: "string" } }],
              },
            },
          ]),
        ),
      },
    }),
    discovery({
      id: "discovery",
      card,
      secrets,
      rootUrl: backend.origin,
      headers: { "x-own-key": canary("discovery: header"), "x-plain": "${file:discovery}" },
      credentials: [
        { type: "bearer", token: "$vault:DISCOVERY_SECRET" },
        { type: "apiKey", in: "query", name: "key", value: canary("discovery: key") },
        { type: "apiKey", in: "header", name: "x-env", value: "$env:discovery" },
      ],
      document: {
        kind: "discovery#restDescription",
        name: "leaks",
        version: "v1",
        rootUrl: "https://leaks.example/",
        servicePath: "",
        methods: {
          leak: {
            id: "leaks.leak",
            path: "leaks/{how}",
            httpMethod: "GET",
            parameters: { how: { type: "string", location: "path", required: true } },
            parameterOrder: ["how"],
            response: {},
          },
        },
      },
    }),
    graphql({
      id: "graphql",
      card,
      secrets,
      endpoint: `${backend.origin}/graphql?key=${encodeURIComponent(canary("graphql: endpoint"))}`,
      headers: { "x-own-key": canary("graphql: header"), "x-plain": "${file:graphql}" },
      credentials: [
        { type: "bearer", token: "$vault:GRAPHQL_SECRET" },
        { type: "apiKey", in: "header", name: "x-env", value: "$env:graphql" },
      ],
      schema: { sdl: "scalar Any type Query { leak(how: String!): Any }" },
    }),
    mcp({
      id: "mcp",
      secrets,
      startTimeoutMs,
      url: `${backend.origin}/mcp?key=${encodeURIComponent(canary("mcp: URL"))}`,
      headers: {
        authorization: `Bearer ${canary("mcp: header")}`,
        "x-a": "$vault:MCP_SECRET",
        "x-b": "${file:mcp}",
        "x-c": "$env:mcp",
      },
    }),
    mcp({
      id: "process",
      secrets,
      startTimeoutMs,
      command: process.execPath,
      args: [
        ...SOURCE_FLAGS,
        script("mcp-leaks.fixture.ts"),
        "$vault:PROCESS_SECRET",
        `--token=${canary("process: argument")}`,
        "--api-key",
        canary("process: second argument"),
      ],
      env: { LEAK_TOKEN: canary("process: environment"), A: "$file:process", B: "$env:process" },
    }),
    cli({
      id: "cli",
      secrets,
      secretEnv: { LEAK: canary("cli: secret environment"), A: "$vault:CLI_SECRET" },
      env: { LEAK_PASSWORD: canary("cli: environment"), B: "$file:cli" },
      commands: CLI_LEAKS.map((name) => ({
        name: name.replaceAll("-", "_"),
        program: process.execPath,
        args: [...SOURCE_FLAGS, script("cli-leaks.fixture.ts"), name, "${env:cli}"],
        output:
          name === "json" || name === "broken-json"
            ? "json"
            : name === "bytes" || name === "lines"
              ? name
              : "text",
      })),
    }),
    // These are never ready.
    mcp({
      id: "dead",
      startTimeoutMs,
      restartDelayMs: 1,
      command: process.execPath,
      args: [...SOURCE_FLAGS, script("mcp-leaks.fixture.ts"), "die", `--token=${canary("dead: argument")}`],
      env: { LEAK: canary("dead: environment") },
    }),
    mcp({ id: "absent", command: "/no/such/program", args: [`--token=${canary("absent: argument")}`] }),
    http({
      id: "ungranted",
      card,
      baseUrl: backend.origin,
      headers: { a: "$vault:HTTP_SECRET" },
      secrets: { vault },
      actions: [{ name: "get", method: "GET", path: "/" }],
    }),
  ];
});

afterAll(async () => {
  for (const connector of connectors) await connector[Symbol.asyncDispose]();
  await backend[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

/** Calls each tool in each way, and tells all that it learns. */
const SOURCE = `
  const seen = [];
  const told = (error) => ({ text: String(error), ...error, stack: error.stack, cause: String(error.cause) });
  for (const [name, ways] of INPUT) {
    for (const how of ways) {
      try {
        const output = await tools[name](how === null ? {} : { how });
        seen.push({ name, how, output });
        console.log(name, how, output);
      } catch (error) {
        seen.push({ name, how, error: told(error) });
        console.error(error, error.message, JSON.stringify(told(error)));
      }
    }
  }
  return seen;
`;

interface Left {
  readonly where: string;
  readonly what: string;
}

function text(value: unknown): string {
  return `${JSON.stringify(value)} ${inspect(value, { depth: 12, maxStringLength: null, maxArrayLength: null, showHidden: true })}`;
}

async function everythingThatLeaves(): Promise<readonly Left[]> {
  const left: Left[] = [];
  const leaves = (where: string, value: unknown): void => void left.push({ where, what: text(value) });
  for (const connector of connectors) {
    const { id, card: own, facts, identity, context } = connector;
    leaves(`${id}: what it says of itself`, [connector, own, facts, identity]);
    const settled = await Promise.allSettled([
      connector.check({ signal: nobody }),
      connector.callTool("none", { how: "json" }, { signal: nobody, idempotencyKey: "k" }),
      ...(context === undefined
        ? []
        : [
            context.resources({ signal: nobody }),
            context.resourceTemplates({ signal: nobody }),
            context.readResource("leak://1", { signal: nobody }),
            context.prompts({ signal: nobody }),
            context.getPrompt("leak", {}, { signal: nobody }),
            context.getPrompt("none", {}, { signal: nobody }),
            context.complete(
              { ref: { type: "prompt", name: "leak" }, argument: { name: "a", value: "" } },
              { signal: nobody },
            ),
          ]),
    ]);
    leaves(`${id}: check and context`, settled);
  }
  const { sources, unready, artifacts } = await connectTools(connectors);
  expect(unready.map(({ connector }) => connector)).toEqual(["dead", "absent", "ungranted"]);
  leaves("what is not ready", unready);
  const catalog = createCatalog(sources);
  for (const { id } of catalog.entries) leaves(`description of ${id}`, await catalog.describe(id));
  leaves("catalog", [catalog.entries, await catalog.search("leak token secret")]);

  const tools: Record<string, Tool> = {};
  const calls: [string, readonly (string | null)[]][] = [];
  for (const { owner, tools: own } of sources) {
    for (const [name, tool] of Object.entries(own)) {
      if (name === "drop" || name === "query") continue;
      tools[`${owner}_${name}`] = tool as Tool;
      const ways = owner === "cli" ? [null] : owner === "mcp" || owner === "process" ? MCP_LEAKS : WEB_LEAKS;
      calls.push([`${owner}_${name}`, ways]);
    }
  }
  const steps: LiveEvent[] = [];
  const events: RunEvent[] = [];
  await using host = createHost({
    workers: 1,
    onError: (error) => leaves("an error told to the host", error),
  });
  const limits = {
    wallTimeMs: 120_000,
    resultBytes: 50_000_000,
    logBytes: 50_000_000,
    memoryBytes: 512 * 1024 * 1024,
  };
  const source = SOURCE.replace("INPUT", () => JSON.stringify(calls));
  const run = host.start({ source, tools, limits, onEvent: (event) => void steps.push(event) });
  for await (const event of run.events) events.push(event);
  const result = await run.result;
  expect(result).toMatchObject({ status: "completed" });
  leaves("result", result);
  leaves("events", [steps, events]);
  leaves("ledger", run.ledger());
  const uris = new Set(JSON.stringify(result).match(/artifact:[0-9a-f-]{36}/gu));
  expect(uris.size).toBeGreaterThan(3);
  for (const uri of uris) {
    const bytes = Buffer.from(artifacts.read(uri) ?? expect.fail(`there is no ${uri}`));
    left.push({ where: "artifact", what: `${bytes.toString("latin1")} ${bytes.toString("utf16le")}` });
  }

  const drop = sources.find(({ owner }) => owner === "http")?.tools["drop"] as Tool;
  const asked = host.start({ source: 'return await tools.drop({ how: "json" })', tools: { drop } });
  const suspended = await asked.result;
  if (suspended.status !== "suspended") expect.fail("it asks first");
  leaves("suspension", [suspended, asked.ledger()]);
  const { token, pending } = suspended.suspension;
  const resolutions = { [pending[0]?.callId ?? ""]: { resolution: true } };
  const resumed = host.resume({ token, resolutions, tools: { drop } });
  leaves("resumed", [await resumed.result, resumed.ledger()]);
  return left;
}

describe("secrets of connectors", () => {
  test("[handles:41] [handles:10] are in nothing that leaves", { timeout: 300_000 }, async () => {
    const left = await everythingThatLeaves();
    const traces = [...canaries].map(([name, value]) => [name, tracesOf([value])] as const);
    const found = new Set(
      left.flatMap(({ where, what }) =>
        traces.flatMap(([name, forms]) =>
          forms.flatMap((form, at) =>
            what.includes(form) ? [`"${name}" is in ${where}, as form ${at}`] : [],
          ),
        ),
      ),
    );
    expect([...found]).toEqual([]);
    // The backends have seen each canary of theirs, or nothing was tried.
    const received = JSON.stringify(
      backend.received.map(({ url, rawHeaders }) => [
        decodeURIComponent(url),
        rawHeaders.map(
          (one) =>
            `${decodeURIComponent(one)} ${Buffer.from(one.replace("Basic ", ""), "base64").toString()}`,
        ),
      ]),
    );
    const ofWeb = [...canaries].filter(([name]) => /^(?:http|openapi|discovery|graphql|mcp):/u.test(name));
    const unseen = ofWeb.filter(([, value]) => !received.includes(tracesOf([value])[0] ?? ""));
    expect(unseen.map(([name]) => name)).toEqual([]);
    expect(left.filter(({ what }) => what.includes("[hidden]")).length).toBeGreaterThan(10);
  });
});
