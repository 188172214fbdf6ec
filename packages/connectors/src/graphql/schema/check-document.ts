/**
 * Checks a document that a program wrote, before it is sent. Runs on a thread of its own.
 *
 * - Its size, its depth, and what it asks for with all fragments put in are bounded before it is validated.
 */
import {
  type DocumentNode,
  getVariableValues,
  GraphQLError,
  type GraphQLSchema,
  isCompositeType,
  isUnionType,
  Kind,
  Lexer,
  type OperationDefinitionNode,
  parse,
  type SelectionSetNode,
  Source,
  specifiedRules,
  TokenKind,
  validate,
} from "graphql";
import { isRecord } from "../../web/text.ts";
import type { Words } from "../../description/words.ts";
import type { CheckAnswer, CheckQuestion, Problem } from "./messages.ts";
import type { ReadSchema } from "./read-schema.ts";

export const MOST_TOKENS = 10_000;
export const DEEPEST = 50;
/** Fields of an answer, counted as the document says them. */
export const MOST_FIELDS = 10_000;
const MOST_PROBLEMS = 5;
const LONGEST_PROBLEM = 300;
const MOST_NAMES = 30;
const OPENING: ReadonlySet<string> = new Set([TokenKind.BRACE_L, TokenKind.BRACKET_L, TokenKind.PAREN_L]);
const CLOSING: ReadonlySet<string> = new Set([TokenKind.BRACE_R, TokenKind.BRACKET_R, TokenKind.PAREN_R]);

export function checkDocument(
  { schema, words }: Omit<ReadSchema, "hash">,
  question: CheckQuestion,
): CheckAnswer {
  const answer = answerTo(schema, question);
  return answer.kind === "sound"
    ? answer
    : { kind: "unsound", problems: answer.problems.map((one) => told(one, words)) };
}

/** What is hidden is taken out of the whole, before it is cut. */
function told({ message, hint = "", ...place }: WholeProblem, words: Words): Problem {
  const cut = (text: string): string => words.cut(text, LONGEST_PROBLEM, "…");
  return { message: cut(message) + cut(hint), ...place };
}

/** A problem before it is cut, and what may help. */
interface WholeProblem extends Problem {
  readonly hint?: string;
}

type WholeAnswer =
  | Extract<CheckAnswer, { readonly kind: "sound" }>
  | { readonly kind: "unsound"; readonly problems: readonly WholeProblem[] };

function answerTo(schema: GraphQLSchema, question: CheckQuestion): WholeAnswer {
  try {
    const problems = problemsOf(schema, question);
    if (problems.length > 0) return { kind: "unsound", problems: problems.slice(0, MOST_PROBLEMS) };
    const operations = operationsOf(parse(question.document));
    return { kind: "sound", mayWrite: operations.some(({ operation }) => operation !== "query") };
  } catch (error) {
    if (error instanceof GraphQLError) return { kind: "unsound", problems: [problemOf(error)] };
    if (error instanceof RangeError) return { kind: "unsound", problems: [TOO_DEEP_TO_CHECK] };
    throw error;
  }
}

const TOO_DEEP: Problem = { message: `it is nested more than ${DEEPEST} levels deep, ask for less at once` };

const TOO_DEEP_TO_CHECK: Problem = {
  message: "it, or its variables, are nested too many levels deep to be checked, ask for less at once",
};

function problemsOf(schema: GraphQLSchema, question: CheckQuestion): readonly WholeProblem[] {
  const source = new Source(question.document);
  const size = sizeProblem(source);
  if (size !== undefined) return [size];
  const document = parse(source);
  const forbidden = forbiddenIn(document, question.queriesOnly);
  if (forbidden.length > 0) return forbidden;
  const expanded = expandedProblem(document);
  if (expanded !== undefined) return [expanded];
  const errors = validate(schema, document, specifiedRules, { maxErrors: MOST_PROBLEMS });
  if (errors.length > 0) return errors.map((error) => problemOf(error, schema));
  const operation = chooseOperation(document, question.operationName);
  return "message" in operation ? [operation] : variableProblems(schema, operation, question.variables);
}

/** Without building anything. */
function sizeProblem(source: Source): Problem | undefined {
  const lexer = new Lexer(source);
  let depth = 0;
  for (let count = 0; lexer.advance().kind !== TokenKind.EOF; count++) {
    const { kind, line, column } = lexer.token;
    if (OPENING.has(kind)) depth++;
    else if (CLOSING.has(kind)) depth--;
    if (depth > DEEPEST) return { ...TOO_DEEP, line, column };
    if (count === MOST_TOKENS) {
      const message = `it has more than ${MOST_TOKENS} tokens, put values into variables, or ask for less at once`;
      return { message, line, column };
    }
  }
  return undefined;
}

function operationsOf({ definitions }: DocumentNode): readonly OperationDefinitionNode[] {
  return definitions.filter((definition) => definition.kind === Kind.OPERATION_DEFINITION);
}

/** Whichever operation the backend would choose. */
function forbiddenIn(document: DocumentNode, queriesOnly: boolean): readonly Problem[] {
  return operationsOf(document).flatMap(({ operation, loc }) => {
    const { line, column } = loc?.startToken ?? { line: 1, column: 1 };
    if (operation === "subscription") {
      const message = "it has a subscription, and a call has one answer: ask for the same with a query";
      return [{ message, line, column }];
    }
    if (operation === "mutation" && queriesOnly) {
      return [{ message: "it has a mutation, and this connector is for queries only", line, column }];
    }
    return [];
  });
}

interface Extent {
  readonly fields: number;
  readonly depth: number;
}

const NOTHING: Extent = { fields: 0, depth: 0 };

/** What a few fragments, each with several others, make of a small document. */
function expandedProblem(document: DocumentNode): Problem | undefined {
  const fragments = new Map(
    document.definitions.flatMap((one) =>
      one.kind === Kind.FRAGMENT_DEFINITION ? [[one.name.value, one.selectionSet] as const] : [],
    ),
  );
  const known = new Map<string, Extent>();
  const extentOf = (name: string): Extent => {
    const before = known.get(name);
    if (before !== undefined) return before;
    // A fragment that contains itself is found by the validation.
    known.set(name, NOTHING);
    const selections = fragments.get(name);
    const extent = selections === undefined ? NOTHING : extentOfSelections(selections, extentOf);
    known.set(name, extent);
    return extent;
  };
  for (const { selectionSet, loc } of operationsOf(document)) {
    const { fields, depth } = extentOfSelections(selectionSet, extentOf);
    const { line, column } = loc?.startToken ?? { line: 1, column: 1 };
    if (depth > DEEPEST) return { ...TOO_DEEP, line, column };
    if (fields > MOST_FIELDS) {
      const message = `it asks for ${MOST_FIELDS} fields and more once its fragments are put in, ask for less at once`;
      return { message, line, column };
    }
  }
  return undefined;
}

function extentOfSelections({ selections }: SelectionSetNode, ofFragment: (name: string) => Extent): Extent {
  let fields = 0;
  let depth = 0;
  for (const selection of selections) {
    const isField = selection.kind === Kind.FIELD;
    const inner =
      selection.kind === Kind.FRAGMENT_SPREAD
        ? ofFragment(selection.name.value)
        : selection.selectionSet === undefined
          ? NOTHING
          : extentOfSelections(selection.selectionSet, ofFragment);
    fields = Math.min(MOST_FIELDS + 1, fields + inner.fields + (isField ? 1 : 0));
    depth = Math.max(depth, inner.depth + (isField ? 1 : 0));
  }
  return { fields, depth };
}

function chooseOperation(
  document: DocumentNode,
  operationName: string | undefined,
): OperationDefinitionNode | Problem {
  const operations = operationsOf(document);
  const names = operations.map(({ name }) => name?.value ?? "");
  const said = names.slice(0, MOST_NAMES).join(", ");
  if (operationName === undefined) {
    const [only] = operations;
    if (operations.length === 1 && only !== undefined) return only;
    return { message: `it has several operations, say in operationName which one to run: ${said}` };
  }
  const chosen = operations[names.indexOf(operationName)];
  return chosen ?? { message: `it has no operation "${operationName}", it has: ${said}` };
}

function variableProblems(
  schema: GraphQLSchema,
  { variableDefinitions = [] }: OperationDefinitionNode,
  text: string,
): readonly WholeProblem[] {
  const values: unknown = JSON.parse(text);
  if (!isRecord(values)) return [{ message: "its variables are no object" }];
  const declared = new Set(variableDefinitions.map(({ variable }) => variable.name.value));
  const unknown = Object.keys(values).filter((name) => !declared.has(name));
  if (unknown.length > 0) {
    return unknown.map((name) => ({ message: `its operation declares no variable "$${name}"` }));
  }
  const { errors = [] } = getVariableValues(schema, variableDefinitions, values, {
    maxErrors: MOST_PROBLEMS,
  });
  return errors.map((error) => problemOf(error));
}

function problemOf(error: GraphQLError, schema?: GraphQLSchema): WholeProblem {
  const [at] = error.locations ?? [];
  const { message } = error;
  const hint = hintFor(message, schema);
  // The library also gives what it throws.
  if (error.originalError instanceof RangeError) return TOO_DEEP_TO_CHECK;
  // The library stops comparing fields with each other at a bound.
  if (error.message === "Validation aborted.") {
    return { message: "it repeats fields so often that it cannot be checked, ask for each once" };
  }
  return { message, hint, ...(at === undefined ? {} : { line: at.line, column: at.column }) };
}

/** The fields of the type, where none has a name like the one that was asked for. */
function hintFor(message: string, schema: GraphQLSchema | undefined): string {
  if (schema === undefined || message.includes("Did you mean")) return "";
  const [, name = ""] =
    /^Cannot query field "\w+" on type "(\w+)"/u.exec(message.slice(0, LONGEST_PROBLEM)) ?? [];
  const type = schema.getType(name);
  if (!isCompositeType(type)) return "";
  if (isUnionType(type)) return ` ${name} is one of ${namesOf(type.getTypes().map((one) => one.name))}.`;
  return ` It has ${namesOf(Object.keys(type.getFields()))}.`;
}

function namesOf(names: readonly string[]): string {
  const shown = names.slice(0, MOST_NAMES).join(", ");
  return names.length > MOST_NAMES ? `${shown} and ${names.length - MOST_NAMES} more` : shown;
}
