/** Reads the parameters of an operation. Runs on a thread of its own. */
import { isFramingHeader } from "../../web/draft.ts";
import { pathParameters } from "../../web/path-text.ts";
import { formatOf, mediaOf } from "./media-types.ts";
import type { ParameterPlan, Style } from "./messages.ts";
import type { Node, Schemas } from "../../description/schemas.ts";

/** An operation that cannot be described is left out, for this reason. */
export class Unusable extends Error {
  override readonly name = "Unusable";
}

export interface FoundParameter {
  readonly plan: Omit<ParameterPlan, "input">;
  readonly isRequired: boolean;
  readonly schema: unknown;
  readonly description: string | undefined;
  readonly isDeprecated: boolean;
}

export interface FoundParameters {
  readonly parameters: readonly FoundParameter[];
  readonly idempotencyHeader: string | undefined;
}

/** What the operator sets: no argument can. Header names are in lower case. */
export interface Owned {
  readonly header: ReadonlySet<string>;
  readonly query: ReadonlySet<string>;
  readonly cookie: ReadonlySet<string>;
}

type Place = ParameterPlan["in"];

const PLACES: ReadonlySet<unknown> = new Set<Place>(["path", "query", "header", "cookie"]);
const STYLES: Readonly<Record<Place, readonly [Style, ...Style[]]>> = {
  path: ["simple", "label", "matrix"],
  query: ["form", "spaceDelimited", "pipeDelimited", "deepObject"],
  header: ["simple"],
  cookie: ["form"],
};
/** What the specification says to ignore: the body, the answer and the credentials say these. */
const IGNORED_HEADERS: ReadonlySet<string> = new Set(["accept", "authorization", "content-type"]);
const ORDER: readonly Place[] = ["path", "query", "header", "cookie"];

export function readParameters(
  schemas: Schemas,
  path: string,
  lists: readonly unknown[],
  owned: Owned,
): FoundParameters {
  const inPath = new Set(pathParameters(path.split("?", 1)[0] ?? "").map(({ name }) => name));
  const found = new Map<string, FoundParameter>();
  let idempotencyHeader: string | undefined;
  for (const reference of lists.flatMap((list) => (Array.isArray(list) ? (list as unknown[]) : []))) {
    const parameter = readParameter(schemas, reference);
    const { name, in: place } = parameter.plan;
    const lower = name.toLowerCase();
    if (place === "header" && lower === "idempotency-key") idempotencyHeader = name;
    else if (isForArguments(place, name, inPath, owned)) found.set(`${place} ${name}`, parameter);
  }
  for (const name of inPath) {
    if (!found.has(`path ${name}`)) found.set(`path ${name}`, undeclared(name));
  }
  const parameters = [...found.values()].sort(
    (one, other) => ORDER.indexOf(one.plan.in) - ORDER.indexOf(other.plan.in),
  );
  return { parameters, idempotencyHeader };
}

function isForArguments(place: Place, name: string, inPath: ReadonlySet<string>, owned: Owned): boolean {
  const lower = name.toLowerCase();
  switch (place) {
    case "path":
      return inPath.has(name);
    case "query":
      return !owned.query.has(name);
    case "header":
      return !IGNORED_HEADERS.has(lower) && !isFramingHeader(name) && !owned.header.has(lower);
    case "cookie":
      return !owned.cookie.has(name);
    default:
      return place satisfies never;
  }
}

function readParameter(schemas: Schemas, reference: unknown): FoundParameter {
  const node = schemas.resolve(reference);
  const { name, in: place } = node ?? {};
  if (node === undefined || typeof name !== "string" || name === "" || !PLACES.has(place)) {
    throw new Unusable("one of its parameters has no name or no place");
  }
  return parameterOf(node, name, place as Place);
}

function parameterOf(node: Node, name: string, place: Place): FoundParameter {
  const [media] = mediaOf(node["content"]);
  const styles = STYLES[place];
  const style = styles.find((one) => one === node["style"]) ?? styles[0];
  const explode = typeof node["explode"] === "boolean" ? node["explode"] : style === "form";
  const allowsReserved = node["allowReserved"] === true;
  return {
    plan: {
      name,
      in: place,
      style,
      explode,
      allowsReserved,
      isJson: media !== undefined && formatOf(media.type) === "json",
      // GitHub and others say so of paths of files and names of branches.
      mayHaveSlashes: node["x-multi-segment"] === true || (place === "path" && allowsReserved),
    },
    isRequired: place === "path" || node["required"] === true,
    schema: media === undefined ? node["schema"] : media.object["schema"],
    description: typeof node["description"] === "string" ? node["description"] : undefined,
    isDeprecated: node["deprecated"] === true,
  };
}

function undeclared(name: string): FoundParameter {
  return parameterOf({ schema: { type: "string" } }, name, "path");
}
