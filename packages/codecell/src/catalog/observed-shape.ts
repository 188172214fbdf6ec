/**
 * ObservedShape: the shape of a tool's outputs, learnt from real outputs. Runs anywhere.
 *
 * - Holds names of fields and kinds of values, never a value.
 * - Merging is commutative and idempotent, so the order of samples does not matter. A field is optional if a sample
 *   lacked it.
 * - The size is bounded: values that are too deep, wide or mixed become `unknown` or are marked as truncated.
 */
import type { Json, JsonRecord } from "../contract/value.ts";
import { toFieldName } from "../declare/literal.ts";
import { isArrayOf, isRecord } from "../value/shape.ts";

export type JsonShape =
  | { readonly kind: "null" | "boolean" | "number" | "string" | "unknown" }
  | { readonly kind: "array"; readonly element?: JsonShape; readonly truncated?: true }
  | {
      readonly kind: "object";
      readonly fields: Readonly<Record<string, ShapeField>>;
      readonly truncated?: true;
    }
  | { readonly kind: "union"; readonly variants: readonly JsonShape[] };

export interface ShapeField {
  readonly optional: boolean;
  readonly shape: JsonShape;
}

type ObjectShape = Extract<JsonShape, { kind: "object" }>;
type ArrayShape = Extract<JsonShape, { kind: "array" }>;

const MOST_LEVELS = 6;
const MOST_FIELDS = 40;
const MOST_ELEMENTS = 20;
const MOST_VARIANTS = 4;
/** A longer key is probably not the name of a field. */
const LONGEST_KEY = 128;

const UNKNOWN: JsonShape = { kind: "unknown" };

/**
 * The most lists and records that are visited, so that no value takes long. Each part of a value gets a share of this
 * number; a part without a share is unknown.
 */
const MOST_LOOKS = 1024;

export function shapeOf(
  value: Json,
  level = 0,
  looks: number = MOST_LOOKS,
  keysOf: KeysOf = Object.keys,
): JsonShape {
  if (value === null) return { kind: "null" };
  if (typeof value === "string") return { kind: "string" };
  if (typeof value === "number") return { kind: "number" };
  if (typeof value === "boolean") return { kind: "boolean" };
  if (level >= MOST_LEVELS || looks < 1) return UNKNOWN;
  return Array.isArray(value)
    ? shapeOfArray(value as readonly Json[], level, looks - 1, keysOf)
    : shapeOfObject(value as JsonRecord, level, looks - 1, keysOf);
}

/**
 * Lists the names of a record. For a record with very many names this takes longer than everything else, so a caller
 * that needs the names twice can remember them, and say which ones are known already.
 */
export type KeysOf = (record: JsonRecord) => readonly string[];

export function rememberingKeys(names: Iterable<readonly [object, readonly string[]]> = []): KeysOf {
  const known = new Map<object, readonly string[]>(names);
  return (record) => {
    let keys = known.get(record);
    if (keys === undefined) known.set(record, (keys = Object.keys(record)));
    return keys;
  };
}

function shapeOfArray(values: readonly Json[], level: number, looks: number, keysOf: KeysOf): ArrayShape {
  const first = values.slice(0, MOST_ELEMENTS);
  // Visits a few nested values completely, rather than all of them without their contents.
  const most = Math.max(1, Math.ceil(Math.sqrt(looks)));
  const share = Math.floor(looks / Math.min(most, first.filter(hasParts).length || 1));
  let looked = 0;
  let element: JsonShape | undefined;
  for (const value of first) {
    if (hasParts(value) && ++looked > most) continue;
    const shape = shapeOf(value, level + 1, share, keysOf);
    element = element === undefined ? shape : mergeShapes(element, shape);
  }
  const isCutShort = values.length > first.length || looked > most;
  return {
    kind: "array",
    ...(element === undefined ? {} : { element }),
    ...(isCutShort ? { truncated: true as const } : {}),
  };
}

function hasParts(value: Json): boolean {
  return typeof value === "object" && value !== null;
}

function shapeOfObject(record: JsonRecord, level: number, looks: number, keysOf: KeysOf): ObjectShape {
  const keys = keysOf(record);
  const kept = firstNames(keys);
  const fields = kept.map((key): [string, ShapeField] => [
    key,
    {
      optional: false,
      shape: shapeOf(record[key] ?? null, level + 1, Math.floor(looks / kept.length), keysOf),
    },
  ]);
  return toObject(fields, kept.length < keys.length);
}

/**
 * The first names, in the order of text comparison, that can be names of fields. It does not sort all of them, because
 * there may be very many.
 */
function firstNames(keys: readonly string[]): string[] {
  const first: string[] = [];
  for (const key of keys) {
    const last = first.length < MOST_FIELDS ? undefined : first[MOST_FIELDS - 1];
    if (key.length > LONGEST_KEY || (last !== undefined && key >= last)) continue;
    const at = first.findIndex((one) => key < one);
    first.splice(at === -1 ? first.length : at, 0, key);
    if (first.length > MOST_FIELDS) first.pop();
  }
  return first;
}

export function mergeShapes(a: JsonShape, b: JsonShape): JsonShape {
  const variants: JsonShape[] = [];
  for (const one of [...variantsOf(a), ...variantsOf(b)]) {
    if (one.kind === "unknown") return UNKNOWN;
    const twin = variants.findIndex(({ kind }) => kind === one.kind);
    if (twin === -1) variants.push(one);
    else variants[twin] = mergeTwins(variants[twin] ?? one, one);
  }
  variants.sort((one, other) => (one.kind < other.kind ? -1 : 1));
  if (variants.length > MOST_VARIANTS) return UNKNOWN;
  return variants.length === 1 && variants[0] !== undefined ? variants[0] : { kind: "union", variants };
}

function variantsOf(shape: JsonShape): readonly JsonShape[] {
  return shape.kind === "union" ? shape.variants : [shape];
}

/** Merges two shapes of the same kind. */
function mergeTwins(a: JsonShape, b: JsonShape): JsonShape {
  if (a.kind === "array" && b.kind === "array") return mergeArrays(a, b);
  if (a.kind === "object" && b.kind === "object") return mergeObjects(a, b);
  return a;
}

function mergeArrays(a: ArrayShape, b: ArrayShape): ArrayShape {
  const element =
    a.element === undefined || b.element === undefined
      ? (a.element ?? b.element)
      : mergeShapes(a.element, b.element);
  return {
    kind: "array",
    ...(element === undefined ? {} : { element }),
    ...(a.truncated === true || b.truncated === true ? { truncated: true as const } : {}),
  };
}

function mergeObjects(a: ObjectShape, b: ObjectShape): ObjectShape {
  const names = [...new Set([...Object.keys(a.fields), ...Object.keys(b.fields)])].sort();
  const kept = names.slice(0, MOST_FIELDS);
  const fields = kept.map((name): [string, ShapeField] => {
    const one = fieldOf(a, name);
    const other = fieldOf(b, name);
    if (one === undefined || other === undefined) {
      return [name, { optional: true, shape: (one ?? other)?.shape ?? UNKNOWN }];
    }
    return [name, { optional: one.optional || other.optional, shape: mergeShapes(one.shape, other.shape) }];
  });
  return toObject(fields, a.truncated === true || b.truncated === true || kept.length < names.length);
}

function fieldOf({ fields }: ObjectShape, name: string): ShapeField | undefined {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}

function toObject(fields: readonly [string, ShapeField][], truncated: boolean): ObjectShape {
  // From entries, because a field may be named `__proto__`.
  return { kind: "object", fields: Object.fromEntries(fields), ...(truncated ? { truncated: true } : {}) };
}

/** As much of a shape as fits; the deepest levels become unknown first. */
export function fitShape(shape: JsonShape, fits: (shape: JsonShape) => boolean): JsonShape {
  let fitted = shape;
  for (let levels = MOST_LEVELS - 1; !fits(fitted) && levels >= 0; levels--) fitted = flatten(shape, levels);
  return fitted;
}

/** Keeps at most `levels` levels of arrays and objects. */
function flatten(shape: JsonShape, levels: number): JsonShape {
  switch (shape.kind) {
    case "array":
      if (levels === 0) return UNKNOWN;
      return shape.element === undefined ? shape : { ...shape, element: flatten(shape.element, levels - 1) };
    case "object": {
      if (levels === 0) return UNKNOWN;
      const fields = Object.entries(shape.fields).map(([name, field]): [string, ShapeField] => [
        name,
        { optional: field.optional, shape: flatten(field.shape, levels - 1) },
      ]);
      return toObject(fields, shape.truncated === true);
    }
    case "union":
      // Merges the variants again: a variant may have become `unknown`, which absorbs the others.
      return shape.variants.map((one) => flatten(one, levels)).reduce(mergeShapes);
    case "null":
    case "boolean":
    case "number":
    case "string":
    case "unknown":
      return shape;
    default:
      return shape satisfies never;
  }
}

/** Whether parts of the shape were left out. */
export function isCut(shape: JsonShape): boolean {
  switch (shape.kind) {
    case "array":
      return shape.truncated === true || (shape.element !== undefined && isCut(shape.element));
    case "object":
      return shape.truncated === true || Object.values(shape.fields).some((field) => isCut(field.shape));
    case "union":
      return shape.variants.some(isCut);
    case "unknown":
      return true;
    case "null":
    case "boolean":
    case "number":
    case "string":
      return false;
    default:
      return shape satisfies never;
  }
}

/** The shape as a TypeScript type. */
export function renderShape(shape: JsonShape): string {
  switch (shape.kind) {
    case "null":
    case "boolean":
    case "number":
    case "string":
    case "unknown":
      return shape.kind;
    case "array": {
      const element = shape.element === undefined ? "unknown" : renderShape(shape.element);
      return shape.element?.kind === "union" ? `(${element})[]` : `${element}[]`;
    }
    case "object": {
      const fields = Object.entries(shape.fields).map(
        ([name, field]) => `${toFieldName(name)}${field.optional ? "?" : ""}: ${renderShape(field.shape)};`,
      );
      if (shape.truncated === true) fields.push("[more: string]: unknown;");
      return fields.length === 0 ? "{}" : `{ ${fields.join(" ")} }`;
    }
    case "union":
      return shape.variants.map(renderShape).join(" | ");
    default:
      return shape satisfies never;
  }
}

const LEAVES: ReadonlySet<unknown> = new Set(["null", "boolean", "number", "string", "unknown"]);

/** Whether outside data is a shape within the bounds. */
export function isShape(value: unknown, level = 0): value is JsonShape {
  if (!isRecord(value) || level > MOST_LEVELS) return false;
  const { kind } = value;
  if (LEAVES.has(kind)) return true;
  if (value["truncated"] !== undefined && value["truncated"] !== true) return false;
  if (kind === "array") return value["element"] === undefined || isShape(value["element"], level + 1);
  if (kind === "object") {
    const { fields } = value;
    if (!isRecord(fields)) return false;
    const entries = Object.entries(fields);
    return entries.length <= MOST_FIELDS && entries.every(([name, field]) => isField(name, field, level));
  }
  const { variants } = value;
  if (kind !== "union" || !isArrayOf(variants, (one) => isShape(one, level))) return false;
  const kinds = variants.map((one) => (one as JsonShape).kind);
  return kinds.length <= MOST_VARIANTS && !kinds.includes("union") && new Set(kinds).size === kinds.length;
}

function isField(name: string, value: unknown, level: number): boolean {
  return (
    name.length <= LONGEST_KEY &&
    isRecord(value) &&
    typeof value["optional"] === "boolean" &&
    isShape(value["shape"], level + 1)
  );
}
