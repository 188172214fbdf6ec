import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { testStore } from "../testing/store-suite.ts";
import { openSqliteStore } from "./sqlite.ts";

const folder = mkdtempSync(join(tmpdir(), "codecell-sqlite-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

testStore("sqlite", (place) => openSqliteStore({ path: join(folder, `${place}.db`), pollMs: 5 }));
