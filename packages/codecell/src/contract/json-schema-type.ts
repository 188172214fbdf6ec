/** The TypeScript type of a JSON Schema that is written as a literal; `unknown` where the schema does not say. */
export type FromJsonSchema<Schema> = Schema extends true
  ? unknown
  : Schema extends false
    ? never
    : Schema extends { readonly const: infer Value }
      ? Value
      : Schema extends { readonly enum: readonly (infer Value)[] }
        ? Value
        : Schema extends { readonly anyOf: readonly (infer Option)[] }
          ? FromJsonSchema<Option>
          : Schema extends { readonly oneOf: readonly (infer Option)[] }
            ? FromJsonSchema<Option>
            : Schema extends { readonly type: readonly (infer Name)[] }
              ? FromTypeName<Name, Schema>
              : Schema extends { readonly type: infer Name }
                ? FromTypeName<Name, Schema>
                : unknown;

type FromTypeName<Name, Schema> = Name extends "string"
  ? string
  : Name extends "number" | "integer"
    ? number
    : Name extends "boolean"
      ? boolean
      : Name extends "null"
        ? null
        : Name extends "array"
          ? FromArray<Schema>
          : Name extends "object"
            ? FromObject<Schema>
            : unknown;

type FromArray<Schema> = Schema extends { readonly items: infer Items } ? FromJsonSchema<Items>[] : unknown[];

type FromObject<Schema> = Schema extends { readonly properties: infer Properties }
  ? Flat<
      {
        -readonly [K in keyof Properties as K extends RequiredKeys<Schema> ? K : never]: FromJsonSchema<
          Properties[K]
        >;
      } & {
        -readonly [K in keyof Properties as K extends RequiredKeys<Schema> ? never : K]?: FromJsonSchema<
          Properties[K]
        >;
      }
    >
  : Record<string, unknown>;

type RequiredKeys<Schema> = Schema extends { readonly required: readonly (infer Key)[] } ? Key : never;

type Flat<T> = { [K in keyof T]: T[K] };
