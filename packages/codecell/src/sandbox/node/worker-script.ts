/**
 * Worker script: what the threads of a pool execute: the worker's file, the embedded worker if there is no file, or the
 * file of the host's programmer. Runs on the host.
 *
 * - The text of the embedded worker goes into the data that a worker gets when it starts. So its URL is short, and is
 *   known before the text is loaded.
 */
import { statSync } from "node:fs";
import { isAbsolute } from "node:path";
import { pathToFileURL } from "node:url";
import { loadWorkerText } from "./embedded.ts";
import { ownFile } from "./own-file.ts";

export interface WorkerScript {
  readonly url: URL;
  /** The text of the embedded worker. */
  readonly text?: string;
}

/** Does not use eval, because the process may forbid it. */
const START_TEXT =
  'const{workerData:{text}}=process.getBuiltinModule("node:worker_threads");' +
  'if(typeof text!=="string")throw new Error("Cannot start the embedded worker: its host gave no text");' +
  'new(process.getBuiltinModule("node:vm").Script)(text,{filename:"codecell-worker.js"}).runInThisContext()';

const EMBEDDED_WORKER_URL = `data:text/javascript,${encodeURIComponent(START_TEXT)}`;

/**
 * The script of hosts without a `workerUrl`: a file of this package or, in a bundle, a `data:` URL for the embedded
 * worker.
 */
export function defaultWorkerUrl(): URL {
  return ownFile("worker/node") ?? embeddedWorkerUrl();
}

/** A `workerUrl` that starts the embedded worker. It works only through a host, which has the text. */
export function embeddedWorkerUrl(): URL {
  return new URL(EMBEDDED_WORKER_URL);
}

export async function loadWorkerScript(url: URL): Promise<WorkerScript> {
  return url.href === EMBEDDED_WORKER_URL ? { url, text: await loadWorkerText() } : { url };
}

/** Throws a TypeError if no thread can be started from the value. */
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

/** Undefined if the value is neither a URL nor an absolute path. */
export function toUrl(given: unknown): URL | undefined {
  if (typeof given === "string" && isAbsolute(given)) return pathToFileURL(given);
  // A URL object of another realm is accepted, too.
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
