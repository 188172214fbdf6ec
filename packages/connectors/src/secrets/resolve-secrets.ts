/**
 * Runs on the host. Puts secrets in the place of references in the options of a connector.
 *
 * - Only the places that a kind names are searched: texts for models and templates have no references.
 * - The options given are not changed.
 */
import { ConnectorError } from "../contract/connector-error.ts";
import {
  isWholeReference,
  mayHaveReferences,
  type Reference,
  ReferenceWrong,
  replaceReferences,
} from "./references.ts";
import { openedOnce, readSecret, SecretMissing, type SecretSources } from "./sources.ts";
import { secretsOfUrl } from "./secrets-of.ts";

/** Such as `headers.*`; a star stands for every key. A URL is no secret as a whole. */
export interface Places {
  readonly texts: readonly string[];
  readonly urls: readonly string[];
  /** Texts that have placeholders of their own, or that others read who have some: a dollar sign may be before these. */
  readonly templates?: readonly string[];
}

export interface ResolvedSecrets<Options> {
  readonly options: Options;
  /** What the references brought. */
  readonly secrets: readonly string[];
}

export function hasReferences(options: object, places: Places): boolean {
  let has = false;
  const { texts, urls, templates = [] } = places;
  for (const [all, isTemplate] of [
    [[...texts, ...urls], false],
    [templates, true],
  ] as const) {
    for (const place of all) {
      changed(options, place.split("."), (text) => {
        has ||= mayHaveReferences(text, isTemplate);
        return text;
      });
    }
  }
  return has;
}

/** Throws a `ConnectorError` that says where the reference is. */
export function resolveSecrets<Options extends object>(
  connector: string,
  options: Options,
  places: Places,
  sources: SecretSources,
): ResolvedSecrets<Options> {
  const secrets: string[] = [];
  const opened = openedOnce(sources);
  const resolver =
    (isUrl: boolean, isTemplate = false) =>
    (text: string, where: string): string => {
      const bring = (reference: Reference): string => {
        const secret = secretFor(connector, reference, where, opened);
        if (isUrl && isWholeReference(text)) secrets.push(...secretsOfUrl(secret, true));
        else secrets.push(secret);
        return secret;
      };
      try {
        return replaceReferences(text, bring, isTemplate);
      } catch (error) {
        if (!(error instanceof ReferenceWrong)) throw error;
        throw unusable(connector, `${where} ${error.message}`);
      }
    };
  let resolved: unknown = options;
  for (const place of places.texts) resolved = changed(resolved, place.split("."), resolver(false));
  for (const place of places.urls) resolved = changed(resolved, place.split("."), resolver(true));
  for (const place of places.templates ?? [])
    resolved = changed(resolved, place.split("."), resolver(false, true));
  return { options: resolved as Options, secrets };
}

function secretFor(connector: string, reference: Reference, where: string, sources: SecretSources): string {
  try {
    return readSecret(reference, connector, sources);
  } catch (error) {
    const why = error instanceof SecretMissing ? error.message : "cannot be read";
    // Programs read the message, and paths of the host are not for them.
    const isPath = reference.kind === "file";
    const named = isPath ? `the "$file:" reference` : `"${reference.text}"`;
    const cause = isPath ? new Error(`"${reference.text}" ${why}`) : undefined;
    throw unusable(connector, `${named} in ${where} ${why}`, cause);
  }
}

function unusable(connector: string, problem: string, cause?: unknown): ConnectorError {
  const message = `Cannot use connector "${connector}": ${problem}`;
  return new ConnectorError(connector, "CONFIG_INVALID", message, { cause, hasNoEffect: true });
}

/** A copy in which the texts at a place are others; the value itself if it has none there. */
function changed(
  value: unknown,
  place: readonly string[],
  change: (text: string, where: string) => string,
  where = "",
): unknown {
  const [key, ...rest] = place;
  if (key === undefined) return typeof value === "string" ? change(value, where) : value;
  if (Array.isArray(value) && key === "*")
    return value.map((item: unknown, at) => changed(item, rest, change, `${where}[${at}]`));
  if (!isPlain(value)) return value;
  const entries = Object.entries(value).map(([name, part]: [string, unknown]) =>
    key === "*" || key === name
      ? [name, changed(part, rest, change, where === "" ? name : `${where}.${name}`)]
      : [name, part],
  );
  return Object.fromEntries(entries) as unknown;
}

/** A URL is an object too, and has its text in no field. */
function isPlain(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof URL);
}
