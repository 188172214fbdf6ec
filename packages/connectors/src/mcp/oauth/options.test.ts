import { expect, test } from "vitest";
import { isLoopback } from "./options.ts";

test.each([
  ["http://localhost:1", true],
  ["http://a.localhost", true],
  ["http://127.0.0.1", true],
  ["http://127.1", true],
  ["http://0x7f000001", true],
  ["http://[::1]", true],
  ["http://127.evil.example", false],
  ["http://127.0.0.1.evil.example", false],
  ["http://localhost.evil.example", false],
  ["http://evil-localhost", false],
  ["http://[::1:1]", false],
  ["http://128.0.0.1", false],
  ["http://0.0.0.0", false],
])("%s is on this machine: %s", (url, isHere) => {
  expect(isLoopback(new URL(url))).toBe(isHere);
});
