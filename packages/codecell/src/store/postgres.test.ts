import { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type PostgresServer, startPostgres } from "../../../../test/postgres-server.ts";
import type { Store } from "../contract/store.ts";
import { bytes, claimed, FUTURE, LONG, newRun, OVER, refuses } from "../testing/store-cases.ts";
import { testStore } from "../testing/store-suite.ts";
import { POSTGRES_MIGRATIONS } from "./postgres-schema.ts";
import { openPostgresStore, type PostgresClient, type PostgresPool } from "./postgres.ts";

let server: PostgresServer;
let pool: Pool;
beforeAll(async () => {
  server = await startPostgres();
  pool = new Pool({ ...server.connection, max: 8 });
  pool.on("error", () => {});
}, 60_000);
afterAll(async () => {
  await pool.end();
  await server[Symbol.asyncDispose]();
}, 60_000);

/** Every store has a pool of its own, as if it were in another process. */
async function openApart(schema: string): Promise<Store & { readonly name: string }> {
  const name = `apart ${Math.random()}`;
  const own = new Pool({ ...server.connection, max: 4, application_name: name });
  // A killed connection may report its error after the store was closed.
  own.on("error", () => {});
  const store = await openPostgresStore({ pool: own, schema }).catch(async (error: unknown) => {
    await own.end();
    throw error;
  });
  return {
    ...store,
    name,
    [Symbol.asyncDispose]: async () => {
      await store[Symbol.asyncDispose]();
      if (!own.ended) await own.end();
    },
  };
}

testStore("postgres", openApart);

/** Ends the connections of a store, as an operator or a failing server does. */
async function killConnections(name: string): Promise<number> {
  const { rowCount } = await pool.query(
    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = $1",
    [name],
  );
  return rowCount ?? 0;
}

describe("connections that are killed", () => {
  test("are replaced, also while they are used", async () => {
    await using store = await openApart("killed_while_used");
    const claim = await store.put(newRun("a"), LONG);
    const appends: Promise<void>[] = [];
    for (let n = 0; n < 100; n++) {
      appends.push(store.append(claim, [bytes(n)]));
      if (n % 20 === 10) {
        await appends[n - 5];
        await killConnections(store.name);
      }
    }
    await Promise.all(appends);
    await store.release(claim);
    // No entry is lost, and none is there twice.
    expect((await claimed(store, "a")).run.journal).toEqual([...Array(100).keys()].map((n) => bytes(n)));
  });

  test("watchers are called when the listening connection was replaced, and hear of later changes", async () => {
    await using store = await openApart("killed_listener");
    await using other = await openApart("killed_listener");
    await store.put(newRun("a"), LONG);
    let called = Promise.withResolvers<void>();
    await store.watch("a", () => called.resolve());
    expect(await killConnections(store.name)).toBeGreaterThan(0);
    await called.promise;
    called = Promise.withResolvers();
    await other.post("a", 0, bytes(1));
    await called.promise;
  });
});

describe("an answer that is lost on the way", () => {
  /** A pool whose connection breaks right after the server has executed the first matching statement. */
  function losing(pattern: RegExp): PostgresPool & { lost: number } {
    let lost = 0;
    async function query(
      this: void,
      target: Pick<PostgresClient, "query">,
      text: string,
      values?: unknown[],
    ) {
      const result = await target.query(text, values);
      if (!pattern.test(text) || lost > 0) return result;
      lost++;
      throw new Error("Connection terminated unexpectedly");
    }
    return {
      get lost() {
        return lost;
      },
      query: (text, values) => query(pool, text, values),
      connect: async () => {
        const client: PostgresClient = await pool.connect();
        return {
          query: (text, values) => query(client, text, values),
          on: client.on.bind(client),
          removeListener: client.removeListener.bind(client),
          release: client.release.bind(client),
        };
      },
      on: () => {},
      removeListener: () => {},
    };
  }

  async function openLosing(schema: string, pattern: RegExp) {
    await (await openPostgresStore({ pool, schema }))[Symbol.asyncDispose]();
    const lossy = losing(pattern);
    return { lossy, store: await openPostgresStore({ pool: lossy, schema }) };
  }

  test.each([
    ["put", /INSERT INTO "[^"]*".runs/u],
    ["append", /INSERT INTO "[^"]*".journal/u],
    ["post", /INSERT INTO "[^"]*".outcomes/u],
    ["renew", /SET lease_until/u],
    ["release", /SET owner = NULL/u],
    ["claim, in its midst", /SET fence = nextval/u],
    ["claim, at its commit", /^COMMIT/u],
    ["delete", /DELETE FROM "[^"]*".runs WHERE/u],
  ])("does not make a %s fail or happen twice [store:nothing-twice]", async (title, pattern) => {
    const schema = `lost ${title}`;
    const { lossy, store: opened } = await openLosing(schema, pattern);
    await using store = opened;
    const claim = await store.put(newRun("a"), OVER);
    await store.append(claim, [bytes(1), bytes(2)]);
    expect(await store.post("a", 0, bytes(3))).toBe(true);
    await store.renew(claim, 600_000);
    await store.release(claim);
    const again = await claimed(store, "a");
    expect(again.run).toMatchObject({ journal: [bytes(1), bytes(2)], outcomes: new Map([[0, bytes(3)]]) });
    await store.release(again.claim, { state: bytes(9), expiresAt: FUTURE, absorbed: [0] });
    const last = await claimed(store, "a");
    expect(last.run).toMatchObject({ state: bytes(9), journal: [], outcomes: new Map() });
    await store.delete(last.claim);
    expect(await store.list()).toEqual([]);
    expect(lossy.lost).toBe(1);
  });

  // The release is one statement, so there is one answer to lose.
  test("to a release with a last entry does not add the entry twice [store:nothing-twice]", async () => {
    const { lossy, store: opened } = await openLosing("last entry", /SET owner = NULL/u);
    await using store = opened;
    const claim = await store.put(newRun("a"), LONG);
    await store.saveSnapshot(claim, bytes(1));
    const given = { expiresAt: FUTURE, absorbed: [0] };
    await store.release(claim, { entry: bytes(2), snapshot: bytes(3), ...given });
    expect(lossy.lost).toBe(1);
    const again = await claimed(store, "a");
    expect(again.run).toMatchObject({ journal: [bytes(2)], snapshot: bytes(3) });
    await store.append(again.claim, [bytes(4)]);
    await store.release(again.claim, { entry: bytes(5), snapshot: bytes(6), ...given });
    const last = await claimed(store, "a");
    expect(last.run).toMatchObject({ journal: [bytes(2), bytes(4), bytes(5)], snapshot: bytes(6) });
  });
});

describe("a schema", () => {
  test("is made once when several stores open it together", async () => {
    const stores = await Promise.all([...Array(8).keys()].map(() => openApart("made_together")));
    await stores[0]?.put(newRun("a"), LONG);
    expect(await stores[7]?.list()).toHaveLength(1);
    await Promise.all(stores.map((store) => store[Symbol.asyncDispose]()));
  });

  test.each([1, 2])(
    "with version %d is brought up to date, with the runs and notes in it",
    async (version) => {
      const schema = `older_${version}`;
      const uuid = "00000000-0000-4000-8000-000000000000";
      await pool.query(`CREATE SCHEMA ${schema}`);
      for (const migration of POSTGRES_MIGRATIONS.slice(0, version)) await pool.query(migration(schema));
      await pool.query(`
      CREATE TABLE ${schema}.meta (version integer NOT NULL);
      INSERT INTO ${schema}.meta VALUES (${version});
      INSERT INTO ${schema}.runs (id, scope, expires_at, changed_at, fence, owner, lease_until, claim_key, journal_length)
      VALUES ('a', 'scope', ${FUTURE}, 7, nextval('${schema}.fences'), 'owner', 0, '${uuid}', 1);
      INSERT INTO ${schema}.states VALUES ('a', '\\x01');
      INSERT INTO ${schema}.journal VALUES ('a', 1, '\\x02')`);
      if (version === 2) {
        await pool.query(`INSERT INTO ${schema}.notes VALUES ('key', '\\x04', ${FUTURE})`);
        await pool.query(`INSERT INTO ${schema}.executors VALUES ('one', ${FUTURE})`);
      }
      await using again = await openPostgresStore({ pool, schema });
      expect(await again.list()).toMatchObject([{ id: "a", createdAt: 7, changedAt: 7, calls: 0 }]);
      const { claim, run } = await claimed(again, "a");
      expect(run.journal).toEqual([bytes(2)]);
      await again.append(claim, [bytes(5)]);
      await again.saveSnapshot(claim, bytes(3));
      expect(await again.loadSnapshot(claim)).toEqual(bytes(3));
      expect(await again.getNote("key")).toEqual(version === 2 ? bytes(4) : undefined);
      expect(await again.attends("one")).toBe(version === 2);
    },
  );

  test("with a newer version is refused", async () => {
    await (await openPostgresStore({ pool, schema: "newer" }))[Symbol.asyncDispose]();
    await pool.query("UPDATE newer.meta SET version = 999");
    await refuses(openPostgresStore({ pool, schema: "newer" }), "incompatible");
  });

  test.each(["Odd \"Name'; --", "ünïcode 🔑"])("may be called %j", async (schema) => {
    await using store = await openApart(schema);
    await using other = await openApart(schema);
    const called = Promise.withResolvers<void>();
    await store.put(newRun("a"), OVER);
    await store.watch("a", called.resolve);
    await other.delete((await claimed(other, "a")).claim);
    await called.promise;
  });

  test("is called codecell by default, and its name has bounds", async () => {
    await (await openPostgresStore({ pool }))[Symbol.asyncDispose]();
    expect((await pool.query("SELECT count(*)::int AS runs FROM codecell.runs")).rows).toEqual([{ runs: 0 }]);
    await expect(openPostgresStore({ pool, schema: "" })).rejects.toThrow(RangeError);
    await expect(openPostgresStore({ pool, schema: "x".repeat(64) })).rejects.toThrow(RangeError);
  });

  test("keeps its watchers from changes in another schema", async () => {
    await using store = await openApart("one");
    await using other = await openApart("other");
    let calls = 0;
    const heard = Promise.withResolvers<void>();
    for (const one of [store, other]) await one.put(newRun("a"), LONG);
    await store.watch("a", () => calls++);
    await other.watch("a", heard.resolve);
    await other.post("a", 0, bytes(1));
    await heard.promise;
    expect(calls).toBe(0);
  });
});

describe("errors", () => {
  test("a server that cannot be reached is unavailable", async () => {
    await using nowhere = disposable(new Pool({ host: "/nowhere", user: "postgres" }));
    await refuses(openPostgresStore({ pool: nowhere.pool }), "unavailable");
  });

  test.each([
    ["53100", "full"],
    ["53200", "unavailable"],
    ["42501", "unavailable"],
  ])("%s is `%s`", async (code, expected) => {
    const failing = Object.assign(new Error("of the server"), { code, severity: "ERROR" });
    let fail = false;
    const flaky: PostgresPool = {
      query: (text, values) => (fail ? Promise.reject(failing) : pool.query(text, values)),
      connect: () => pool.connect(),
      on: () => {},
      removeListener: () => {},
    };
    await using store = await openPostgresStore({ pool: flaky, schema: "errors" });
    fail = true;
    await expect(store.put(newRun(code), LONG)).rejects.toMatchObject({ code: expected, cause: failing });
    fail = false;
    expect(await store.claim(code, LONG)).toEqual({ status: "absent" });
  });

  test("more than a message can hold is `full`, and is tried once", async () => {
    let tries = 0;
    const small: PostgresPool = {
      query: (text, values) => {
        if (!/INSERT INTO/u.test(text)) return pool.query(text, values);
        tries++;
        return Promise.reject(new RangeError("Invalid string length"));
      },
      connect: () => pool.connect(),
      on: () => {},
      removeListener: () => {},
    };
    await using store = await openPostgresStore({ pool: small, schema: "errors" });
    await refuses(store.put(newRun("large"), LONG), "full");
    expect(tries).toBe(1);
  });

  test("a pool of one connection is refused", async () => {
    await using small = disposable(new Pool({ ...server.connection, max: 1 }));
    await expect(openPostgresStore({ pool: small.pool })).rejects.toThrow(RangeError);
  });

  function disposable(given: Pool) {
    return { pool: given, [Symbol.asyncDispose]: () => given.end() };
  }
});

test("claims while others append and release see whole runs", async () => {
  await using store = await openApart("storm");
  await using other = await openApart("storm");
  await store.release(await store.put(newRun("a", { state: bytes(0) }), LONG));
  let finished = 0;
  // Each store claims with a lease that is over at once, appends twice and releases with the sum.
  async function contend(mine: Store): Promise<void> {
    while (finished < 12) {
      const result = await mine.claim("a", OVER);
      if (result.status !== "claimed") continue;
      const { claim, run } = result;
      const base = run.state[0] ?? 0;
      expect(run.journal.map(([entry]) => entry)).toEqual(run.journal.map(() => base));
      try {
        await mine.append(claim, [bytes(base)]);
        await mine.append(claim, [bytes(base)]);
        await mine.release(claim, { state: bytes((base + 1) % 256), expiresAt: FUTURE, absorbed: [] });
        finished++;
      } catch (error) {
        expect(error).toMatchObject({ code: "stale_claim" });
      }
    }
  }
  await Promise.all([contend(store), contend(other), contend(store), contend(other)]);
  const { run } = await claimed(store, "a");
  expect(run.state[0]).toBe(finished % 256);
});
