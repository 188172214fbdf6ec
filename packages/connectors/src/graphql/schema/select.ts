/**
 * Selects fields of a type for a generated operation. Runs on a thread of its own.
 *
 * - A selection ends at its depth, and at its number of fields: what is nearest comes first. Types that contain
 *   themselves end with it.
 * - It is valid: a field that needs arguments is left out, and fields of different types never answer under one name.
 */
import {
  getNamedType,
  type GraphQLCompositeType,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  isAbstractType,
  isCompositeType,
  isRequiredArgument,
  isUnionType,
} from "graphql";

export interface SelectedField {
  /** Under which the answer has it. */
  readonly key: string;
  readonly field: GraphQLField;
  readonly selection: Selection | undefined;
}

export interface Selection {
  readonly type: GraphQLCompositeType;
  /** Of every object of the type. */
  fields: SelectedField[];
  /** Of objects of one of its possible types. */
  fragments: Selection[];
}

export interface SelectOptions {
  readonly depth: number;
  readonly fields: number;
}

interface Open {
  readonly selection: Selection;
  readonly level: number;
  /** The keys that fragments of one object share. */
  readonly keys: Keys;
  /** How many leaves a fragment may have. */
  readonly share: number;
  /** Fields that the objects have by another selection. */
  readonly known: ReadonlySet<string>;
}

/** By key: what answers under it. */
type Keys = Map<string, string>;

export function select(
  schema: GraphQLSchema,
  type: GraphQLCompositeType,
  { depth, fields }: SelectOptions,
): Selection {
  const root: Selection = { type, fields: [], fragments: [] };
  const open: Open[] = [openOf(root, 1)];
  let left = fields;
  // Breadth first. Each adds what is one level below it.
  for (const one of open) {
    const { selection, level, keys, share, known } = one;
    const below: Open[] = [];
    let leaves = 0;
    for (const field of fieldsOf(selection.type)) {
      if (known.has(field.name)) continue;
      if (left === 0) break;
      const inner = getNamedType(field.type);
      if (!isCompositeType(inner)) {
        if (leaves === share) continue;
        leaves++;
      } else if (level >= depth) continue;
      left--;
      const child = isCompositeType(inner) ? { type: inner, fields: [], fragments: [] } : undefined;
      selection.fields.push({ key: freeKey(keys, selection.type, field), field, selection: child });
      // An API wants to be told how many of a list: so much only the caller of a tool can say.
      if (child !== undefined) below.push(openOf(child, isPaged(field) ? depth : level + 1));
    }
    open.push(...fragmentsOf(schema, one, left), ...below);
  }
  prune(root);
  return root;
}

function openOf(selection: Selection, level: number): Open {
  return { selection, level, keys: new Map(), share: Number.POSITIVE_INFINITY, known: new Set() };
}

/** Each possible type has as much room as the others. */
function fragmentsOf(schema: GraphQLSchema, { selection, level, keys }: Open, left: number): readonly Open[] {
  const { type } = selection;
  if (!isAbstractType(type)) return [];
  const all = schema.getPossibleTypes(type);
  const share = Math.max(1, Math.floor(left / Math.max(1, all.length)));
  const possible = all.slice(0, left);
  const known = new Set(selection.fields.map(({ field }) => field.name));
  return possible.map((object) => {
    const fragment: Selection = { type: object, fields: [], fragments: [] };
    selection.fragments.push(fragment);
    return { selection: fragment, level, keys, share, known };
  });
}

const found = new WeakMap<GraphQLCompositeType, readonly GraphQLField[]>();

function fieldsOf(type: GraphQLCompositeType): readonly GraphQLField[] {
  const before = found.get(type);
  if (before !== undefined) return before;
  const fields = findFields(type);
  found.set(type, fields);
  return fields;
}

/** Those that can be asked for without knowing anything; what is deprecated only if there is nothing else. */
function findFields(type: GraphQLCompositeType): readonly GraphQLField[] {
  if (isUnionType(type)) return [];
  const plain = Object.values(type.getFields()).filter((field) => !field.args.some(isRequiredArgument));
  const current = plain.filter(({ deprecationReason }) => deprecationReason == null);
  return current.length > 0 ? current : plain;
}

function isPaged({ args }: GraphQLField): boolean {
  return args.some(({ name }) => name === "first" || name === "last");
}

/** The field's name, unless fields of another fragment answer with something else under it. */
function freeKey(keys: Keys, type: GraphQLNamedType, { name, type: given }: GraphQLField): string {
  // Objects are never the same: what is asked of each differs.
  const answer = isCompositeType(getNamedType(given)) ? `${type.name}.${name}` : String(given);
  let key = name;
  for (let count = 1; (keys.get(key) ?? answer) !== answer; count++) {
    key = `${name}_${type.name}${count === 1 ? "" : `_${count}`}`;
  }
  keys.set(key, answer);
  return key;
}

/** Takes away what nothing was selected of. */
function prune(selection: Selection): boolean {
  selection.fields = selection.fields.filter(
    (field) => field.selection === undefined || prune(field.selection),
  );
  selection.fragments = selection.fragments.filter(prune);
  return selection.fields.length + selection.fragments.length > 0;
}

export function printSelection({ type, fields, fragments }: Selection): string {
  const parts = [
    ...(isAbstractType(type) || fields.length === 0 ? ["__typename"] : []),
    ...fields.map(({ key, field, selection }) => {
      const named = key === field.name ? key : `${key}: ${field.name}`;
      return selection === undefined ? named : `${named} ${printSelection(selection)}`;
    }),
    ...fragments.map((fragment) => `... on ${fragment.type.name} ${printSelection(fragment)}`),
  ];
  return `{ ${parts.join(" ")} }`;
}
