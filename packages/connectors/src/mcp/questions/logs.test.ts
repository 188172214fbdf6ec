import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { HiddenTexts } from "../../backend/hidden-texts.ts";
import { Logs } from "./logs.ts";
import type { ServerLog } from "./options.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

function opened(): { readonly logs: Logs; readonly heard: ServerLog[] } {
  const heard: ServerLog[] = [];
  const hidden = new HiddenTexts(["secret-canary"]);
  const logs = new Logs({ id: "a", level: "info", hidden, onLog: (log) => heard.push(log) });
  return { logs, heard };
}

test("a hundred messages are heard in a second, and of others once that they are left out", () => {
  const { logs, heard } = opened();
  for (let second = 0; second < 3; second++) {
    for (let sent = 0; sent < 1000; sent++) logs.hear({ level: "info", data: sent });
    vi.advanceTimersByTime(1000);
  }
  expect(heard.filter(({ isNotice }) => isNotice !== true)).toHaveLength(300);
  expect(heard.filter(({ isNotice }) => isNotice === true)).toMatchObject([
    { connector: "a", level: "warning" },
  ]);
  expect(heard.findIndex(({ isNotice }) => isNotice === true)).toBe(100);
});

test("what is cut shows no part of a secret", () => {
  const { logs, heard } = opened();
  for (let before = 9950; before < 10_010; before++)
    logs.hear({ level: "info", data: `${"x".repeat(before)}secret-canary${"y".repeat(100)}` });
  expect(JSON.stringify(heard)).not.toContain("secret");
});

test("what JSON cannot carry is heard as nothing", () => {
  const { logs, heard } = opened();
  logs.hear({ level: "info", data: undefined });
  expect(heard).toHaveLength(1);
});
