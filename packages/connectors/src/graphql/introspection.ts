/**
 * What asks a backend for its schema. Runs on the host.
 *
 * - Some backends know parts of the language that others refuse: the fullest question goes first.
 */
const TYPE_LEVELS = 9;

function referenceOf(levels: number): string {
  return levels === 0 ? "kind name" : `kind name ofType { ${referenceOf(levels - 1)} }`;
}

const TYPE = `type { ${referenceOf(TYPE_LEVELS)} }`;

interface Words {
  /** Of a type. */
  readonly type: string;
  /** Behind the fields that have inputs. */
  readonly deprecatedInputs: string;
  /** Of an input. */
  readonly input: string;
}

function questionWith({ type, deprecatedInputs, input }: Words): string {
  const inputs = `{ name description ${TYPE} defaultValue ${input} }`;
  return `query Schema { __schema {
  queryType { name } mutationType { name } subscriptionType { name }
  types {
    kind name description ${type}
    fields(includeDeprecated: true) {
      name description args${deprecatedInputs} ${inputs} ${TYPE} isDeprecated deprecationReason
    }
    inputFields${deprecatedInputs} ${inputs}
    interfaces { ${referenceOf(TYPE_LEVELS)} }
    enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason }
    possibleTypes { kind name }
  }
  directives { name description locations args ${inputs} }
} }`;
}

export const INTROSPECTIONS: readonly string[] = [
  questionWith({
    type: "specifiedByURL isOneOf",
    deprecatedInputs: "(includeDeprecated: true)",
    input: "isDeprecated deprecationReason",
  }),
  questionWith({
    type: "specifiedByURL",
    deprecatedInputs: "(includeDeprecated: true)",
    input: "isDeprecated deprecationReason",
  }),
  questionWith({ type: "", deprecatedInputs: "", input: "" }),
];
