/** Reads one method of a Discovery document: its parameters, body, media and answer. Runs on a thread of its own. */
import type { Node } from "../../description/schemas.ts";
import { pathParameters } from "../../web/path-text.ts";
import { isRecord } from "../../web/text.ts";
import type { DiscoverySchemas } from "./discovery-schemas.ts";
import type { MediaPlan, MethodPlan, PlacedParameter } from "./messages.ts";

/** A method that cannot be described is left out, for this reason. */
export class UnusableMethod extends Error {
  override readonly name = "UnusableMethod";
}

/** What all methods of a document have in common. */
export interface Common {
  readonly servicePath: string;
  readonly parameters: Node;
  readonly isWrapped: boolean;
  readonly ownedQuery: ReadonlySet<string>;
  readonly schemas: DiscoverySchemas;
}

export interface MethodRead {
  readonly httpMethod: string;
  readonly plan: MethodPlan;
  /** Of the same request for bytes. */
  readonly download?: MethodPlan;
  /** JSON Schema whose references lead into the document's. */
  readonly input: Node;
  readonly output?: Node;
  readonly words: readonly string[];
  readonly problems: readonly string[];
}

const METHODS: ReadonlySet<unknown> = new Set(["GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH"]);
/** They decide what an answer or a request is, which is ours to say, wherever they are declared. */
const OURS: ReadonlySet<string> = new Set([
  "access_token",
  "alt",
  "bearer_token",
  "callback",
  "oauth_token",
  "uploadType",
  "upload_protocol",
]);
/** Of those that every method has, these are credentials, or change nothing that a program could see. */
const NOT_COMMON: ReadonlySet<string> = new Set(["$.xgafv", "key", "pp", "prettyPrint"]);
const PLACEHOLDER = /^\+?[A-Za-z_$][\w$.-]*$/u;
const API_VERSION = /^[\w.-]{1,64}$/u;

export function readMethod(method: Node, common: Common): MethodRead {
  const { httpMethod, path, request, response, apiVersion } = method;
  const verb = typeof httpMethod === "string" ? httpMethod.toUpperCase() : "GET";
  if (!METHODS.has(verb)) throw new UnusableMethod("its HTTP method is none that can be sent");
  if (typeof path !== "string") throw new UnusableMethod("it has no path");
  const below = (prefix: string): string => `/${prefix}${common.servicePath}${path.replace(/^\/+/u, "")}`;
  const properties = new Map<string, Node>();
  const required = new Set<string>();
  const parameters = placeParameters(method, common, properties, required);
  const hasBody = verb !== "GET" && verb !== "HEAD" && isRecord(request);
  const body = hasBody ? freeName("body", properties) : undefined;
  if (body !== undefined) properties.set(body, common.schemas.read(request, "input"));
  const problems: string[] = [];
  const media = placeMedia(method["mediaUpload"], hasBody, properties, problems);
  const output = isRecord(response) ? common.schemas.read(response, "output") : undefined;
  const plan: MethodPlan = {
    path: below(""),
    parameters,
    ...(isRecord(common.parameters["alt"]) ? { alt: "json" as const } : {}),
    ...(body === undefined ? {} : { body }),
    ...(media === undefined ? {} : { media }),
    isWrapped: common.isWrapped,
    ...(typeof apiVersion === "string" && API_VERSION.test(apiVersion) ? { apiVersion } : {}),
  };
  const prefix = method["useMediaDownloadService"] === true ? "download/" : "";
  return {
    httpMethod: verb,
    plan,
    ...(method["supportsMediaDownload"] === true
      ? { download: { ...plan, path: below(prefix), alt: "media" as const } }
      : {}),
    input: {
      type: "object",
      properties: Object.fromEntries(properties),
      ...(required.size === 0 ? {} : { required: [...required] }),
      additionalProperties: false,
    },
    ...(output === undefined ? {} : { output }),
    words: pagingWords(properties, isRecord(response) ? common.schemas.resolve(response["$ref"]) : undefined),
    problems,
  };
}

/** Those of the path first, then in the order of the document; those of every method last. */
function placeParameters(
  { path, parameters, parameterOrder }: Node,
  common: Common,
  properties: Map<string, Node>,
  required: Set<string>,
): readonly PlacedParameter[] {
  const inPath = new Set<string>();
  for (const [, text = ""] of (path as string).matchAll(/\{([^{}]*)\}/gu)) {
    if (!PLACEHOLDER.test(text)) throw new UnusableMethod("its path has a parameter of an unknown form");
  }
  for (const { name } of pathParameters(path as string)) inPath.add(name);
  const own = isRecord(parameters) ? parameters : {};
  const placed: PlacedParameter[] = [];
  const place = (name: string, node: unknown, where: PlacedParameter["in"]): void => {
    if (properties.has(name)) return;
    const schema = isRecord(node) ? node : { type: "string" };
    properties.set(name, common.schemas.read(schema, "input"));
    if (where === "path" || schema["required"] === true) required.add(name);
    placed.push({ input: name, name, in: where });
  };
  for (const name of inPath) place(name, ownOrUndefined(own, name), "path");
  const ordered = Array.isArray(parameterOrder)
    ? parameterOrder.filter((name) => typeof name === "string")
    : [];
  for (const name of [...ordered, ...Object.keys(own)]) {
    const node = ownOrUndefined(own, name);
    const isQuery = isRecord(node) && node["location"] !== "path";
    if (isQuery && !OURS.has(name) && !common.ownedQuery.has(name)) place(name, node, "query");
  }
  for (const [name, node] of Object.entries(common.parameters)) {
    const isOurs = OURS.has(name) || NOT_COMMON.has(name) || common.ownedQuery.has(name);
    if (!isOurs && isRecord(node) && node["location"] !== "path") place(name, node, "query");
  }
  return placed;
}

function placeMedia(
  mediaUpload: unknown,
  hasBody: boolean,
  properties: Map<string, Node>,
  problems: string[],
): MediaPlan | undefined {
  if (!isRecord(mediaUpload)) return undefined;
  const { protocols, accept, maxSize } = mediaUpload;
  const simple = isRecord(protocols) ? protocols["simple"] : undefined;
  const path = isRecord(simple) ? simple["path"] : undefined;
  if (!isRecord(simple) || typeof path !== "string") {
    problems.push("takes media only in a way that is not offered: resumable uploads are not");
    return undefined;
  }
  const input = freeName("media", properties);
  const types = Array.isArray(accept) ? accept.filter((one): one is string => typeof one === "string") : [];
  const maxBytes = bytesOf(maxSize);
  const takesBody = hasBody && simple["multipart"] === true;
  const said = [
    takesBody ? "What is uploaded, beside the body" : "What is uploaded",
    ...(types.length === 0 || types.includes("*/*") ? [] : [`one of ${types.join(", ")}`]),
    ...(maxBytes === undefined ? [] : [`at most ${maxBytes} bytes`]),
  ].join(", ");
  properties.set(input, { type: "string", format: "binary", description: said });
  const typeInput = freeName("mediaType", properties);
  properties.set(typeInput, { type: "string", description: "The media type of what is uploaded" });
  return {
    input,
    typeInput,
    path: `/${path.replace(/^\/+/u, "")}`,
    takesBody,
    accept: types,
    ...(maxBytes === undefined ? {} : { maxBytes }),
  };
}

/** Of a text such as `10MB`. */
function bytesOf(size: unknown): number | undefined {
  const [, count = "", unit = ""] =
    /^(\d{1,6})\s*([KMGT]?)I?B?$/u.exec(typeof size === "string" ? size.toUpperCase() : "") ?? [];
  return count === "" ? undefined : Number(count) * 1024 ** ["", "K", "M", "G", "T"].indexOf(unit);
}

function pagingWords(inputs: ReadonlyMap<string, Node>, output: Node | undefined): readonly string[] {
  const properties = output?.["properties"];
  const hasNext = isRecord(properties) && Object.hasOwn(properties, "nextPageToken");
  if (!hasNext || !inputs.has("pageToken")) return [];
  return [
    "Gives one page: call it again with pageToken, the nextPageToken of the answer, until there is none.",
  ];
}

function freeName(wanted: string, taken: ReadonlyMap<string, unknown>): string {
  let name = wanted;
  for (let count = 2; taken.has(name); count++) name = `${wanted}_${count}`;
  return name;
}

function ownOrUndefined(node: Node, name: string): unknown {
  return Object.hasOwn(node, name) ? node[name] : undefined;
}
