/** What the thread that reads a description of OpenAPI is told, and what it tells the host. Both sides. */
import type { DescribedApi, ReadingSetup, ToolText } from "../../description/messages.ts";

export interface ThreadSetup extends ReadingSetup {
  /** Headers that the operator sets, in lower case: no argument can. */
  readonly ownedHeaders: readonly string[];
}

export interface OperationText extends ToolText {
  /** If it has others than the document. */
  readonly servers?: readonly Server[];
}

export interface Server {
  readonly url: string;
  readonly variables: Readonly<
    Record<string, { readonly default: string; readonly values?: readonly string[] }>
  >;
}

export type Scheme =
  | { readonly type: "apiKey"; readonly in: "header" | "query" | "cookie"; readonly name: string }
  | { readonly type: "basic" }
  | { readonly type: "bearer" };

export interface Described extends DescribedApi {
  readonly servers: readonly Server[];
  readonly schemes: Readonly<Record<string, Scheme>>;
  /** Any one of these, with all its schemes. */
  readonly security: Security;
  readonly operations: readonly OperationText[];
}

export type Security = readonly (readonly string[])[];

export type Style =
  | "simple"
  | "label"
  | "matrix"
  | "form"
  | "spaceDelimited"
  | "pipeDelimited"
  | "deepObject";

/** How a value is written in a path, a query, a header, a cookie or a form. */
export interface Writing {
  readonly style: Style;
  readonly explode: boolean;
  readonly allowsReserved: boolean;
  /** Whether the value is written as JSON, whatever it is. */
  readonly isJson: boolean;
}

export interface ParameterPlan extends Writing {
  /** The property of the tool's input. */
  readonly input: string;
  /** The name in the request. */
  readonly name: string;
  readonly in: "path" | "query" | "header" | "cookie";
  readonly mayHaveSlashes: boolean;
}

export interface FieldPlan {
  readonly input: string;
  readonly name: string;
  /** Of a field of a form: how it is written, unless it is what it is by its value. */
  readonly writing?: Writing;
  /** Of a part of a multipart body. */
  readonly mediaType?: string;
}

export interface BodyPlan {
  readonly format: "json" | "form" | "multipart" | "raw";
  readonly mediaType: string;
  readonly isRequired: boolean;
  /** The properties of the input that are the body's own; else one property is the whole body. */
  readonly fields?: readonly FieldPlan[];
  readonly whole?: string;
  /** Of the fields of a whole form. */
  readonly writings?: Readonly<Record<string, Omit<FieldPlan, "input" | "name">>>;
}

/** All that is needed to make an operation's request. */
export interface OperationPlan {
  readonly path: string;
  readonly parameters: readonly ParameterPlan[];
  readonly body?: BodyPlan;
  readonly accept?: string;
  readonly idempotencyHeader?: string;
  readonly security?: Security;
}
