/** Opens the stores of crash tests, and looks at what is left in them. */
import { DatabaseSync } from "node:sqlite";
import { Pool } from "pg";
import type { Store } from "codecell/store";
import { openPostgresStore } from "codecell/store/postgres";
import { openSqliteStore } from "codecell/store/sqlite";
import type { StorePlace } from "./life.ts";

const TABLES = ["runs", "states", "journal", "snapshots", "outcomes"];

export async function openCrashStore(place: StorePlace): Promise<Store> {
  if (place.kind === "sqlite") return openSqliteStore({ path: place.path });
  const pool = new Pool({ ...place.connection, max: 4 });
  const store = await openPostgresStore({ pool, schema: place.schema });
  return {
    ...store,
    [Symbol.asyncDispose]: async () => {
      await store[Symbol.asyncDispose]();
      await pool.end();
    },
  };
}

/** Number of rows by table. A store that all runs have left has no rows. */
export async function rowsIn(place: StorePlace): Promise<Record<string, number>> {
  const counts: [string, number][] = [];
  if (place.kind === "sqlite") {
    const db = new DatabaseSync(place.path, { readOnly: true });
    for (const table of TABLES) {
      counts.push([table, Number(db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.["n"])]);
    }
    db.close();
  } else {
    const pool = new Pool({ ...place.connection, max: 1 });
    // The pool may still be closing when the server stops.
    pool.on("error", () => {});
    for (const table of TABLES) {
      const { rows } = await pool.query<{ n: string }>(`SELECT count(*) AS n FROM ${place.schema}.${table}`);
      counts.push([table, Number(rows[0]?.n)]);
    }
    await pool.end();
  }
  return Object.fromEntries(counts);
}
