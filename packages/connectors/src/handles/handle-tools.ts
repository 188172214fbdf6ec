/**
 * Runs on the host. HandleTools serve the methods of handles, but for `callTool`, which is a call of the tool itself.
 *
 * - A list that a backend does not offer is empty. A list that could not be read is a failure, never an empty list.
 * - What a program passes is checked here: a program passes anything.
 */
import type { AnyTool, CallContext, ToolSet } from "codecell";
import type { Artifacts } from "../artifacts/artifacts.ts";
import { withReferences } from "../artifacts/references.ts";
import type {
  BackendOutput,
  BackendPrompt,
  BackendRequest,
  BackendResource,
  Connector,
  Context,
} from "../contract/connector.ts";
import { ConnectorError } from "../contract/connector-error.ts";
import { forProgram, toConnectorError } from "../tools/unexpected.ts";
import type { ConnectedTools } from "./connected-tools.ts";
import { toDescriptor } from "./describe-tool.ts";
import { LONGEST_MATCHED_QUERY, matching } from "./matching.ts";
import { parseCompletion, parsePromptArguments, parseQuery, parseText, refuseInput } from "./method-input.ts";
import { LIST_PAGE, parsePage, SEARCH_PAGE, toPage } from "./page.ts";
import { checkReadiness, Unready } from "./readiness.ts";
import {
  type Summary,
  toCard,
  toPromptSummary,
  toResourceSummary,
  toTemplateSummary,
  toToolSummary,
} from "./summary.ts";

/** A connector, with its tools as programs find them. */
export interface Connected {
  readonly connector: Connector;
  readonly tools: ConnectedTools;
}

export interface HandleToolsSetup {
  readonly connected: ReadonlyMap<string, Connected>;
  readonly artifacts: Artifacts;
  /** The name of the type of results. */
  readonly result: string;
}

/** Of a search of tools, which is ranked by its words. */
const LONGEST_QUERY = 10_000;

type Input = Readonly<Record<string, unknown>>;

export function createHandleTools({ connected, artifacts, result }: HandleToolsSetup): ToolSet {
  /** A method as a tool: reading changes nothing, so a call whose outcome is unknown is made again. */
  const method = (
    action: string,
    work: (one: Connected, input: Input, request: BackendRequest) => Promise<unknown>,
  ): AnyTool => ({
    readOnly: true,
    execute: async (input: Input, { signal }: CallContext) => {
      const id = String(input["connector"]);
      try {
        const one = connected.get(id);
        if (one === undefined)
          return refuseInput(id, `Cannot ${action} of "${id}": there is no such connector`);
        return await work(one, input, { signal });
      } catch (error) {
        if (error instanceof Unready) throw error;
        throw forProgram(toConnectorError(id, `${action} of "${id}"`, error, signal));
      }
    },
  });

  /** What can be read of a backend, with references in the place of bytes. */
  const reading = (
    action: string,
    read: (context: Context, input: Input, id: string, request: BackendRequest) => Promise<BackendOutput>,
  ): AnyTool =>
    method(action, async ({ connector }, input, request) => {
      const { id } = connector;
      const { data } = await read(contextOf(connector, action), input, id, request);
      return withReferences(data, artifacts, (problem) => {
        throw new ConnectorError(id, "RESPONSE_TOO_LARGE", `Cannot ${action} of "${id}": ${problem}`);
      });
    });

  return {
    "connectors.inspect": method("inspect the card", async ({ connector }) => toCard(connector)),
    "connectors.check": method("check the state", ({ connector }, _, { signal }) =>
      checkReadiness(connector, signal),
    ),
    "connectors.tools": method("list the tools", async ({ connector, tools }, { page }, { signal }) => {
      const wanted = parsePage(connector.id, page, LIST_PAGE);
      const { byId } = await tools.known(signal);
      return toPage([...byId.values()], wanted, ({ told }) => toToolSummary(told));
    }),
    "connectors.searchTools": method("search the tools", async (one, { query, page }, { signal }) => {
      const words = parseQuery(one.connector.id, query, LONGEST_QUERY);
      const wanted = parsePage(one.connector.id, page, SEARCH_PAGE);
      const { byId, catalog } = await one.tools.known(signal);
      const found = await catalog().entriesFor(words, { limit: wanted.from + wanted.limit + 1 });
      const known = found.map(({ id }) => byId.get(id)).filter((tool) => tool !== undefined);
      return toPage(known, wanted, ({ told }) => toToolSummary(told));
    }),
    "connectors.describeTool": method(
      "describe a tool",
      async ({ connector, tools }, { name }, { signal }) => {
        const wanted = parseText(connector.id, "describe a tool", "name", name);
        const { byId, catalog } = await tools.known(signal);
        const known = byId.get(tools.idOf(wanted));
        const description = known === undefined ? undefined : await catalog().describe(known.id);
        if (known?.problem !== undefined) throw known.problem;
        if (known === undefined || description === undefined) throw tools.notFound(wanted, byId);
        return toDescriptor(connector.id, result, known.told, description);
      },
    ),
    "connectors.resources": listing(method, "list the resources", resourcesOf, toResourceSummary),
    "connectors.searchResources": searching(
      method,
      "search the resources",
      resourcesOf,
      textsOfResource,
      toResourceSummary,
    ),
    "connectors.resourceTemplates": listing(
      method,
      "list the resource templates",
      (context, request) => context.resourceTemplates(request),
      toTemplateSummary,
    ),
    "connectors.readResource": reading("read a resource", (context, { uri }, id, request) =>
      context.readResource(parseText(id, "read a resource", "uri", uri), request),
    ),
    "connectors.prompts": listing(method, "list the prompts", promptsOf, toPromptSummary),
    "connectors.searchPrompts": searching(
      method,
      "search the prompts",
      promptsOf,
      textsOfPrompt,
      toPromptSummary,
    ),
    "connectors.getPrompt": reading("get a prompt", (context, { name, args }, id, request) =>
      context.getPrompt(parseText(id, "get a prompt", "name", name), parsePromptArguments(id, args), request),
    ),
    "connectors.complete": method("complete an argument", async ({ connector }, { completion }, request) =>
      contextOf(connector, "complete an argument").complete(
        parseCompletion(connector.id, completion),
        request,
      ),
    ),
  };
}

type Method = (
  action: string,
  work: (one: Connected, input: Input, request: BackendRequest) => Promise<unknown>,
) => AnyTool;

type List<Item> = (context: Context, request: BackendRequest) => Promise<readonly Item[]>;

function listing<Item>(
  method: Method,
  action: string,
  list: List<Item>,
  toSummary: (item: Item) => Summary,
): AnyTool {
  return method(action, async ({ connector: { id, context } }, { page }, request) => {
    const wanted = parsePage(id, page, LIST_PAGE);
    return toPage(context === undefined ? [] : await list(context, request), wanted, toSummary);
  });
}

function searching<Item>(
  method: Method,
  action: string,
  list: List<Item>,
  textsOf: (item: Item) => readonly (string | undefined)[],
  toSummary: (item: Item) => Summary,
): AnyTool {
  return method(action, async ({ connector: { id, context } }, { query, page }, request) => {
    const words = parseQuery(id, query, LONGEST_MATCHED_QUERY);
    const wanted = parsePage(id, page, SEARCH_PAGE);
    const items = context === undefined ? [] : await list(context, request);
    return toPage(await matching(items, words, textsOf), wanted, toSummary);
  });
}

const resourcesOf: List<BackendResource> = (context, request) => context.resources(request);
const promptsOf: List<BackendPrompt> = (context, request) => context.prompts(request);

function textsOfResource({ uri, name, title, description }: BackendResource): (string | undefined)[] {
  return [uri, name, title, description];
}

function textsOfPrompt(prompt: BackendPrompt): (string | undefined)[] {
  const { name, title, description, arguments: args = [] } = prompt;
  return [name, title, description, ...args.map((argument) => argument.name)];
}

function contextOf({ id, kind, context }: Connector, action: string): Context {
  if (context !== undefined) return context;
  const message = `Cannot ${action} of "${id}": a backend of kind ${kind} has none, use its tools`;
  throw new ConnectorError(id, "UNSUPPORTED_OPERATION", message, { hasNoEffect: true });
}
