/**
 * Reads the document of a description and those it refers to, as one document of OpenAPI 3.1. Runs on a thread of its
 * own.
 *
 * - Others are read only below the directory of the first one, or from its origin, and all together are bounded.
 * - What cannot be read is a problem, and what refers to it means anything. Only the first document has to be there.
 */
import { createHash } from "node:crypto";
import { readFile, realpath, stat } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { readUpTo } from "../../web/read-response.ts";
import { isRecord } from "../../web/text.ts";
import type { DocumentSource } from "./messages.ts";

export class LoadFailure extends Error {
  override readonly name = "LoadFailure";
  readonly code: "CONFIG_INVALID" | "SERVER_UNAVAILABLE";

  constructor(message: string, code: LoadFailure["code"] = "CONFIG_INVALID", cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

export interface LoadedDocument {
  readonly document: Readonly<Record<string, unknown>>;
  readonly problems: string[];
  readonly hash: string;
}

/** Where the other documents are in the one that is made of all. */
const OTHERS = "x-codecell-documents";
const MOST_DOCUMENTS = 200;
const MOST_REDIRECTS = 5;

interface Loading {
  readonly root: URL | undefined;
  /** By their address, in the order in which they were found. */
  readonly numbers: Map<string, number>;
  readonly documents: unknown[];
  readonly problems: string[];
  readonly hash: ReturnType<typeof createHash>;
  bytesLeft: number;
}

export async function loadDocument(source: DocumentSource, documentBytes: number): Promise<LoadedDocument> {
  const root = await rootOf(source);
  const loading: Loading = {
    root,
    numbers: new Map(),
    documents: [],
    problems: [],
    hash: createHash("sha256"),
    bytesLeft: documentBytes,
  };
  const first = source.kind === "object" ? source.document : await read(loading, root as URL);
  if (source.kind === "object") loading.hash.update(JSON.stringify(first));
  if (!isRecord(first)) throw new LoadFailure("its description is no object");
  loading.documents.push(first);
  if (root !== undefined) loading.numbers.set(root.href, 0);
  await linkOthers(loading, first, root, 0);
  const { documents, problems, hash } = loading;
  const whole =
    documents.length === 1
      ? first
      : {
          ...first,
          [OTHERS]: Object.fromEntries(documents.slice(1).map((other, at) => [String(at + 1), other])),
        };
  return { document: await upgraded(withoutUnneeded(whole)), problems, hash: hash.digest("hex") };
}

async function rootOf(source: DocumentSource): Promise<URL | undefined> {
  switch (source.kind) {
    case "object":
      return undefined;
    case "url":
      return new URL(source.href);
    case "file":
      try {
        return pathToFileURL(await realpath(source.path));
      } catch (cause) {
        throw new LoadFailure("the file of its description cannot be found", "CONFIG_INVALID", cause);
      }
    default:
      return source satisfies never;
  }
}

/** Rewrites what refers to other documents, and reads these. */
async function linkOthers(
  loading: Loading,
  start: unknown,
  base: URL | undefined,
  number: number,
): Promise<void> {
  const referring: Record<string, unknown>[] = [];
  collectReferring(start, referring);
  for (const node of referring) {
    const ref = node["$ref"] as string;
    const [address = "", pointer = ""] = ref.split("#", 2);
    const target = address === "" ? number : await numberOf(loading, address, base);
    if (target === undefined) node["$ref"] = `#/${OTHERS}/missing`;
    else if (target !== 0) node["$ref"] = `#/${OTHERS}/${target}${pointer}`;
    else if (address !== "") node["$ref"] = `#${pointer}`;
  }
}

function collectReferring(start: unknown, found: Record<string, unknown>[]): void {
  const seen = new Set<unknown>();
  const open: unknown[] = [start];
  while (open.length > 0) {
    const node = open.pop();
    if (typeof node !== "object" || node === null || seen.has(node)) continue;
    seen.add(node);
    if (typeof (node as Record<string, unknown>)["$ref"] === "string")
      found.push(node as Record<string, unknown>);
    for (const part of Object.values(node)) if (typeof part === "object") open.push(part);
  }
}

/** The number of another document, which is read if nobody did so before. */
async function numberOf(
  loading: Loading,
  address: string,
  base: URL | undefined,
): Promise<number | undefined> {
  const { numbers, documents, problems } = loading;
  const url = base === undefined ? null : URL.parse(address, base.href);
  if (url === null) {
    problems.push(`"${address}" is another document, and nothing says where it is`);
    return undefined;
  }
  const known = numbers.get(url.href);
  if (known !== undefined) return known < 0 ? undefined : known;
  numbers.set(url.href, -1);
  if (documents.length >= MOST_DOCUMENTS) {
    problems.push(`"${address}" is left out: there are more than ${MOST_DOCUMENTS} documents`);
    return undefined;
  }
  try {
    const document = await read(loading, url);
    const number = documents.push(document) - 1;
    numbers.set(url.href, number);
    await linkOthers(loading, document, url, number);
    return number;
  } catch (error) {
    problems.push(
      `"${address}" is left out: ${error instanceof LoadFailure ? error.message : "it cannot be read"}`,
    );
    return undefined;
  }
}

async function read(loading: Loading, url: URL): Promise<unknown> {
  const { root } = loading;
  if (url.protocol !== root?.protocol) throw new LoadFailure("it is at another place than the description");
  const bytes =
    url.protocol === "file:" ? await readBelow(loading, url, root) : await fetchFrom(loading, url, root);
  loading.bytesLeft -= bytes.length;
  loading.hash.update(bytes);
  return parseText(new TextDecoder().decode(bytes));
}

async function readBelow({ bytesLeft }: Loading, url: URL, root: URL): Promise<Uint8Array> {
  const directory = path.dirname(fileURLToPath(root)) + path.sep;
  let file: string;
  try {
    file = await realpath(fileURLToPath(url));
  } catch (cause) {
    throw new LoadFailure("it cannot be found", "CONFIG_INVALID", cause);
  }
  if (!file.startsWith(directory)) throw new LoadFailure("it is outside of the description's directory");
  const { size } = await stat(file);
  if (size > bytesLeft) throw tooLarge();
  return readFile(file);
}

async function fetchFrom({ bytesLeft }: Loading, first: URL, root: URL): Promise<Uint8Array> {
  let url = first;
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
    if (url.origin !== root.origin) throw new LoadFailure("it is at another origin than the description");
    const response = await fetch(url, { redirect: "manual" }).catch((cause: unknown) => {
      throw new LoadFailure("its description could not be reached", "SERVER_UNAVAILABLE", cause);
    });
    const location =
      response.status >= 300 && response.status < 400 ? response.headers.get("location") : null;
    const next = location === null ? null : URL.parse(location, url.href);
    if (next === null) {
      if (!response.ok)
        throw new LoadFailure(`its description was answered with ${response.status}`, "SERVER_UNAVAILABLE");
      const { bytes, isWhole } = await readUpTo(response, bytesLeft);
      if (!isWhole) throw tooLarge();
      return bytes;
    }
    void response.body?.cancel().catch(() => {});
    url = next;
  }
  throw new LoadFailure(`its description redirects more than ${MOST_REDIRECTS} times`);
}

function tooLarge(): LoadFailure {
  return new LoadFailure("its description has too many bytes");
}

async function parseText(text: string): Promise<unknown> {
  try {
    if (/^\uFEFF?\s*[{[]/u.test(text.slice(0, 1000))) return JSON.parse(text.replace(/^\uFEFF/u, ""));
    // Most descriptions are JSON, and loading the parser takes as long as reading them.
    const { parse } = await import("yaml");
    return parse(text, { maxAliasCount: 1000, logLevel: "error" });
  } catch (cause) {
    const [line = ""] = (cause instanceof Error ? cause.message : "").split("\n", 1);
    throw new LoadFailure(`its description does not parse: ${line.slice(0, 200)}`, "CONFIG_INVALID", cause);
  }
}

/** What no tool needs takes most of the time: a description is mostly examples. */
function withoutUnneeded(document: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { webhooks: _1, "x-webhooks": _2, ...rest } = document;
  for (const item of valuesOf(rest["paths"])) {
    for (const operation of valuesOf(item)) {
      delete operation["callbacks"];
      for (const holder of [operation["requestBody"], ...valuesOf(operation["responses"])]) {
        if (isRecord(holder)) dropExamples(holder);
      }
      for (const parameter of valuesOf(operation["parameters"])) dropOwnExamples(parameter);
    }
  }
  if (!isRecord(rest["components"])) return rest;
  const { examples: _3, callbacks: _4, ...components } = rest["components"];
  for (const holder of [...valuesOf(components["responses"]), ...valuesOf(components["requestBodies"])])
    dropExamples(holder);
  return { ...rest, components };
}

function dropExamples(holder: Readonly<Record<string, unknown>>): void {
  for (const media of valuesOf(holder["content"])) dropOwnExamples(media);
}

function dropOwnExamples(holder: Record<string, unknown>): void {
  delete holder["example"];
  delete holder["examples"];
}

function valuesOf(value: unknown): Record<string, unknown>[] {
  return typeof value === "object" && value !== null ? Object.values(value).filter(isRecord) : [];
}

async function upgraded(
  document: Readonly<Record<string, unknown>>,
): Promise<Readonly<Record<string, unknown>>> {
  const { openapi, swagger } = document;
  if (typeof openapi === "string" && /^3\.[1-9]/u.test(openapi)) return document;
  if (swagger === "2.0" || (typeof openapi === "string" && /^3\.0(?:\.|$)/u.test(openapi))) {
    try {
      const { upgrade } = await import("@scalar/openapi-upgrader");
      return upgrade(document, "3.1");
    } catch (cause) {
      const message = cause instanceof Error ? cause.message : "";
      throw new LoadFailure(
        `its description cannot be converted: ${message.slice(0, 200)}`,
        "CONFIG_INVALID",
        cause,
      );
    }
  }
  throw new LoadFailure(
    'its description is no OpenAPI 3 or Swagger 2.0: "openapi" or "swagger" has to say so',
  );
}
