/** What the threads of a host execute: the default worker, the embedded worker, or the programmer's own file. */
import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readEngine, renderWorkerText } from "../../../../../scripts/build-embedded.ts";
import type { ToolSet } from "../../contract/tool.ts";
import { createHost, type HostOptions } from "../../run/host/host.ts";
import { loadEmbeddedEngine, loadWorkerText } from "./embedded.ts";
import { defaultWorkerUrl, embeddedWorkerUrl, loadWorkerScript, resolveWorkerUrl } from "./worker-script.ts";

let folder: string;
let text: string;

beforeAll(async () => {
  folder = await mkdtemp(`${tmpdir()}/codecell worker-`);
  text = await loadWorkerText();
});

afterAll(() => rm(folder, { recursive: true, force: true }));

const tools: ToolSet = {
  double: { execute: (n: number) => 2 * n },
  ask: { execute: (_input, call) => call.resolution ?? call.suspend("?") },
};

async function valueOn(workerUrl: HostOptions["workerUrl"], source: string): Promise<unknown> {
  await using host = createHost({ workers: 1, workerUrl });
  const result = await host.start({ source, tools }).result;
  return result.status === "completed" ? result.value : result;
}

/** Writes a worker that leaves a mark, so that a test can tell that this worker ran. */
async function writeWorker(name: string): Promise<{ path: string; ran: () => Promise<string> }> {
  const path = `${folder}/${name}`;
  const mark = `process.getBuiltinModule("node:fs").writeFileSync(${JSON.stringify(`${path}.ran`)}, "ran");\n`;
  await writeFile(path, mark + text);
  return { path, ran: () => readFile(`${path}.ran`, "utf8") };
}

describe("the embedded worker", () => {
  test("equals the worker built from the sources, and the engine equals that of the package", async () => {
    expect(text === (await renderWorkerText())).toBe(true);
    const digest = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
    expect(digest(await loadEmbeddedEngine())).toBe(digest(await readEngine()));
  });

  test("has a URL that starts it", async () => {
    const url = embeddedWorkerUrl();
    expect(url.href.length).toBeLessThan(1000);
    expect((await loadWorkerScript(url)).text).toBe(text);
    expect(await valueOn(url, "return await tools.double(21)")).toBe(42);
    expect(await valueOn(url.href, "return await tools.double(4)")).toBe(8);
  });

  test("says what is wrong when it is started without its text", async () => {
    const worker = new Worker(embeddedWorkerUrl(), { workerData: {} });
    const { promise, resolve } = Promise.withResolvers<unknown>();
    worker.once("error", resolve);
    expect(await promise).toMatchObject({ message: expect.stringContaining("gave no text") as unknown });
  });

  test("resumes a run that the worker's file began, and the other way round", async () => {
    const sealKey = new Uint8Array(32).fill(1);
    const urls = [defaultWorkerUrl(), embeddedWorkerUrl()] as const;
    for (const [one, other] of [urls, urls.toReversed()]) {
      await using first = createHost({ workers: 1, workerUrl: one, sealKey });
      const source = "const a = await tools.double(4); return [a, await tools.ask()]";
      const waiting = await first.start({ source, tools }).result;
      if (waiting.status !== "suspended") throw new Error(`It is ${waiting.status}`);
      const { token, pending } = waiting.suspension;
      const resolutions = Object.fromEntries(pending.map(({ callId }) => [callId, { resolution: "yes" }]));
      await using second = createHost({ workers: 1, workerUrl: other, sealKey });
      const result = await second.resume({ token, resolutions, tools }).result;
      expect(result).toMatchObject({ status: "completed", value: [8, "yes"] });
    }
  });
});

describe("workerUrl", () => {
  test("is the worker's own file by default, and no text is loaded", async () => {
    const url = defaultWorkerUrl();
    expect(url.href).toBe(new URL("../../worker/node.ts", import.meta.url).href);
    expect(resolveWorkerUrl(undefined).href).toBe(url.href);
    expect(await loadWorkerScript(url)).toEqual({ url });
  });

  test.each(["code-mode-worker.mjs", "code-mode-worker.cjs"])(
    "may be a file with the worker's text: %s",
    async (name) => {
      const byUrl = await writeWorker(`by url ${name}`);
      expect(await valueOn(pathToFileURL(byUrl.path), "return await tools.double(21)")).toBe(42);
      expect(await byUrl.ran()).toBe("ran");
      const byPath = await writeWorker(`by path ${name}`);
      expect(await valueOn(byPath.path, "return await tools.double(21)")).toBe(42);
      expect(await byPath.ran()).toBe("ran");
      const byText = await writeWorker(`by text ${name}`);
      expect(await valueOn(pathToFileURL(byText.path).href, "return 1")).toBe(1);
      expect(await byText.ran()).toBe("ran");
    },
  );

  test("may be a data: URL with the worker's text", async () => {
    const url = `data:text/javascript;base64,${Buffer.from(text).toString("base64")}`;
    expect(await valueOn(new URL(url), "return await tools.double(21)")).toBe(42);
  });

  test("makes runs fail instead of hang if it starts no worker", async () => {
    const broken = "data:text/javascript,throw new Error('no worker')";
    expect(await valueOn(broken, "return 1")).toMatchObject({ failure: { code: "unavailable" } });
  });

  test.each([
    7,
    null,
    {},
    "",
    "worker.mjs",
    "./worker.mjs",
    "https://localhost/worker.mjs",
    new URL("https://localhost/worker.mjs"),
    "node:fs",
    { href: 7 },
  ])("is refused if no thread can start from it: %j", (given) => {
    const options = { workerUrl: given } as HostOptions;
    expect(() => createHost(options)).toThrow(TypeError);
    expect(() => createHost(options)).toThrow(
      /^Cannot create a host with .* as workerUrl: expected a file: or/u,
    );
  });

  test("is refused if the file does not exist", () => {
    const missing = [
      `${folder}/none.mjs`,
      pathToFileURL(`${folder}/none.mjs`),
      folder,
      "file://elsewhere/x.mjs",
    ];
    for (const workerUrl of missing) {
      expect(() => createHost({ workerUrl })).toThrow(/no such file, write one with loadWorkerText\(\)/u);
    }
  });
});
