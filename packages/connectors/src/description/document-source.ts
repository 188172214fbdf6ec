/** Where the document of a description is. Runs on the host. */
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { DocumentSource } from "./messages.ts";

/** Of a path, an address, or the document itself. */
export function sourceOf(document: string | URL | object): DocumentSource {
  const url = document instanceof URL ? document : typeof document === "string" ? URL.parse(document) : null;
  if (url?.protocol === "file:") return { kind: "file", path: fileURLToPath(url) };
  if (url?.protocol === "http:" || url?.protocol === "https:") return { kind: "url", href: url.href };
  if (typeof document === "string") return { kind: "file", path: path.resolve(document) };
  return { kind: "object", document };
}
