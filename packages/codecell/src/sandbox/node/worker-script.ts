/**
 * Worker script: what the threads of a pool execute: the worker's file, the embedded worker where there is none, or
 * what the host's programmer gave.
 *
 * - The embedded worker's text travels with what a worker is given when it starts, so that its URL is short and known
 *   before the text is loaded.
 */
import { statSync } from "node:fs";
import { isAbsolute } from "node:path";
import { pathToFileURL } from "node:url";
import { loadWorkerText } from "./embedded.ts";
import { ownFile } from "./own-file.ts";

export interface WorkerScript {
  readonly url: URL;
  /** Of the embedded worker. */
  readonly text?: string;
}

/** Not by eval: the process may have been started without it. */
const START_TEXT =
  'const{workerData:{text}}=process.getBuiltinModule("node:worker_threads");' +
  'if(typeof text!=="string")throw new Error("Cannot start the embedded worker: its host gave no text");' +
  'new(process.getBuiltinModule("node:vm").Script)(text,{filename:"codecell-worker.js"}).runInThisContext()';

const EMBEDDED_WORKER_URL = `data:text/javascript,${encodeURIComponent(START_TEXT)}`;

/** What hosts without a `workerUrl` start: a file of this package or, in a bundle, a `data:` URL for the embedded worker. */
export function defaultWorkerUrl(): URL {
  return ownFile("worker/node") ?? embeddedWorkerUrl();
}

/** Starts the embedded worker wherever a host is given it; of no use without a host, which has the text. */
export function embeddedWorkerUrl(): URL {
  return new URL(EMBEDDED_WORKER_URL);
}

export async function loadWorkerScript(url: URL): Promise<WorkerScript> {
  return url.href === EMBEDDED_WORKER_URL ? { url, text: await loadWorkerText() } : { url };
}

/** Throws a TypeError for what no thread can be started from. */
export function resolveWorkerUrl(given: unknown): URL {
  if (given === undefined) return defaultWorkerUrl();
  const url = toUrl(given);
  if (url === undefined || (url.protocol !== "file:" && url.protocol !== "data:")) {
    throw new TypeError(
      `Cannot create a host with ${shown(given)} as workerUrl: expected a file: or data: URL, or an absolute path`,
    );
  }
  if (url.protocol === "file:" && !isThere(url)) {
    throw new TypeError(
      `Cannot create a host with ${shown(given)} as workerUrl: there is no such file, write one with loadWorkerText()`,
    );
  }
  return url;
}

/** Undefined for what is neither a URL nor an absolute path. */
export function toUrl(given: unknown): URL | undefined {
  if (typeof given === "string" && isAbsolute(given)) return pathToFileURL(given);
  // URLs of another realm are URLs too.
  const text = isUrl(given) ? given.href : given;
  return typeof text === "string" && URL.canParse(text) ? new URL(text) : undefined;
}

function isUrl(value: unknown): value is { readonly href: string } {
  return typeof value === "object" && value !== null && "href" in value && typeof value.href === "string";
}

function isThere(file: URL): boolean {
  try {
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

function shown(given: unknown): string {
  if (typeof given !== "string" && !isUrl(given)) return given === null ? "null" : `a ${typeof given}`;
  return JSON.stringify(typeof given === "string" ? given : given.href).slice(0, 200);
}
