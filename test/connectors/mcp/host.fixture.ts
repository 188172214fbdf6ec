/** A host with one connector to a process: it connects, says so, and waits to be killed. Its arguments start the server. */
import { mcp } from "@codecell/connectors";

const [command = "", ...args] = process.argv.slice(2);
const connector = mcp({ id: "server", command, args, env: { ...process.env } as Record<string, string> });
await connector.check({ signal: AbortSignal.timeout(100_000) });
process.stdout.write("ready\n");
setInterval(() => {}, 1_000_000);
