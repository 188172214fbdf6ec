/**
 * Turns a Discovery document into methods that can be asked for one by one. Runs on a thread of its own.
 *
 * - A method that cannot be used is left out, and a problem says why: the others are there all the same.
 * - A method that gives bytes beside JSON is two tools, so that each says what it gives.
 */
import type { ToolText } from "../../description/messages.ts";
import { shownProblems } from "../../description/problems.ts";
import { LoadFailure } from "../../description/document-bytes.ts";
import { type Node, Schemas, type SchemaWithParts } from "../../description/schemas.ts";
import { TextPieces } from "../../description/text-pieces.ts";
import { nameOperations } from "../../description/tool-names.ts";
import type { Words } from "../../description/words.ts";
import { isRecord } from "../../web/text.ts";
import { DiscoverySchemas } from "./discovery-schemas.ts";
import type { DescribedDiscovery, DiscoverySetup, MethodPlan } from "./messages.ts";
import { chooseMethods } from "./method-filter.ts";
import { neededScopes } from "./needed-scopes.ts";
import { type Common, type MethodRead, readMethod, UnusableMethod } from "./read-method.ts";

const LONGEST_TEXT = 20_000;
const DEEPEST_RESOURCE = 50;
const MOST_SCOPES = 50;
const SCOPE = /^[\x21-\x7e]{1,300}$/u;

interface FoundMethod {
  /** Without the name of the API: `files.list`. */
  readonly id: string;
  readonly resources: readonly string[];
  readonly method: Node;
}

interface Tool {
  readonly found: FoundMethod;
  readonly read: MethodRead;
  readonly plan: MethodPlan;
  readonly ending: string;
  readonly words: readonly string[];
  readonly output: SchemaWithParts | undefined;
  readonly input: SchemaWithParts;
}

export function describeDiscovery(
  document: Node,
  hash: string,
  setup: DiscoverySetup,
  words: Words,
): DescribedDiscovery {
  assertDescription(document);
  const { name, title, version, rootUrl, servicePath, baseUrl, features } = document;
  const api = typeof name === "string" ? name : "";
  const place = placeOf(rootUrl, servicePath, baseUrl);
  const converted = new DiscoverySchemas(document["schemas"], words);
  const schemas = new Schemas(converted.document(), words);
  const common: Common = {
    servicePath: place.servicePath,
    parameters: isRecord(document["parameters"]) ? document["parameters"] : {},
    isWrapped: Array.isArray(features) && features.includes("dataWrapper"),
    ownedQuery: new Set(setup.ownedQuery),
    schemas: converted,
  };
  const problems: string[] = [];
  const chosen = chooseMethods(
    [...methodsOf(document, api, problems)],
    ({ id }) => (api === "" ? [id] : [id, `${api}.${id}`]),
    setup,
  );
  const tools: Tool[] = [];
  for (const found of chosen) {
    try {
      const read = readMethod(found.method, common);
      problems.push(...read.problems.map((problem) => `${found.id} ${problem}`));
      tools.push(...toolsOf(found, read, schemas));
    } catch (error) {
      if (!(error instanceof UnusableMethod)) throw error;
      problems.push(`${found.id} is left out: ${error.message}`);
    }
  }
  const names = nameOperations(
    tools.map(({ found, read, ending }) => ({
      operationId: found.id + ending,
      method: read.httpMethod,
      path: `${read.plan.path} ${found.id}${ending}`,
    })),
    words,
  );
  const text = new TextPieces(words);
  const methods = tools.map((tool, at) => toolText(tool, names[at] as string, text, words));
  const parts = text.addParts(schemas);
  return {
    title: words.cut(typeof title === "string" && title !== "" ? title : api, 200),
    version: typeof version === "string" ? words.cut(version, 50) : "",
    ...place,
    methods,
    scopes: neededScopes(chosen.map(({ method }) => scopesIn(method["scopes"]))).slice(0, MOST_SCOPES),
    parts,
    text: text.bytes(),
    problems: shownProblems(problems, words),
    hash,
  };
}

function assertDescription({ kind, protocol, methods, resources }: Node): void {
  if (kind === "discovery#directoryList")
    throw new LoadFailure("its description is a list of APIs, give that of one of them");
  if (kind !== undefined && kind !== "discovery#restDescription")
    throw new LoadFailure('its description is no Discovery document: "kind" has to say so');
  if (protocol !== undefined && protocol !== "rest")
    throw new LoadFailure('its description is of another protocol than "rest"');
  if (!isRecord(methods) && !isRecord(resources))
    throw new LoadFailure("its description is no Discovery document: it has neither methods nor resources");
}

function placeOf(
  rootUrl: unknown,
  servicePath: unknown,
  baseUrl: unknown,
): Pick<DescribedDiscovery, "rootUrl" | "servicePath"> {
  const below = typeof servicePath === "string" ? servicePath.replace(/^\/+/u, "") : "";
  if (typeof rootUrl === "string" && rootUrl !== "") return { rootUrl, servicePath: below };
  const base = typeof baseUrl === "string" ? URL.parse(baseUrl) : null;
  if (base === null) return { rootUrl: undefined, servicePath: below };
  return { rootUrl: base.origin, servicePath: base.pathname.slice(1) };
}

function* methodsOf(document: Node, api: string, problems: string[]): Generator<FoundMethod> {
  const open: { readonly node: Node; readonly resources: readonly string[] }[] = [
    { node: document, resources: [] },
  ];
  for (const { node, resources } of open) {
    for (const [key, method] of entriesOf(node["methods"])) {
      yield { id: idOf(method["id"], api) ?? [...resources, key].join("."), resources, method };
    }
    for (const [key, resource] of entriesOf(node["resources"])) {
      if (resources.length < DEEPEST_RESOURCE) open.push({ node: resource, resources: [...resources, key] });
      else problems.push(`${key} is left out: its resource is nested too deeply`);
    }
  }
}

function entriesOf(value: unknown): readonly [string, Node][] {
  return Object.entries(isRecord(value) ? value : {}).filter((one): one is [string, Node] =>
    isRecord(one[1]),
  );
}

function idOf(id: unknown, api: string): string | undefined {
  if (typeof id !== "string" || id === "") return undefined;
  return api !== "" && id.startsWith(`${api}.`) && id.length > api.length + 1 ? id.slice(api.length + 1) : id;
}

function toolsOf(found: FoundMethod, read: MethodRead, schemas: Schemas): readonly Tool[] {
  const { plan, download, output } = read;
  const input = schemas.read(read.input);
  const json: Tool = {
    found,
    read,
    plan,
    ending: "",
    words: read.words,
    input,
    output: output === undefined ? undefined : schemas.read(output),
  };
  if (download === undefined) return [json];
  const words = ["Gives the bytes of the media."];
  const media: Tool = { found, read, plan: download, ending: "", words, input, output: undefined };
  return output === undefined ? [media] : [json, { ...media, ending: ".media" }];
}

function toolText(
  { found, read, plan, words: more, input, output }: Tool,
  name: string,
  text: TextPieces,
  words: Words,
): ToolText {
  const { method, resources } = found;
  const own = typeof method["description"] === "string" ? method["description"].trim() : "";
  const description = [own, ...more].filter((part) => part !== "").join("\n");
  return {
    name,
    ...(description === "" ? {} : { description: words.cut(description, LONGEST_TEXT) }),
    ...(resources.length === 0 ? {} : { tags: [...new Set(resources)] }),
    isDeprecated: method["deprecated"] === true,
    method: read.httpMethod,
    plan: text.add(plan),
    input: text.addSchema(input),
    ...(output === undefined ? {} : { output: text.addSchema(output) }),
  };
}

function scopesIn(value: unknown): readonly string[] {
  return Array.isArray(value)
    ? value.filter((one): one is string => typeof one === "string" && SCOPE.test(one))
    : [];
}
