/** What the host and the thread that has a schema tell each other. Both sides. */
import type { JsonSchema } from "codecell";
import type { HiddenText } from "../../backend/hidden-texts.ts";
import type { DescribedApi, ToolText } from "../../description/messages.ts";

/** What a thread begins with. It builds the schema once, and answers questions about it then. */
export interface SchemaSetup {
  /** The schema in its own language, or an answer to an introspection. */
  readonly bytes: Uint8Array;
  /** Texts that are not told, whatever the schema says. */
  readonly hidden: readonly HiddenText[];
}

export interface DescribeQuestion {
  readonly kind: "describe";
  /** How many levels of fields a generated selection has. */
  readonly depth: number;
  /** How many fields it has at most. */
  readonly fields: number;
  readonly queriesOnly: boolean;
  readonly scalars: Readonly<Record<string, JsonSchema>>;
}

export interface CheckQuestion {
  readonly kind: "check";
  readonly document: string;
  /** JSON of an object. */
  readonly variables: string;
  readonly operationName: string | undefined;
  readonly queriesOnly: boolean;
}

export type Question = DescribeQuestion | CheckQuestion;

export type OperationKind = "query" | "mutation";

/** All that is needed to call a generated tool. */
export interface FieldPlan {
  readonly kind: OperationKind;
  readonly field: string;
  readonly document: string;
  /** Arguments, which are also the operation's variables. */
  readonly arguments: readonly string[];
}

export interface DescribedSchema extends DescribedApi {
  readonly tools: readonly ToolText[];
  readonly types: number;
}

/** What is wrong with a document. A type, not an interface, so that it is JSON. */
export type Problem = {
  readonly message: string;
  readonly line?: number;
  readonly column?: number;
};

export type DescribeAnswer =
  | { readonly kind: "described"; readonly described: DescribedSchema }
  /** The schema cannot be used; or, if it was asked for, the backend did not tell it. */
  | { readonly kind: "unusable"; readonly problem: string; readonly isRefused: boolean };

export type CheckAnswer =
  | { readonly kind: "sound"; readonly mayWrite: boolean }
  | { readonly kind: "unsound"; readonly problems: readonly Problem[] };

export type Answer = DescribeAnswer | CheckAnswer;
