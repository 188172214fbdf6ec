/** The tool `query`, for documents that a program writes itself. Runs on the host. */
import type { BackendTool } from "../contract/connector.ts";
import { InputRefused } from "../web/input-refused.ts";
import { isRecord } from "../web/text.ts";
import { envelopeOf } from "./envelope.ts";
import type { Problem } from "./schema/messages.ts";
import { QUERY_TOOL } from "./schema/tool-names.ts";

const MOST_DOCUMENT_LENGTH = 100_000;

export function documentTool(queriesOnly: boolean): BackendTool {
  const what = queriesOnly ? "a query" : "one query or mutation";
  const warning = queriesOnly ? "" : " A mutation changes what the backend has.";
  return Object.freeze({
    name: QUERY_TOOL,
    description:
      `Runs ${what} in GraphQL that you write, and gives { data, errors }.${warning} It is validated before it is sent. ` +
      `What a type has: { __type(name: "Query") { fields { name description type { name kind } } } }`,
    useWhen: "no other tool gives the fields you need, or you need several things at once",
    inputSchema: {
      type: "object",
      properties: {
        document: { type: "string", description: "GraphQL", maxLength: MOST_DOCUMENT_LENGTH },
        variables: { type: "object", description: "The values of the operation's variables, by their names" },
        operationName: { type: "string", description: "Which operation to run, if the document has several" },
      },
      required: ["document"],
      additionalProperties: false,
    },
    outputSchema: envelopeOf({ type: "object" }),
    ...(queriesOnly ? { readOnlyHint: true } : {}),
  });
}

export interface GivenDocument {
  readonly document: string;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly operationName: string | undefined;
}

export function givenDocument(input: Readonly<Record<string, unknown>>): GivenDocument {
  const { document, variables = {}, operationName, ...others } = input;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw new InputRefused(`it takes no "${unknown}"`);
  if (typeof document !== "string") throw new InputRefused('"document" has to be a text');
  if (document.length > MOST_DOCUMENT_LENGTH) {
    throw new InputRefused(
      `"document" has more than ${MOST_DOCUMENT_LENGTH} characters, put values into variables, or ask for less at once`,
    );
  }
  if (!isRecord(variables)) throw new InputRefused('"variables" has to be an object');
  if (operationName !== undefined && typeof operationName !== "string") {
    throw new InputRefused('"operationName" has to be a text');
  }
  return { document, variables, operationName };
}

/** What is wrong with a document, and where. */
export function problemText(problems: readonly Problem[]): string {
  return problems
    .map(({ message, line, column }) =>
      line === undefined ? message : `line ${line}, column ${column ?? 1}: ${message}`,
    )
    .join("\n");
}
