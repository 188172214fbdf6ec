/**
 * Credentials of HTTP backends: what they are, and how they go into a request. Runs on the host.
 *
 * - A credential is put on last: no argument can replace it. It goes to the origin of the base URL only.
 */
import type { Draft } from "./draft.ts";

export type Credential =
  | { readonly type: "bearer"; readonly token: string }
  | { readonly type: "basic"; readonly username: string; readonly password: string }
  | {
      readonly type: "apiKey";
      readonly in: "header" | "query" | "cookie";
      readonly name: string;
      readonly value: string;
    };

export function applyCredential(credential: Credential, draft: Draft): void {
  switch (credential.type) {
    case "bearer":
      draft.headers.set("authorization", `Bearer ${credential.token}`);
      return;
    case "basic":
      draft.headers.set("authorization", `Basic ${pair(credential)}`);
      return;
    case "apiKey":
      applyKey(credential, draft);
      return;
    default:
      credential satisfies never;
  }
}

function applyKey(key: Credential & { readonly type: "apiKey" }, draft: Draft): void {
  const encoded = `${encodeURIComponent(key.name)}=${encodeURIComponent(key.value)}`;
  switch (key.in) {
    case "header":
      draft.headers.set(key.name, key.value);
      return;
    case "query":
      draft.query.push(encoded);
      return;
    case "cookie":
      draft.cookies.push(encoded);
      return;
    default:
      key.in satisfies never;
  }
}

/** The header, query parameter or cookie that a credential takes: arguments cannot set it. */
export function placeOf(credential: Credential): { readonly in: string; readonly name: string } {
  return credential.type === "apiKey"
    ? { in: credential.in, name: credential.name }
    : { in: "header", name: "authorization" };
}

/** All texts of a credential that nobody may see. */
export function secretsOf(credential: Credential): readonly string[] {
  switch (credential.type) {
    case "bearer":
      return [credential.token];
    case "basic":
      return [credential.password, pair(credential)];
    case "apiKey":
      return [credential.value];
    default:
      return credential satisfies never;
  }
}

function pair({ username, password }: { readonly username: string; readonly password: string }): string {
  return Buffer.from(`${username}:${password}`, "utf8").toString("base64");
}
