import { expect, test } from "vitest";
import { isAllowed } from "./places.ts";

const HERE = "http://127.0.0.1:1/mcp";
const ELSEWHERE = "https://mcp.example/mcp";
const PRIVATE = "https://10.1.2.3/mcp";

test.each<readonly [place: string, server: string, allowed: boolean]>([
  ["https://login.example/token", ELSEWHERE, true],
  ["http://login.example/token", ELSEWHERE, false],
  ["http://login.example/token", HERE, false],
  ["http://localhost:2/token", HERE, true],
  ["ftp://localhost:2/token", HERE, false],
  ["https://localhost./token", HERE, true],
  ["javascript:alert(1)", HERE, false],
  ["no url", HERE, false],
  ...[
    "localhost",
    "localhost.",
    "a.localhost",
    "a.localhost.",
    "127.0.0.1",
    "127.1.",
    "0.0.0.0",
    "0",
    "[::]",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:0:0]",
    "10.0.0.1",
    "172.31.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "[::ffff:10.0.0.1]",
    "[fd00::1]",
    "[fe80::1]",
  ].map((host) => [`https://${host}/token`, ELSEWHERE, false] as const),
  ["https://172.32.0.1/token", ELSEWHERE, true],
  ["https://[2001:db8::1]/token", ELSEWHERE, true],
  ["https://192.168.1.1/token", PRIVATE, true],
  ["http://192.168.1.1/token", PRIVATE, false],
  ["https://127.0.0.1/token", PRIVATE, false],
])("%s, named by %s: %s", (place, server, allowed) => {
  expect(isAllowed(place, { server: new URL(server), issuer: undefined })).toBe(allowed);
});

test("an operator who names an issuer of a private network may have it", () => {
  const configured = { server: new URL(ELSEWHERE), issuer: "https://192.168.1.1" };
  expect(isAllowed("https://192.168.1.1/token", configured)).toBe(true);
});
