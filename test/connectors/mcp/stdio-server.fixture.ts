/** The server of fixture-server.ts as a process. It tells the test what happens at FIXTURE_CONTROL. */
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { createFixtureServer } from "./fixture-server.ts";

const control = process.env["FIXTURE_CONTROL"] ?? "";
const tell = (event: string): Promise<Response> => fetch(`${control}/${event}`, { method: "POST" });

// A process that may not run is a program that is broken.
const { ok } = await tell(`started/${process.pid}`);
if (!ok) process.exit(3);

serveStdio(() =>
  createFixtureServer({
    onHanging: () => void tell("hanging"),
    onCancelled: () => void tell("cancelled"),
  }),
);
