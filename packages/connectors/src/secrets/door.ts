/**
 * Runs on the host. The door of every kind: references to secrets become secrets, the connector is made, and nothing that
 * leaves it has one of them.
 *
 * - A connector whose secret is missing is there, and is not ready. Only a configuration without references can throw.
 */
import { type Hidden, HiddenTexts, type HiddenText } from "../backend/hidden-texts.ts";
import type { Card, Connector, ConnectorKind } from "../contract/connector.ts";
import { ConnectorError } from "../contract/connector-error.ts";
import { GuardedConnector } from "./guarded.ts";
import { hasReferences, type Places, resolveSecrets } from "./resolve-secrets.ts";
import type { SecretSources } from "./sources.ts";
import { UnreadyConnector } from "./unready.ts";

/** What every kind is configured with. */
export interface SecretOptions {
  /** Where `$env:NAME`, `$file:PATH` and `$vault:NAME` lead. */
  readonly secrets?: SecretSources;
}

/** The secrets that stand in a configuration as they are. */
export interface PlainSecrets {
  readonly certain: readonly (string | HiddenText)[];
  /** What may be secret, and is taken out of errors alone. */
  readonly likely?: readonly (string | HiddenText)[];
  /** The connector comes to have secrets later, and tells them to `Hidden`. */
  readonly hasMoreLater?: boolean;
}

export interface Door<Options> {
  readonly kind: ConnectorKind;
  /** Where references are. */
  readonly places: Places;
  readonly plainSecrets: (options: Options) => PlainSecrets;
  readonly make: (options: Options, hidden: Hidden) => Connector;
}

type Opened = SecretOptions & { readonly id: string; readonly card?: Partial<Card> };

export function throughDoor<Options extends Opened>(given: Options, door: Door<Options>): Connector {
  const { secrets: sources = {}, ...rest } = given;
  const options = rest as Options;
  const { id, card } = options;
  const { kind, places } = door;
  if (typeof id !== "string" || id === "" || !hasReferences(options, places))
    return madeBy(door, options, []);
  const make = (): Connector => {
    const { options: resolved, secrets } = resolveSecrets(id, options, places, sources);
    return madeBy(door, resolved, secrets);
  };
  try {
    return make();
  } catch (error) {
    if (!(error instanceof ConnectorError)) throw error;
    return new UnreadyConnector({ id, kind, card, error, make });
  }
}

/** The texts, also without the blanks around them, which no header has. What is no text is refused elsewhere. */
function asSent(given: readonly unknown[]): HiddenText[] {
  return given.flatMap((one): HiddenText[] => {
    const hidden: Partial<HiddenText> | null =
      typeof one === "string" ? { text: one } : typeof one === "object" ? one : null;
    if (typeof hidden?.text !== "string") return [];
    const { text } = hidden;
    return [...new Set([text, text.trim()])].map((each) => Object.assign({}, hidden, { text: each }));
  });
}

function madeBy<Options>(
  { plainSecrets, make }: Door<Options>,
  options: Options,
  secrets: readonly string[],
): Connector {
  const { certain, likely = [], hasMoreLater = false } = plainSecrets(options);
  const all = asSent([...certain, ...secrets]);
  const hidden = { inData: new HiddenTexts(all), inErrors: new HiddenTexts([...all, ...asSent(likely)]) };
  try {
    const connector = make(options, hidden);
    return hidden.inErrors.isEmpty && !hasMoreLater ? connector : new GuardedConnector(connector, hidden);
  } catch (error) {
    if (!(error instanceof ConnectorError)) throw error;
    const message = hidden.inErrors.hide(error.message);
    throw message === error.message
      ? error
      : new ConnectorError(error.connector, error.code, message, { hasNoEffect: error.hasNoEffect });
  }
}
