import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { bytes, claimed, FUTURE, LONG, newRun, OVER, refuses } from "../testing/store-cases.ts";
import { testStore } from "../testing/store-suite.ts";
import { SQLITE_MIGRATIONS } from "./sqlite-schema.ts";
import { openSqliteStore } from "./sqlite.ts";
import { startStopwatch } from "../../../../test/processor-time.ts";

const folder = mkdtempSync(join(tmpdir(), "codecell-sqlite-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
const newPath = (): string => join(folder, `${++files}.db`);

testStore("sqlite", (place) => openSqliteStore({ path: join(folder, `${place}.db`), pollMs: 5 }));

const FIXTURE = fileURLToPath(new URL("../../../../test/sqlite-claimant.fixture.ts", import.meta.url));

/** A process that has opened the store and waits for commands. */
async function startClaimant(...given: string[]) {
  const child = spawn(process.execPath, ["--no-warnings", FIXTURE, ...given], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface(child.stdout);
  await once(lines, "line");
  return {
    go: async () => {
      const line = once(lines, "line");
      child.stdin.write("go\n");
      return String((await line)[0]);
    },
    kill: async () => {
      if (child.exitCode !== null) return;
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    },
  };
}

describe("several processes", () => {
  test("each run is claimed by exactly one of them [store:one-claimant]", async () => {
    const path = newPath();
    await using store = await openSqliteStore({ path });
    const runs = [...Array(200).keys()];
    await Promise.all(runs.map((n) => store.put(newRun(`run ${n}`), OVER)));
    const claimants = await Promise.all(runs.slice(0, 4).map(() => startClaimant(path, "claim", "200")));
    const won = await Promise.all(claimants.map(async ({ go }) => JSON.parse(await go()) as number[]));
    expect(won.flat().toSorted((a, b) => a - b)).toEqual(runs);
    await Promise.all(claimants.map(({ kill }) => kill()));
  });

  test("a process that is killed leaves whole appends [store:whole]", async () => {
    const path = newPath();
    await using store = await openSqliteStore({ path });
    await store.release(await store.put(newRun("run 0"), LONG));
    const { go, kill } = await startClaimant(path, "append");
    await go();
    await kill();
    const held = await store.claim("run 0", LONG);
    expect(held.status).toBe("held");
    const other = new DatabaseSync(path);
    other.exec("UPDATE runs SET lease_until = 0");
    other.close();
    const { run } = await claimed(store, "run 0");
    expect(run.journal.length).toBeGreaterThanOrEqual(60);
    expect(run.journal).toEqual(run.journal.map((_, index) => bytes(Math.floor(index / 3) % 256, index % 3)));
    expect(run.journal.length % 3).toBe(0);
  });

  test("processes that make a file together both open it", async () => {
    const path = newPath();
    const stores = await Promise.all([...Array(8).keys()].map(() => openSqliteStore({ path })));
    await stores[0]?.put(newRun("a"), LONG);
    expect(await stores[7]?.list()).toHaveLength(1);
    await Promise.all(stores.map((store) => store[Symbol.asyncDispose]()));
  });
});

describe("a locked file", () => {
  test("is unavailable, changes nothing, and works again afterwards", async () => {
    const path = newPath();
    await using store = await openSqliteStore({ path, busyTimeoutMs: 10 });
    const claim = await store.put(newRun("a"), LONG);
    const other = new DatabaseSync(path);
    other.exec("BEGIN EXCLUSIVE");
    await Promise.all([
      refuses(store.put(newRun("b"), LONG), "unavailable"),
      refuses(store.append(claim, [bytes(1)]), "unavailable"),
      refuses(store.release(claim), "unavailable"),
      refuses(store.post("a", 0, bytes(1)), "unavailable"),
      refuses(store.expire(), "unavailable"),
    ]);
    // Reading does not wait for the lock.
    expect(await store.list()).toHaveLength(1);
    expect(await store.outcomes("a")).toEqual(new Map());
    other.exec("ROLLBACK");
    other.close();
    await store.append(claim, [bytes(2)]);
    await store.release(claim);
    expect((await claimed(store, "a")).run.journal).toEqual([bytes(2)]);
  });

  test("is waited for without blocking, in order", async () => {
    const path = newPath();
    await using store = await openSqliteStore({ path });
    const claim = await store.put(newRun("a"), LONG);
    const other = new DatabaseSync(path);
    other.exec("BEGIN EXCLUSIVE");
    const appends = [1, 2, 3].map((n) => store.append(claim, [bytes(n)]));
    // In these turns of the event loop the changes are tried again, and the loop is not blocked.
    for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
    other.exec("ROLLBACK");
    other.close();
    await Promise.all(appends);
    await store.release(claim);
    expect((await claimed(store, "a")).run.journal).toEqual([bytes(1), bytes(2), bytes(3)]);
  });
});

describe("a full file", () => {
  test("refuses a change that does not fit, changes nothing, and takes one that fits", async () => {
    const path = newPath();
    await using store = await openSqliteStore({ path, maxBytes: 1024 * 1024 });
    const claim = await store.put(newRun("a"), LONG);
    await store.append(claim, [bytes(1)]);
    const large = new Uint8Array(2 * 1024 * 1024);
    await refuses(store.put(newRun("b", { state: large }), LONG), "full");
    await refuses(store.append(claim, [bytes(2), large]), "full");
    await refuses(store.release(claim, { state: large, expiresAt: FUTURE, absorbed: [] }), "full");
    await refuses(store.post("a", 0, large), "full");
    // Only the large change is refused, though all share one commit.
    const together = await Promise.allSettled([
      store.post("a", 1, bytes(1)),
      store.post("a", 2, large),
      store.put(newRun("a"), LONG),
      store.post("a", 3, bytes(3)),
    ]);
    expect(together.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected", "fulfilled"]);
    expect(together[2]).toMatchObject({ reason: { code: "exists" } });
    await store.release(claim);
    const { run } = await claimed(store, "a");
    expect(run).toEqual({
      ...newRun("a"),
      journal: [bytes(1)],
      outcomes: new Map([
        [1, bytes(1)],
        [3, bytes(3)],
      ]),
    });
    expect(await store.list()).toHaveLength(1);
  });

  test("has room again after expiry, and gives it back", async () => {
    const path = newPath();
    await using store = await openSqliteStore({ path, maxBytes: 16 * 1024 * 1024 });
    const large = new Uint8Array(1024 * 1024).fill(1);
    const sizes: number[] = [];
    for (let round = 0; round < 4; round++) {
      for (let n = 0; n < 12; n++) await store.put(newRun(`${n}`, { expiresAt: 1, state: large }), OVER);
      expect(await store.expire()).toBe(12);
      const other = new DatabaseSync(path);
      other.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      other.close();
      sizes.push(statSync(path).size);
    }
    expect(Math.max(...sizes)).toBeLessThan(4 * 1024 * 1024);
  });
});

describe("a file", () => {
  test.each([1, 2])(
    "with version %d is brought up to date, with the runs and notes in it",
    async (version) => {
      const path = newPath();
      const db = new DatabaseSync(path);
      for (const migration of SQLITE_MIGRATIONS.slice(0, version)) db.exec(migration);
      db.exec(`
      PRAGMA application_id = 0x63656c6c;
      PRAGMA user_version = ${version};
      INSERT INTO runs (id, scope, expires_at, changed_at, fence, owner, lease_until)
      VALUES ('a', 'scope', ${FUTURE}, 7, 1, 'owner', 0);
      INSERT INTO states VALUES ('a', x'01');
      INSERT INTO journal VALUES ('a', 1, x'02');
      UPDATE fences SET last = 1`);
      if (version === 2) {
        db.exec(`INSERT INTO notes VALUES ('key', x'04', ${FUTURE})`);
        db.exec(`INSERT INTO executors VALUES ('one', ${FUTURE})`);
      }
      db.close();
      await using again = await openSqliteStore({ path });
      expect(await again.list()).toMatchObject([{ id: "a", createdAt: 7, changedAt: 7, calls: 0 }]);
      const { claim, run } = await claimed(again, "a");
      expect(run.journal).toEqual([bytes(2)]);
      await again.saveSnapshot(claim, bytes(3));
      expect(await again.loadSnapshot(claim)).toEqual(bytes(3));
      expect(await again.getNote("key")).toEqual(version === 2 ? bytes(4) : undefined);
      expect(await again.attends("one")).toBe(version === 2);
    },
  );

  test("with a newer version is refused, and left as it is", async () => {
    const path = newPath();
    await (await openSqliteStore({ path }))[Symbol.asyncDispose]();
    const db = new DatabaseSync(path);
    db.exec("PRAGMA user_version = 999");
    db.close();
    await refuses(openSqliteStore({ path }), "incompatible");
    const again = new DatabaseSync(path);
    expect(again.prepare("PRAGMA user_version").get()).toEqual({ user_version: 999 });
    again.close();
  });

  test("that belongs to another program is refused", async () => {
    const path = newPath();
    const db = new DatabaseSync(path);
    db.exec("CREATE TABLE runs (id)");
    db.close();
    await refuses(openSqliteStore({ path }), "incompatible");
  });

  test("that is not a database, or cannot be reached, is unavailable", async () => {
    await refuses(openSqliteStore({ path: join(folder, "no", "such", "folder.db") }), "unavailable");
    await refuses(openSqliteStore({ path: folder }), "unavailable");
    await refuses(
      openSqliteStore({ path: FIXTURE.replace("sqlite-claimant", "postgres-server") }),
      "unavailable",
    );
  });

  test.skipIf(process.platform === "win32")("is its owner's only", async () => {
    const path = newPath();
    await using store = await openSqliteStore({ path });
    await store.put(newRun("a"), LONG);
    for (const ending of ["", "-wal"]) expect(statSync(`${path}${ending}`).mode & 0o777).toBe(0o600);
  });

  test("may be :memory:", async () => {
    await using store = await openSqliteStore({ path: ":memory:" });
    await store.put(newRun("a"), OVER);
    expect((await claimed(store, "a")).run.state).toEqual(bytes(1));
  });

  test("with 100,000 runs is listed, claimed from and expired quickly", async () => {
    const path = newPath();
    await using store = await openSqliteStore({ path });
    const db = new DatabaseSync(path);
    db.exec(`
      WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 100000)
      INSERT INTO runs (id, scope, expires_at, changed_at, fence, owner, lease_until)
      SELECT 'run ' || n, 'scope ' || (n % 100), ${FUTURE}, 0, 1, 'owner', 0 FROM n`);
    db.exec("INSERT INTO states SELECT id, x'01' FROM runs");
    const medianOf = async (work: (n: number) => Promise<unknown>): Promise<number> => {
      const times: number[] = [];
      for (let n = 1; n <= 15; n++) {
        const elapsedMs = startStopwatch();
        await work(n);
        times.push(elapsedMs());
      }
      return times.sort((a, b) => a - b)[7] ?? Number.NaN;
    };
    expect(await medianOf(() => store.list({ claimable: true }))).toBeLessThan(20);
    expect(await medianOf((n) => store.list({ scope: `scope ${n}`, after: "run 5" }))).toBeLessThan(20);
    expect(await medianOf((n) => store.claim(`run ${n}`, LONG))).toBeLessThan(20);
    expect(await medianOf(() => store.expire())).toBeLessThan(20);
    expect(await medianOf(() => store.list({ order: "newest" }))).toBeLessThan(20);
    const place = { createdAt: 0, id: "run 5" };
    const newest = { order: "newest", after: place } as const;
    expect(await medianOf((n) => store.list({ ...newest, scope: `scope ${n}` }))).toBeLessThan(20);
    // As many ended runs, of which a tenth may stay.
    db.exec(`
      INSERT INTO ended (id, scope, ended, created_at, changed_at, expires_at, bytes, facts)
      SELECT id, scope, 'completed', created_at, rowid, ${FUTURE}, 1, '' FROM runs JOIN states ON run_id = id`);
    const ended = { status: "completed", order: "newest" } as const;
    expect(await medianOf(() => store.list(ended))).toBeLessThan(20);
    expect(await medianOf((n) => store.list({ ...ended, scope: `scope ${n}`, after: place }))).toBeLessThan(
      20,
    );
    db.exec("DELETE FROM ended WHERE changed_at <= 90000");
    expect(await medianOf(() => store.expire({ runs: 10_000, bytes: 10_000 }))).toBeLessThan(40);
    db.exec(`UPDATE runs SET lease_until = ${FUTURE}`);
    db.close();
    // This list is the slowest: it looks at every run.
    expect(await medianOf(() => store.list({ claimable: true }))).toBeLessThan(60);
  });
});
