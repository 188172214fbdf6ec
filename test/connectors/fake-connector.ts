/** A connector without a backend, whose tools say that they were called. For tests. */
import type { BackendTool, Connector } from "@codecell/connectors";

export function fakeConnector(
  id: string,
  tools: readonly BackendTool[],
  more: Partial<Connector> = {},
): Connector {
  return {
    id,
    kind: "http",
    card: { name: id, description: "A connector" },
    facts: {},
    identity: id,
    isTrusted: false,
    check: async () => ({ tools: tools.length }),
    tools: async () => tools,
    callTool: async (name) => ({ data: `called ${name}` }),
    onChange: () => () => {},
    [Symbol.asyncDispose]: async () => {},
    ...more,
  };
}
