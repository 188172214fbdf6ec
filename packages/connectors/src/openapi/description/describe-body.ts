/** Reads the body of an operation's request: its media type, and where its parts come from. Runs on a thread of its own. */
import { isRecord } from "../../web/text.ts";
import { flatten, propertiesOf } from "./flatten.ts";
import { chooseBody, formatOf, type Media, mediaOf } from "./media-types.ts";
import type { BodyPlan, FieldPlan, Style, Writing } from "./messages.ts";
import { Unusable } from "./describe-parameters.ts";
import { isBytesSchema, type Node, type Schemas } from "../../description/schemas.ts";

/** A property of the tool's input. */
export interface Property {
  readonly schema: unknown;
  readonly description?: string | undefined;
  readonly isRequired: boolean;
}

/** Gives a property of the input a name of its own. */
export type AddProperty = (wanted: string, place: string, property: Property) => string;

export function readBody(schemas: Schemas, reference: unknown, add: AddProperty): BodyPlan | undefined {
  if (reference === undefined) return undefined;
  const node = schemas.resolve(reference);
  if (node === undefined) throw new Unusable("its body refers to nothing");
  const media = chooseBody(mediaOf(node["content"]), (one) => hasBytes(schemas, one));
  if (media === undefined) return undefined;
  const description = typeof node["description"] === "string" ? node["description"] : undefined;
  const format = formatOf(media.type);
  const { schema } = media.object;
  const writings = writingsOf(media.object["encoding"]);
  const flat = format === "raw" ? undefined : flatten(schemas, schema);
  // Forms rarely say that they are required; an object in JSON that may be absent as a whole stays one property.
  const isRequired =
    node["required"] === true || (format !== "json" && flat !== undefined && flat.required.size > 0);
  const about = { format, mediaType: media.type, isRequired };
  if (flat === undefined || (!isRequired && flat.required.size > 0)) {
    const whole = add("body", "request", {
      schema: format === "raw" ? rawSchema(media) : schema,
      description,
      isRequired,
    });
    return { ...about, whole, writings };
  }
  const fields = [...flat.properties].map(([name, property]): FieldPlan => {
    const input = add(name, "body", { schema: property, isRequired: flat.required.has(name) });
    return Object.assign({ input, name }, Object.hasOwn(writings, name) ? writings[name] : {});
  });
  return { ...about, fields };
}

function rawSchema({ type, object }: Media): unknown {
  const { schema } = object;
  if (/^(?:text\/|application\/xml|[^;]*\+xml)/u.test(type)) {
    const description =
      isRecord(schema) && typeof schema["description"] === "string" ? schema["description"] : "";
    return { type: "string", description: description === "" ? `Text of type ${type}` : description };
  }
  return { type: "string", format: "binary", contentMediaType: type };
}

function hasBytes(schemas: Schemas, { object }: Media): boolean {
  return propertiesOf(schemas, object["schema"]).some((property) => {
    const node = schemas.resolve(property) ?? {};
    return isBytesSchema(node) || isBytesSchema(schemas.resolve(node["items"]) ?? {});
  });
}

const FORM_STYLES: ReadonlySet<unknown> = new Set<Style>([
  "form",
  "spaceDelimited",
  "pipeDelimited",
  "deepObject",
]);

function writingsOf(encoding: unknown): Readonly<Record<string, Omit<FieldPlan, "input" | "name">>> {
  if (!isRecord(encoding)) return {};
  return Object.fromEntries(
    Object.entries(encoding).map(([name, node]) => [name, isRecord(node) ? writingOf(node) : {}] as const),
  );
}

function writingOf({ style, explode, allowReserved, contentType }: Node): Omit<FieldPlan, "input" | "name"> {
  const hasStyle = FORM_STYLES.has(style);
  const isJson = !hasStyle && typeof contentType === "string" && formatOf(contentType) === "json";
  const isSaid = hasStyle || typeof explode === "boolean" || typeof allowReserved === "boolean" || isJson;
  const own = hasStyle ? (style as Style) : "form";
  const writing: Writing = {
    style: own,
    explode: typeof explode === "boolean" ? explode : own === "form",
    allowsReserved: allowReserved === true,
    isJson,
  };
  return {
    ...(isSaid ? { writing } : {}),
    ...(typeof contentType === "string" ? { mediaType: contentType } : {}),
  };
}
