/** A Postgres server for tests; ends when it is disposed, or with the process. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { ROOT } from "./sources.ts";

export interface PostgresServer extends AsyncDisposable {
  /** For `new Pool(…)`. */
  readonly connection: { readonly host: string; readonly user: string; readonly database: string };
}

export async function startPostgres(): Promise<PostgresServer> {
  const child = spawn(process.execPath, [`${ROOT}test/postgres-server.fixture.ts`], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const ready = once(createInterface(child.stdout), "line");
  const [host] = (await Promise.race([ready, exited.then(() => [])])) as [string?];
  if (host === undefined) throw new Error("Cannot start Postgres: see above");
  return {
    connection: { host, user: "postgres", database: "postgres" },
    [Symbol.asyncDispose]: async () => {
      child.stdin.end();
      await exited;
    },
  };
}
