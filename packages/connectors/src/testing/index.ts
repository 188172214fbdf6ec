// Everything exported here is public API: the tests that connectors have to pass.
export type { ConnectorUnderTest, KnownCall, OpenConnector, OpenOptions } from "./connector-cases.ts";
export { testConnector } from "./connector-suite.ts";
