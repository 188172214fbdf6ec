import { buildSchema } from "graphql";
import { describe, expect, test } from "vitest";
import { largestTurnMs } from "../../../../../test/fuzz/thread-time.ts";
import { Words } from "../../description/words.ts";
import { checkDocument, DEEPEST, MOST_FIELDS, MOST_TOKENS } from "./check-document.ts";
import type { CheckAnswer, CheckQuestion } from "./messages.ts";
import { NoAnswer, SchemaThread } from "./schema-thread.ts";

const SDL = `
  type Query { user(id: Int, ids: [Int]): User  any(in: In): Int }
  type User { id: Int  name: String  friends(first: Int): [User]  best: User }
  input In { in: In  n: Int }
`;
const READ = { schema: buildSchema(SDL), words: new Words([]) };

function questionOf(document: string, more: Partial<CheckQuestion> = {}): CheckQuestion {
  return { kind: "check", document, variables: "{}", operationName: undefined, queriesOnly: false, ...more };
}

function times(count: number, text: (at: number) => string): string {
  return Array.from({ length: count }, (_, at) => text(at)).join(" ");
}

/** Documents made to take long, of the largest size that is taken at all. */
const HOSTILE: Readonly<Record<string, string>> = {
  "fields that all answer under one name": `{ user { ${times(9000, () => "id")} } }`,
  "objects that all answer under one name": `{ ${times(2400, () => "user { id }")} }`,
  "objects with others under each name": `{ ${times(800, (at) => `user { id a${at}: name best { id } }`)} }`,
  "fields under one name with other arguments": `{ ${times(1400, (at) => `user(id: ${at}) { id }`)} }`,
  "other fields under other names": `{ ${times(3000, (at) => `a${at}: any`)} }`,
  "fragments that all use each other": `{ user { ...F0 } } ${times(
    40,
    (at) => `fragment F${at} on User { ${times(39 - at, (other) => `...F${at + other + 1}`)} id }`,
  )}`,
  "a bomb of fragments": `{ user { ...F0 } } ${times(
    30,
    (at) => `fragment F${at} on User { a: best { ...F${at + 1} } b: best { ...F${at + 1} } }`,
  )} fragment F30 on User { id }`,
  "many fragments of the same": `{ ${times(400, (at) => `user { ...F${at} }`)} } ${times(
    400,
    (at) => `fragment F${at} on User { id name a: name }`,
  )}`,
  "a circle of fragments": `{ user { ...F0 } } ${times(900, (at) => `fragment F${at} on User { ...F${(at + 1) % 900} id }`)}`,
  "fragments that nobody knows": `{ user { ${times(3000, (at) => `...F${at}`)} } }`,
  "many nested levels": `{ ${"user { best { ".repeat(20)} ${times(2000, () => "best { id }")} ${"} }".repeat(20)} }`,
  "a long list": `{ user(ids: [${times(9000, (at) => String(at))}]) { id } }`,
  "a long text": `{ user(id: "${"x".repeat(90_000)}") { id } }`,
  "a long name": `{ ${"x".repeat(90_000)} }`,
  "long names that are like others": `{ user { ${times(900, (at) => `${"friend".repeat(15)}${at}`)} } }`,
  "many comments": `{ user { id } } ${times(30_000, () => "#\n")}`,
  "many variables": `query (${times(1500, (at) => `$v${at}: Int`)}) { user { id } }`,
  "many operations": times(1500, (at) => `query Q${at} { user { id } }`),
  "many directives": `{ user { id ${times(3000, () => "@skip")} } }`,
  "a block of quotes": `{ user(id: """${'\\"""'.repeat(20_000)}""") { id } }`,
};

describe("a document that is too large", () => {
  test.each<[string, string, string]>([
    ["tokens", `{ user { ${times(MOST_TOKENS, () => "id")} } }`, `more than ${MOST_TOKENS} tokens`],
    ["levels of fields", `{ ${"user { best { ".repeat(5000)}`, `more than ${DEEPEST} levels`],
    ["levels of lists", `{ user(ids: ${"[".repeat(50_000)}`, `more than ${DEEPEST} levels`],
    ["levels of objects", `{ any(in: ${"{ in: ".repeat(2000)}`, `more than ${DEEPEST} levels`],
    ["levels of list types", `query ($a: ${"[".repeat(2000)}Int`, `more than ${DEEPEST} levels`],
    ["fields in fragments", HOSTILE["a bomb of fragments"] ?? "", `${MOST_FIELDS} fields and more`],
    [
      "levels in fragments",
      `{ user { ...F0 } } ${times(60, (at) => `fragment F${at} on User { best { ...F${at + 1} } }`)} fragment F60 on User { id }`,
      `more than ${DEEPEST} levels`,
    ],
    ["fields under one name", HOSTILE["objects that all answer under one name"] ?? "", "ask for each once"],
  ])("in its %s is refused, with its place and what to do", (_, document, words) => {
    const answer = checkDocument(READ, questionOf(document)) as CheckAnswer & { kind: "unsound" };
    expect(answer).toMatchObject({
      kind: "unsound",
      problems: [{ message: expect.stringContaining(words) as unknown }],
    });
    expect(JSON.stringify(answer).length).toBeLessThan(1000);
  });
});

test.each(Object.entries(HOSTILE))("%s are answered, shortly", (_, document) => {
  expect(document.length).toBeLessThanOrEqual(100_000);
  const answer = checkDocument(READ, questionOf(document));
  expect(JSON.stringify(answer).length).toBeLessThan(4000);
});

describe("variables", () => {
  test.each<[string, string, string]>([
    ["query ($a: Int!) { user(id: $a) { id } }", "{}", '"$a"'],
    ["query ($a: [Int]) { user(ids: $a) { id } }", '{"a":[1,"x"]}', '"$a"'],
    ["query ($a: In) { any(in: $a) }", '{"a":{"in":{"m":1}}}', '"m"'],
    ["query ($a: In) { any(in: $a) }", '{"a":{"__proto__":1}}', "__proto__"],
    ["{ user { id } }", '{"__proto__":1}', '"$__proto__"'],
    [
      "query ($a: In) { any(in: $a) }",
      `{"a":${'{"in":'.repeat(20_000)}{}${"}".repeat(20_000)}}`,
      "levels deep",
    ],
  ])("of %s that do not fit are refused", (document, variables, words) => {
    const answer = checkDocument(READ, questionOf(document, { variables }));
    expect(answer.kind).toBe("unsound");
    expect(JSON.stringify(answer)).toContain(JSON.stringify(words).slice(1, -1));
  });

  test("that fit are taken", () => {
    const document = "query ($a: In, $b: Int! = 1) { any(in: $a) user(id: $b) { id } }";
    const variables = JSON.stringify({ a: { n: null, in: { n: 5 } } });
    expect(checkDocument(READ, questionOf(document, { variables }))).toEqual({
      kind: "sound",
      mayWrite: false,
    });
  });
});

describe("the thread that has a schema", () => {
  const nobody = new AbortController().signal;
  const bytes = Buffer.from(SDL);

  // Node 22 tells the time of all threads together, and it is another one that works.
  test.skipIf(!("threadCpuUsage" in process))(
    "does not hold the host's, whatever the document is",
    async () => {
      using thread = new SchemaThread({ bytes, hidden: [] });
      const work = (): Promise<unknown> =>
        Promise.all(Object.values(HOSTILE).map((document) => thread.check(questionOf(document), nobody)));
      expect(await largestTurnMs(() => work, { attempts: 4, enough: 50 })).toBeLessThan(50);
    },
  );

  test("ends with a check that takes too long, and the next check has another one", async () => {
    using thread = new SchemaThread({ bytes, hidden: [] }, 0);
    const document = HOSTILE["objects with others under each name"] ?? "";
    const checks = [document, document].map((one) => thread.check(questionOf(one), nobody));
    const ended = await Promise.allSettled(checks);
    for (const one of ended) expect(one).toMatchObject({ reason: expect.any(NoAnswer) as unknown });
    using other = new SchemaThread({ bytes, hidden: [] });
    expect(await other.check(questionOf("{ user { id } }"), nobody)).toEqual({
      kind: "sound",
      mayWrite: false,
    });
  });

  test("answers one question after the other, and leaves out who no longer waits", async () => {
    using thread = new SchemaThread({ bytes, hidden: [] });
    const caller = new AbortController();
    const first = thread.check(questionOf("{ user { id } }"), nobody);
    const second = thread.check(questionOf("{ user { id } }"), caller.signal);
    const third = thread.check(questionOf("{ user { idd } }"), nobody);
    caller.abort();
    expect(await first).toMatchObject({ kind: "sound" });
    await expect(second).rejects.toMatchObject({ name: "AbortError" });
    expect(await third).toMatchObject({ kind: "unsound" });
  });

  test("answers still when another one has taken its place, and not when it was ended", async () => {
    const thread = new SchemaThread({ bytes, hidden: [] });
    const checks = [1, 2].map(() => thread.check(questionOf("{ user { id } }"), nobody));
    thread.retire();
    expect(await Promise.all(checks)).toEqual([1, 2].map(() => ({ kind: "sound", mayWrite: false })));
    expect(await thread.check(questionOf("{ user { id } }"), nobody)).toMatchObject({ kind: "sound" });
    const open = thread.check(questionOf("{ user { id } }"), nobody);
    thread[Symbol.dispose]();
    await expect(open).rejects.toBeInstanceOf(NoAnswer);
  });
});
