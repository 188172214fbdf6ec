/**
 * Reads the document of a description and those it refers to, as one document of OpenAPI 3.1. Runs on a thread of its
 * own.
 *
 * - What cannot be read is a problem, and what refers to it means anything. Only the first document has to be there.
 */
import type { DocumentLink } from "../../description/cache/other-documents.ts";
import type { ReadingSetup } from "../../description/messages.ts";
import { LoadFailure } from "../../description/document-bytes.ts";
import { type DocumentReader, type LoadedDocument, readFirst } from "../../description/read-document.ts";
import { isRecord } from "../../web/text.ts";

/** Where the other documents are in the one that is made of all. */
const OTHERS = "x-codecell-documents";
const MOST_DOCUMENTS = 200;

interface Loading {
  readonly reader: DocumentReader;
  /** By their address, in the order in which they were found. */
  readonly numbers: Map<string, number>;
  readonly documents: unknown[];
  readonly problems: string[];
  /** How the documents were found, by who refers to them with which words. */
  readonly links: Map<string, DocumentLink>;
  readonly hashes: string[];
}

export async function loadDocument(setup: ReadingSetup): Promise<LoadedDocument> {
  const { first, reader } = await readFirst(setup);
  const { root } = reader;
  const documents: unknown[] = [first];
  const problems: string[] = [];
  const numbers = new Map(root === undefined ? [] : [[root.href, 0]]);
  const links = new Map<string, DocumentLink>();
  const hashes: string[] = [];
  await linkOthers({ reader, numbers, documents, problems, links, hashes }, first, root, 0);
  // What could not be read may be there next time.
  const others = problems.length === 0 ? { links: [...links.values()], hashes } : undefined;
  const whole =
    documents.length === 1
      ? first
      : {
          ...first,
          [OTHERS]: Object.fromEntries(documents.slice(1).map((other, at) => [String(at + 1), other])),
        };
  return { document: await upgraded(withoutUnneeded(whole)), problems, hash: reader.hash(), others };
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
    const target = address === "" ? number : await numberOf(loading, address, base, number);
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
  from: number,
): Promise<number | undefined> {
  const { reader, numbers, documents, problems, links, hashes } = loading;
  const link = (to: number): void => {
    const key = `${from} ${address}`;
    if (!links.has(key)) links.set(key, { from, ref: address, to });
  };
  const url = base === undefined ? null : URL.parse(address, base.href);
  if (url === null) {
    problems.push(`"${address}" is another document, and nothing says where it is`);
    return undefined;
  }
  const known = numbers.get(url.href);
  if (known !== undefined) {
    if (known < 0) return undefined;
    link(known);
    return known;
  }
  numbers.set(url.href, -1);
  if (documents.length >= MOST_DOCUMENTS) {
    problems.push(`"${address}" is left out: there are more than ${MOST_DOCUMENTS} documents`);
    return undefined;
  }
  try {
    const { document, hash } = await reader.read(url);
    const number = documents.push(document) - 1;
    numbers.set(url.href, number);
    hashes.push(hash);
    link(number);
    await linkOthers(loading, document, url, number);
    return number;
  } catch (error) {
    problems.push(
      `"${address}" is left out: ${error instanceof LoadFailure ? error.message : "it cannot be read"}`,
    );
    return undefined;
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
      // The words of the converter may quote it.
      throw new LoadFailure("its description cannot be converted to OpenAPI 3.1", "CONFIG_INVALID", cause);
    }
  }
  throw new LoadFailure(
    'its description is no OpenAPI 3 or Swagger 2.0: "openapi" or "swagger" has to say so',
  );
}
