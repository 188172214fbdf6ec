/** Each request is served by a process of its own: nothing but messages, a key and maybe a store is left of the last. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ModelMessage } from "ai";
import { expect, onTestFinished, test } from "vitest";
import { type ApprovalRequest, answers } from "./conversation.ts";
import { SOURCE_FLAGS } from "../../scripts/source-flags.ts";

interface Answer {
  readonly did: string[];
  readonly messages: ModelMessage[];
  readonly requests: ApprovalRequest[];
  readonly sent: string;
}

async function serve(messages: readonly ModelMessage[], storePath?: string): Promise<Answer> {
  const args = [...SOURCE_FLAGS, join(import.meta.dirname, "approval-restart.fixture.ts")];
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const child = execFile(process.execPath, args, { timeout: 100_000 }, (error, stdout) => {
    if (error === null) resolve(stdout);
    else reject(error);
  });
  child.stdin?.end(JSON.stringify({ messages, storePath }));
  return JSON.parse(await promise) as Answer;
}

function storeFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "codecell-approvals-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "runs.sqlite");
}

test.each([
  ["without a store", (): string | undefined => undefined],
  ["with a store", storeFile],
])("a program goes on in another process, %s", async (_, file) => {
  const store = file();
  const asked = await serve([{ role: "user", content: "Go" }], store);
  expect(asked.did).toEqual(["read a"]);
  expect(asked.requests.map(({ toolCall }) => toolCall.input)).toEqual([{ path: "a" }]);
  const answered = [...asked.messages, answers(asked.requests, [true])];
  const done = await serve(answered, store);
  expect(done.did).toEqual(["deleted a"]);
  expect(done.sent).toContain('"value":9');
  if (store === undefined) return;
  // Another tab, another process: the store knows.
  const again = await serve(answered, store);
  expect(again.did).toEqual([]);
  expect(again.sent).toContain("error-text");
});
