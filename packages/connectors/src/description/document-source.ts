/** Where the document of a description is. Runs on the host. */
import path from "node:path";
import { fileURLToPath } from "node:url";
import { misconfigured } from "../web/web-options.ts";
import type { DocumentSource } from "./messages.ts";

/** Of a path, an address, or the document itself. */
export function sourceOf(document: string | URL | object): DocumentSource {
  const url = document instanceof URL ? document : typeof document === "string" ? URL.parse(document) : null;
  if (url?.protocol === "file:") return { kind: "file", path: fileURLToPath(url) };
  if (url?.protocol === "http:" || url?.protocol === "https:") return { kind: "url", href: url.href };
  if (typeof document === "string") return { kind: "file", path: path.resolve(document) };
  return { kind: "object", document };
}

/** Where a description came from, if it came from the web. */
export function addressOf(source: DocumentSource): URL | undefined {
  return source.kind === "url" ? new URL(source.href) : undefined;
}

/** What an option says as a text, if it is no document. */
export function textOf(document: string | URL | object): string | undefined {
  return document instanceof URL ? document.href : typeof document === "string" ? document : undefined;
}

/** A description from the web says where requests go. It cannot say so of credentials, unless that is where it is from. */
export function keepSecretsFrom(id: string, base: URL, source: DocumentSource, option: string): void {
  const from = addressOf(source);
  if (from === undefined || from.origin === base.origin) return;
  throw misconfigured(
    id,
    `its description leads to another origin than its own, set ${option} to say where the credentials may go`,
  );
}
