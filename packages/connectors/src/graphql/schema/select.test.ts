/** Selections of schemas that nobody wrote by hand: whatever their types are, the documents made of them are valid. */
import fc from "fast-check";
import { buildSchema, Kind, parse, validate, visit } from "graphql";
import { Words } from "../../description/words.ts";
import { describe as group, expect, test } from "vitest";
import { describe } from "./describe.ts";
import type { FieldPlan } from "./messages.ts";

function plansOf(sdl: string, depth: number, fields: number): readonly FieldPlan[] {
  const schema = buildSchema(sdl, { assumeValid: true });
  const question = { kind: "describe", depth, fields, queriesOnly: false, scalars: {} } as const;
  const described = describe({ schema, words: new Words([]), hash: "" }, question);
  const text = new TextDecoder().decode(described.text);
  return described.tools.map(({ plan: [from, to] }) => JSON.parse(text.slice(from, to)) as FieldPlan);
}

function documentOf(sdl: string, depth = 2, fields = 150): string {
  return plansOf(sdl, depth, fields)[0]?.document ?? "";
}

const NAMES = ["a", "b", "c", "id"] as const;
const wrappers = ["", "!", "[]", "[!]!"] as const;
const fieldOf = fc.record({
  name: fc.constantFrom(...NAMES),
  type: fc.constantFrom("Int", "String", "E", "S", "O0", "O1", "O2", "U", "I"),
  wrapper: fc.constantFrom(...wrappers),
  argument: fc.constantFrom("", "(x: Int)", "(x: Int!)", "(x: Int! = 1)", "(first: Int)"),
  deprecated: fc.boolean(),
});
type Field = typeof fieldOf extends fc.Arbitrary<infer One> ? One : never;
const objectOf = fc.uniqueArray(fieldOf, { selector: ({ name }) => name, minLength: 1 });

function printField({ name, type, wrapper, argument, deprecated }: Field): string {
  const wrapped = wrapper.startsWith("[") ? wrapper.replace(/^\[/u, `[${type}`) : type + wrapper;
  return `${name}${argument}: ${wrapped}${deprecated ? ' @deprecated(reason: "old")' : ""}`;
}

function printSchema(objects: readonly (readonly Field[])[], isInterface: boolean): string {
  const shared = "shared: I  key: Int";
  const types = objects.map((fields, at) => {
    const header = isInterface ? `type O${at} implements I` : `type O${at}`;
    return `${header} { ${fields.map(printField).join(" ")} ${shared} }`;
  });
  const unions = "union U = O0 | O1 | O2  enum E { X Y }  scalar S";
  const top = `${isInterface ? "interface" : "type"} I { ${shared} }`;
  return `${types.join("\n")} ${unions} ${top} type Query { u: [U!]  i(id: ID!): I  o: O0!  n: Int }`;
}

group("a generated document", () => {
  test("is valid, and as small as it has to be, whatever the schema is", () => {
    const objects = fc.tuple(objectOf, objectOf, objectOf);
    fc.assert(
      fc.property(
        objects,
        fc.boolean(),
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 60 }),
        (types, isInterface, depth, fields) => {
          const sdl = printSchema(types, isInterface);
          const schema = buildSchema(sdl);
          for (const { document } of plansOf(sdl, depth, fields)) {
            const parsed = parse(document);
            expect([document, validate(schema, parsed).map(({ message }) => message)]).toEqual([
              document,
              [],
            ]);
            let count = 0;
            let level = 0;
            let deepest = 0;
            visit(parsed, {
              Field: {
                enter({ name }) {
                  if (name.value !== "__typename") count++;
                  deepest = Math.max(deepest, ++level);
                },
                leave() {
                  level--;
                },
              },
            });
            // The root field is neither counted nor a level.
            expect(count - 1).toBeLessThanOrEqual(fields);
            expect(deepest - 1).toBeLessThanOrEqual(depth);
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  test("has what is nearest, and leaves out what needs arguments and what is deprecated", () => {
    const sdl = `
      type Query { me: User }
      type User {
        need(x: Int!): Int  may(x: Int! = 1): Int  old: Int @deprecated
        deep: User  only: Only  log(first: Int): Log  end: End
      }
      type Only { old: Int @deprecated }
      type Log { total: Int  items: [User] }
      type End { deep: User }`;
    expect(documentOf(sdl, 1)).toBe("query me { me { may } }");
    expect(documentOf(sdl, 2)).toBe("query me { me { may deep { may } only { old } log { total } } }");
    expect(documentOf(sdl, 3)).toBe(
      "query me { me { may deep { may deep { may } only { old } log { total } } only { old } log { total } " +
        "end { deep { may } } } }",
    );
    expect(documentOf(sdl, 3, 4)).toBe("query me { me { may } }");
  });

  test("asks for what each possible type has, and never for two things under one name", () => {
    const sdl = `
      type Query { all: [Result] }
      union Result = A | B | C
      interface Node { id: ID! }
      type A implements Node { id: ID!  state: Int  owner: A }
      type B implements Node { id: ID!  state: Int!  owner: A  state_C: Int }
      type C implements Node { id: ID!  state: String  state_C: String }`;
    expect(documentOf(sdl)).toBe(
      "query all { all { __typename ... on A { id state owner { id state } } " +
        "... on B { id state_B: state owner_B: owner { id state } state_C } " +
        "... on C { id state_C_2: state state_C_C: state_C } } }",
    );
  });

  test("shares its fields among hundreds of possible types", () => {
    const names = Array.from({ length: 300 }, (_, at) => `T${at}`);
    const types = names.map((name) => `type ${name} { a: Int b: Int c: Int }`).join("\n");
    const document = documentOf(`type Query { all: U } union U = ${names.join(" | ")}\n${types}`, 2, 200);
    let count = 0;
    visit(parse(document), { [Kind.FIELD]: () => void count++ });
    expect(count).toBeLessThanOrEqual(202);
    expect(document).toContain("... on T199 { a }");
  });
});
