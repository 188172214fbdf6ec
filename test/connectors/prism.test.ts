/**
 * Requests of operations, validated by software that somebody else wrote: Prism serves a description, and refuses what
 * does not fit it.
 *
 * - Each operation is called with an input that fits the schema of its tool, made from a seed. PROPERTY_SEED makes others.
 */
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { type BackendTool, ConnectorError, openapi, type SchemeCredentials } from "@codecell/connectors";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { InputGenerator } from "./generate-input.ts";
import { nobody, requestOf } from "./web-backend.ts";

interface Api {
  readonly name: string;
  readonly file: string;
  readonly operations: number;
  /** One operation in so many is called, unless PRISM_ALL is set. One in one if absent. */
  readonly oneIn?: number;
  /** Operations whose requests are right, and are refused all the same: why. One that is not refused any more fails. */
  readonly wronglyRefused?: Readonly<Record<string, string>>;
}

const { resolve } = createRequire(import.meta.url);
const EXAMPLES = path.dirname(resolve("@readme/oas-examples/package.json"));
const APIS: readonly Api[] = [
  {
    name: "GitHub (3.0)",
    file: resolve("@octokit/openapi/generated/api.github.com.json"),
    operations: 1222,
    // All of them take one to two minutes beside other tests.
    oneIn: 4,
  },
  { name: "Netlify (Swagger 2)", file: resolve("@netlify/open-api/dist/swagger.json"), operations: 181 },
  { name: "Star Trek (3.0)", file: path.join(EXAMPLES, "3.0/json/star-trek.json"), operations: 120 },
  {
    name: "ReadMe (3.1)",
    file: path.join(EXAMPLES, "3.1/json/readme.json"),
    operations: 54,
    wronglyRefused: {
      askOwlbot:
        'it describes a header "Accept", which the specification says to ignore, and Prism does not: it knows no list of types there',
    },
  },
  { name: "Train Travel (3.1)", file: path.join(EXAMPLES, "3.1/json/train-travel.json"), operations: 7 },
];
const PRISM = path.join(path.dirname(resolve("@stoplight/prism-cli/package.json")), "dist/index.js");
const PROBLEM = "https://stoplight.io/prism/errors#";
const SEED = Number(process.env["PROPERTY_SEED"] ?? 1);
const AT_ONCE = 8;
/** Of a few inputs one fits its schema. */
const MOST_INPUTS = 20;
/** GitHub's description takes Prism 15 seconds of an idle processor. */
const MOST_MS = 600_000;

interface Prism extends AsyncDisposable {
  readonly origin: string;
}

async function startPrism(file: string): Promise<Prism> {
  const args = [PRISM, "mock", "--errors", "--cors=false", "--port", "0", file];
  const env = { ...process.env, FORCE_COLOR: "0" };
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  const ended = new Promise<void>((done) => child.once("exit", () => done()));
  const listening = Promise.withResolvers<string>();
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (text: Buffer) => {
      said = (said + String(text)).slice(-2000);
      const [, origin] = /listening on (http:\/\/127\.0\.0\.1:\d+)/u.exec(said) ?? [];
      if (origin !== undefined) listening.resolve(origin);
    });
  }
  void ended.then(() => listening.reject(new Error(`Prism ended: ${said}`)));
  return {
    origin: await listening.promise,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

/** One for each security scheme: Prism refuses requests without. Nothing that a description says is like one. */
async function credentialsFor(file: string): Promise<SchemeCredentials> {
  const document = JSON.parse(await readFile(file, "utf8")) as {
    readonly components?: { readonly securitySchemes?: Record<string, Scheme> };
    readonly securityDefinitions?: Record<string, Scheme>;
  };
  const schemes = document.components?.securitySchemes ?? document.securityDefinitions ?? {};
  return Object.fromEntries(
    Object.entries(schemes).map(([name, { type, scheme }]) => {
      const isBasic = type === "basic" || scheme === "basic";
      return [name, isBasic ? { username: "canary-user", password: "canary-password" } : "canary-token"];
    }),
  );
}

interface Scheme {
  readonly type: string;
  readonly scheme?: string;
}

// Formats are for Prism to say. One judge for all: to make one takes as long as to call ten operations.
const judge = new Ajv2020({ strict: false, validateFormats: false, logger: false });

function inputFor({ name, inputSchema }: BackendTool): Readonly<Record<string, unknown>> {
  const fits = judge.compile(inputSchema as object);
  for (let seed = 0; seed < MOST_INPUTS; seed++) {
    const input = new InputGenerator(inputSchema, SEED * 1000 + seed).make(inputSchema);
    if (fits(input)) return input as Readonly<Record<string, unknown>>;
  }
  return expect.fail(`no input fits the schema of ${name}: ${JSON.stringify(fits.errors)}`);
}

/** What is wrong with the request in Prism's words, or in ours. Prism's own answers may be wrong in any way. */
function refusalIn(error: unknown): string | undefined {
  if (!(error instanceof ConnectorError)) throw error;
  const { code, message } = error;
  const { status, body } = (error.details ?? {}) as { readonly status?: number; readonly body?: unknown };
  const text = typeof body === "string" ? body : JSON.stringify(body ?? null);
  if (status === 500 && text.startsWith(`{"type":"${PROBLEM}VIOLATIONS"`)) return undefined;
  if (status !== undefined && status >= 300 && status < 400) return undefined;
  if (code === "DOWNSTREAM_PROTOCOL_ERROR" && message.includes("redirects to another origin"))
    return undefined;
  return `${code}: ${message} ${text}`;
}

describe.each(APIS)("the API of $name", ({ file, operations, oneIn = 1, wronglyRefused = {} }) => {
  // Prism does not run on an older one.
  test.skipIf(Number.parseInt(process.versions.node, 10) < 24)(
    "takes what all its tools send",
    async () => {
      const [credentials, prism] = await Promise.all([credentialsFor(file), startPrism(file)]);
      await using _ = prism;
      const options = { document: file, baseUrl: prism.origin, credentials, timeoutMs: 300_000 };
      await using connector = openapi({
        id: "api",
        card: { name: "API", description: "An API" },
        ...options,
      });
      const tools = await connector.tools({ signal: nobody });
      const refused: Record<string, string> = {};
      const isCalled = (at: number): boolean => at % oneIn === 0 || process.env["PRISM_ALL"] !== undefined;
      const left = tools.filter((_tool, at) => isCalled(at)).values();
      const callAll = async (): Promise<void> => {
        for (const tool of left) {
          const input = inputFor(tool);
          let refusal: string | undefined;
          try {
            const { meta } = await connector.callTool(tool.name, input, requestOf());
            const { "sl-violations": violations } = (meta?.["headers"] ?? {}) as Readonly<
              Record<string, string>
            >;
            if (violations?.includes('["request"')) refusal = violations;
          } catch (error) {
            refusal = refusalIn(error);
          }
          if (refusal !== undefined) refused[tool.name] = `${refusal} to ${JSON.stringify(input)}`;
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, callAll));
      const names = Object.keys(refused);
      const unexpected = names.filter((name) => !Object.hasOwn(wronglyRefused, name));
      expect(unexpected.map((name) => `${name}: ${refused[name]}`)).toEqual([]);
      expect(names.sort()).toEqual(Object.keys(wronglyRefused).sort());
      expect(tools.length).toBeGreaterThanOrEqual(operations);
    },
    MOST_MS,
  );
});
