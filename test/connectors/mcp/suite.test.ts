/** The MCP connector passes what every connector has to pass, over every transport. */
import { testConnector } from "@codecell/connectors/testing";
import { openHttp, openSessions, openSse, openStdio } from "./opened.ts";

testConnector("MCP over standard input and output", openStdio);
testConnector("MCP over Streamable HTTP", openHttp);
testConnector("MCP over Streamable HTTP in sessions", openSessions);
testConnector("MCP over server-sent events", openSse);
