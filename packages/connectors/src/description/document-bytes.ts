/**
 * DocumentBytes: reads the documents of a description as bytes, within a bound and at one place. Runs on the thread that
 * parses them, and on the host where a cache has to know them.
 *
 * - Others are read only below the directory of the first one, or from its origin, and all together are bounded.
 */
import { readFile, realpath, stat } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { readUpTo } from "../web/read-response.ts";
import type { DocumentSource } from "./messages.ts";

export class LoadFailure extends Error {
  override readonly name = "LoadFailure";
  readonly code: "CONFIG_INVALID" | "SERVER_UNAVAILABLE";

  constructor(message: string, code: LoadFailure["code"] = "CONFIG_INVALID", cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

const MOST_REDIRECTS = 5;

/** Where documents are that can be read. */
export type PlacedSource = Exclude<DocumentSource, { readonly kind: "object" }>;

export async function rootOf(source: PlacedSource): Promise<URL> {
  switch (source.kind) {
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

export class DocumentBytes {
  /** Where the first document is; undefined if it was given. */
  readonly root: URL | undefined;
  readonly #signal: AbortSignal | undefined;
  #bytesLeft: number;

  /** The signal ends what is on its way; a thread needs none, it is ended itself. */
  constructor(root: URL | undefined, documentBytes: number, signal?: AbortSignal) {
    this.root = root;
    this.#signal = signal;
    this.#bytesLeft = documentBytes;
  }

  async read(url: URL): Promise<Uint8Array<ArrayBuffer>> {
    const { root } = this;
    if (url.protocol !== root?.protocol) throw new LoadFailure("it is at another place than the description");
    const bytes =
      url.protocol === "file:"
        ? await readBelow(this.#bytesLeft, url, root)
        : await fetchFrom(this.#bytesLeft, url, root, this.#signal);
    this.count(bytes);
    return bytes;
  }

  /** Of what was read before. */
  count(bytes: Uint8Array): void {
    this.#bytesLeft -= bytes.length;
  }
}

async function readBelow(bytesLeft: number, url: URL, root: URL): Promise<Uint8Array<ArrayBuffer>> {
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

async function fetchFrom(
  bytesLeft: number,
  first: URL,
  root: URL,
  signal: AbortSignal | undefined,
): Promise<Uint8Array<ArrayBuffer>> {
  const unreached = (cause: unknown): never => {
    throw new LoadFailure("its description could not be reached", "SERVER_UNAVAILABLE", cause);
  };
  let url = first;
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
    if (url.origin !== root.origin) throw new LoadFailure("it is at another origin than the description");
    const response = await fetch(url, { redirect: "manual", signal: signal ?? null }).catch(unreached);
    const location =
      response.status >= 300 && response.status < 400 ? response.headers.get("location") : null;
    const next = location === null ? null : URL.parse(location, url.href);
    if (next === null) {
      if (!response.ok)
        throw new LoadFailure(`its description was answered with ${response.status}`, "SERVER_UNAVAILABLE");
      const { bytes, isWhole } = await readUpTo(response, bytesLeft).catch(unreached);
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
