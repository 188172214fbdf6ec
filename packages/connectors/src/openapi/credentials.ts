/** Matches the credentials of a configuration with the security schemes of a description. Runs on the host. */
import { checkCredentials, misconfigured } from "../web/web-options.ts";
import type { Credential } from "../web/credentials.ts";
import type { Described, Scheme, Security } from "./description/messages.ts";

/** The secret of one security scheme: a key, a token, or a user with a password. */
export type SchemeCredential = string | { readonly username: string; readonly password: string };

/** By the names that the description gives its security schemes. */
export type SchemeCredentials = Readonly<Record<string, SchemeCredential>>;

export function credentialsByScheme(
  id: string,
  { schemes }: Described,
  given: SchemeCredentials,
): ReadonlyMap<string, Credential> {
  const found = Object.entries(given).map(([name, secret]) => {
    const scheme = Object.hasOwn(schemes, name) ? schemes[name] : undefined;
    if (scheme === undefined) {
      const known = Object.keys(schemes).map((one) => `"${one}"`);
      throw misconfigured(
        id,
        `its description has no usable security scheme "${name}", it has ${known.join(", ") || "none"}`,
      );
    }
    return [name, credentialOf(id, name, scheme, secret)] as const;
  });
  checkCredentials(
    id,
    found.map(([, credential]) => credential),
  );
  return new Map(found);
}

function credentialOf(id: string, name: string, scheme: Scheme, secret: SchemeCredential): Credential {
  if (scheme.type === "basic") {
    if (typeof secret === "string")
      throw misconfigured(id, `the security scheme "${name}" needs a username and a password`);
    return { type: "basic", ...secret };
  }
  if (typeof secret !== "string") throw misconfigured(id, `the security scheme "${name}" needs one text`);
  return scheme.type === "bearer"
    ? { type: "bearer", token: secret }
    : { type: "apiKey", in: scheme.in, name: scheme.name, value: secret };
}

/** The credentials of the first alternative that is complete; none if there is none. */
export function chooseCredentials(
  security: Security,
  credentials: ReadonlyMap<string, Credential>,
): readonly Credential[] {
  const complete = security.find(
    (schemes) => schemes.length > 0 && schemes.every((name) => credentials.has(name)),
  );
  return (complete ?? []).map((name) => credentials.get(name) as Credential);
}
