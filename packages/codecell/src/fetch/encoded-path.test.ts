import { expect, test } from "vitest";
import { encodedSeparatorIn } from "./encoded-path.ts";

test.each([
  "/api/..%2fadmin",
  "/api/..%2Fadmin",
  "/api/..%5cadmin",
  "/api/%252e%252e/admin",
  "/api/%252E%252e%252fadmin",
  "/api/%25%32%65%25%32%65/admin",
  "/api/%25252e%25252e/admin",
  "/api/..;/admin",
  "/api/.;x=1/admin",
  "/api/%2e%2e;/admin",
  "/api/..%3b/admin",
  "/api/%2e%2e%3bx/admin",
  "/api/a%2fb",
  "/api/a%00b",
  "/api/%c0%ae%c0%ae/admin",
  "/api/%c0%af",
  "/api/%25c0%25ae",
  "/api/%e0%80%ae%e0%80%ae/admin",
  "/api/x%E0%80%AFy",
  "/api/%f0%80%80%ae%f0%80%80%ae/admin",
  "/api/%u002e%u002e/admin",
  "/api/x%U2215y",
  "/api/..%20/admin",
  "/api/.%0d./admin",
  "/api/%09../admin",
  "/api/%EF%BC%8E%EF%BC%8E/admin",
  "/api/x%EF%BC%8F../admin",
  "/api/%E2%80%A5/admin",
  `/api/%${"25".repeat(20)}41`,
])("%s is refused", (path) => {
  expect(encodedSeparatorIn(path)).toBeTypeOf("string");
});

test.each([
  "/",
  "/api",
  "/api/users/7",
  "/api/a%20b",
  "/api/%C3%A9t%C3%A9",
  "/api/100%25",
  "/api/50%",
  "/api/%zz",
  "/api/a.b",
  "/api/...",
  "/api/..a",
  "/api/a..",
  "/api/x;v=1",
  "/api//x",
  "/api/%25ab",
  "/api/@user:name",
  "/api/%E0%A4%A8",
  "/api/%F0%9F%98%80",
  "/api/%E0",
  "/api/caf%E9",
  "/api/100%uber",
  "/api/%EF%BD%81.%E2%80%A6",
  "/api/%20a%20",
])("%s is let through", (path) => {
  expect(encodedSeparatorIn(path)).toBeUndefined();
});
