/** What descriptions of APIs become is kept in a cache, and is the same from there. */
import { createHash } from "node:crypto";
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import {
  type Connector,
  discovery,
  type DiscoveryOptions,
  openapi,
  type OpenApiOptions,
  openDescriptionCache,
} from "@codecell/connectors";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { DescriptionCache } from "../../packages/connectors/src/description/cache/description-cache.ts";
import { DESCRIBING_VERSION } from "../../packages/connectors/src/description/cache/version.ts";
import { readDescription } from "../../packages/connectors/src/description/read-description.ts";
import { DESCRIBED_FORM } from "../../packages/connectors/src/openapi/described-form.ts";
import { json, nobody, startWebBackend, type WebBackend } from "./web-backend.ts";

const { resolve } = createRequire(import.meta.url);
const card = { name: "API", description: "Somebody's API" };
const EXAMPLES = path.dirname(resolve("@readme/oas-examples/package.json"));
const SHOP = {
  openapi: "3.1.0",
  info: { title: "Shop", version: "1" },
  servers: [{ url: "/v1" }],
  paths: { "/items": { get: { operationId: "items" } } },
};

let folder: string;
let backend: WebBackend;

beforeEach(async () => {
  folder = await mkdtemp(`${tmpdir()}/codecell-descriptions-`);
  backend = await startWebBackend((_, response) => json(response, 200, null));
});
afterEach(async () => {
  await backend[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

/** A cache in memory that remembers what it was asked. */
class Remembering implements DescriptionCache {
  readonly kept = new Map<string, Uint8Array<ArrayBuffer>>();
  readonly asked: string[] = [];

  get(key: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
    this.asked.push(this.kept.has(key) ? "has it" : "has it not");
    return Promise.resolve(this.kept.get(key));
  }

  put(key: string, bytes: Uint8Array): Promise<void> {
    this.asked.push("kept");
    this.kept.set(key, new Uint8Array(bytes));
    return Promise.resolve();
  }
}

async function said(connector: Connector): Promise<readonly [string, unknown]> {
  try {
    const tools = await connector.tools({ signal: nobody });
    const { about } = await connector.check({ signal: nobody });
    return [JSON.stringify(tools), about?.["cache"]];
  } finally {
    await connector[Symbol.asyncDispose]();
  }
}

function ofApi(options: Omit<OpenApiOptions, "id" | "card">): Promise<readonly [string, unknown]> {
  return said(openapi({ id: "api", card, baseUrl: backend.origin, ...options }));
}

function ofDiscovery(options: Omit<DiscoveryOptions, "id" | "card">): Promise<readonly [string, unknown]> {
  return said(discovery({ id: "api", card, rootUrl: backend.origin, ...options }));
}

async function fileWith(name: string, document: unknown): Promise<string> {
  const file = path.join(folder, name);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, typeof document === "string" ? document : JSON.stringify(document));
  return file;
}

describe("a description from the cache", () => {
  const script = new URL("../../packages/connectors/src/openapi/description/worker.ts", import.meta.url);

  test.each<readonly [string, string]>([
    ["GitHub's", resolve("@octokit/openapi/generated/api.github.com.json")],
    ...["2.0/yaml/schema-circular.yaml", "3.0/json/star-trek.json", "3.1/json/parameters-style.json"].map(
      (name) => [name, path.join(EXAMPLES, name)] as const,
    ),
  ])("is what it was when it was described: %s", async (_, file) => {
    const cache = new Remembering();
    const setup = {
      source: { kind: "file", path: file },
      documentBytes: 50_000_000,
      ownedHeaders: [],
      hidden: [],
    } as const;
    const reading = { connector: "api", kind: "openapi", script, setup, form: DESCRIBED_FORM, cache };
    const [first, second] = [await readDescription(reading, nobody), await readDescription(reading, nobody)];
    expect([first.cached, second.cached, cache.asked]).toEqual([
      "written",
      "read",
      ["has it not", "kept", "has it"],
    ]);
    const [{ text, ...index }, { text: textAfter, ...indexAfter }] = [first.described, second.described];
    expect(indexAfter).toEqual(index);
    expect(Buffer.compare(textAfter, text)).toBe(0);
  });

  test("has the same tools, from one process to another", async () => {
    const document = path.join(EXAMPLES, "3.0/json/star-trek.json");
    const open = (): DescriptionCache => openDescriptionCache({ folder: path.join(folder, "cache") });
    const [plain] = await ofApi({ document });
    expect(await ofApi({ document, cache: open() })).toEqual([plain, "written"]);
    expect(await ofApi({ document, cache: open() })).toEqual([plain, "read"]);
  });

  test("of Google's format has the same tools, unless others are included", async () => {
    const method = { id: "items.list", path: "items", httpMethod: "GET" };
    const document = await fileWith("discovery.json", {
      name: "shop",
      version: "v1",
      rootUrl: "https://shop.test/",
      servicePath: "",
      resources: { items: { methods: { list: method, get: { ...method, id: "items.get" } } } },
    });
    const cache = new Remembering();
    const [plain] = await ofDiscovery({ document });
    expect(await ofDiscovery({ document, cache })).toEqual([plain, "written"]);
    expect(await ofDiscovery({ document, cache })).toEqual([plain, "read"]);
    const [fewer, cached] = await ofDiscovery({ document, cache, exclude: ["items.get"] });
    expect([(JSON.parse(fewer) as unknown[]).length, cached]).toEqual([1, "written"]);
  });

  test("is not used for other bytes, other settings or another kind", async () => {
    const cache = new Remembering();
    const document = await fileWith("shop.json", SHOP);
    expect((await ofApi({ document, cache }))[1]).toBe("written");
    expect((await ofApi({ document, cache, headers: { "x-team": "a" } }))[1]).toBe("written");
    expect((await ofApi({ document, cache, documentBytes: 1000 }))[1]).toBe("written");
    await fileWith("shop.json", { ...SHOP, info: { title: "Shop", version: "2" } });
    expect((await ofApi({ document, cache }))[1]).toBe("written");
    await expect(ofDiscovery({ document, cache })).rejects.toThrow();
    await fileWith("shop.json", SHOP);
    expect((await ofApi({ document, cache }))[1]).toBe("read");
    const copy = await fileWith("elsewhere/other.json", SHOP);
    expect((await ofApi({ document: copy, cache }))[1]).toBe("read");
    // What an operator calls a header is a setting, and its value is not.
    expect((await ofApi({ document, cache, headers: { "x-team": "b" } }))[1]).toBe("read");
  });

  test("is used only as long as all its documents are what they were", async () => {
    const cache = new Remembering();
    const part = (type: string): unknown => ({
      a: { $ref: "b.json#/b" },
      type,
      own: { $ref: "../shop.json#/info" },
    });
    const items = { operationId: "items", responses: { 200: { $ref: "./parts/a.json#/a" } } };
    const document = await fileWith("shop.json", { ...SHOP, paths: { "/items": { get: items } } });
    await fileWith("parts/a.json", part("one"));
    await fileWith("parts/b.json", { b: { description: "done" } });
    const [plain] = await ofApi({ document });
    expect(await ofApi({ document, cache })).toEqual([plain, "written"]);
    expect(await ofApi({ document, cache })).toEqual([plain, "read"]);
    await fileWith("parts/b.json", { b: { description: "other" } });
    expect((await ofApi({ document, cache }))[1]).toBe("written");
    await rm(path.join(folder, "parts/b.json"));
    // What is absent may be there next time.
    expect((await ofApi({ document, cache }))[1]).toBe("not for a part that cannot be read");
    await fileWith("parts/b.json", { b: { description: "other" } });
    expect((await ofApi({ document, cache }))[1]).toBe("read");
    // Under another name the document that refers to "shop.json" means another one.
    await rename(document, path.join(folder, "new.json"));
    await fileWith("shop.json", { info: {} });
    expect((await ofApi({ document: path.join(folder, "new.json"), cache }))[1]).toBe("written");
    await fileWith("shop.json", { info: { changed: true } });
    expect((await ofApi({ document: path.join(folder, "new.json"), cache }))[1]).toBe("written");
  });

  test("is of the web too, and has neither its address nor what is secret in it", async () => {
    const parts = { "/docs/own-path/parts.json": { a: { description: "done" } } } as Record<string, unknown>;
    const items = { operationId: "items", responses: { 200: { $ref: "parts.json#/a" } } };
    const web = await startWebBackend(({ url }, response) =>
      json(response, 200, parts[url] ?? { ...SHOP, paths: { "/items": { get: items } } }),
    );
    try {
      const document = `${web.origin}/docs/own-path/api.json?token=canary-in-query`;
      const caching = { document, headers: { "x-key": "canary-in-header" }, credentials: {} };
      const cache = openDescriptionCache({ folder: path.join(folder, "cache") });
      const base = { ...caching, cache, baseUrl: web.origin };
      const [plain] = await ofApi({ ...caching, baseUrl: web.origin });
      expect(await ofApi(base)).toEqual([plain, "written"]);
      expect(await ofApi(base)).toEqual([plain, "read"]);
      const [name = ""] = await readdir(path.join(folder, "cache"));
      const kept = await readFile(path.join(folder, "cache", name), "latin1");
      for (const secret of ["canary", "own-path", new URL(web.origin).host, folder]) {
        expect(kept).not.toContain(secret);
        expect(name).not.toContain(secret);
      }
    } finally {
      await web[Symbol.asyncDispose]();
    }
  });

  test("is never of a document that is given", async () => {
    const cache = new Remembering();
    const [plain] = await ofApi({ document: SHOP });
    expect(await ofApi({ document: SHOP, cache })).toEqual([plain, "not for a document that is given"]);
    expect(cache.asked).toEqual([]);
  });
});

describe("a cache that is", () => {
  test("damaged is not used, and is mended", async () => {
    const places = path.join(folder, "cache");
    const cache = openDescriptionCache({ folder: places });
    const document = await fileWith("shop.json", SHOP);
    const [plain] = await ofApi({ document, cache });
    const [name = ""] = await readdir(places);
    const file = path.join(places, name);
    const sound = await readFile(file);
    for (const bytes of [
      "",
      "noise",
      sound.subarray(0, 300),
      sound.toString("latin1").replace("items", "other"),
    ]) {
      await writeFile(file, bytes);
      expect(await ofApi({ document, cache })).toEqual([plain, "written"]);
      expect(await readFile(file)).toEqual(sound);
    }
    // What was kept under one key is nothing under another.
    const other = await fileWith("other.json", { ...SHOP, info: { title: "Other", version: "1" } });
    await ofApi({ document: other, cache });
    const otherName = (await readdir(places)).find((one) => one !== name) ?? "";
    await cp(file, path.join(places, otherName));
    expect((await ofApi({ document: other, cache }))[1]).toBe("written");
  });

  test("unusable is no failure: check() says why, without a path", async () => {
    const document = await fileWith("shop.json", SHOP);
    const [plain] = await ofApi({ document });
    const cache = openDescriptionCache({ folder: path.join(document, "below-a-file") });
    expect(await ofApi({ document, cache })).toEqual([plain, "unusable: it cannot be written (ENOTDIR)"]);
    const broken: DescriptionCache = {
      get: () => Promise.reject(new Error(`at ${folder}`)),
      put: () => Promise.reject(new Error(`at ${folder}`)),
    };
    expect(await ofApi({ document, cache: broken })).toEqual([plain, "unusable: it failed"]);
    const small = openDescriptionCache({ folder: path.join(folder, "cache"), maxBytes: 10 });
    expect((await ofApi({ document, cache: small }))[1]).toMatch(
      /^unusable: one description takes \d+ bytes, raise "maxBytes"$/u,
    );
  });

  test("slow keeps nobody waiting who has left", async () => {
    const document = await fileWith("shop.json", SHOP);
    const leaving = new AbortController();
    const cache: DescriptionCache = {
      get: () => {
        leaving.abort();
        return new Promise(() => {});
      },
      put: () => Promise.resolve(),
    };
    await using connector = openapi({ id: "api", card, document, baseUrl: backend.origin, cache });
    await expect(connector.tools({ signal: leaving.signal })).rejects.toMatchObject({ code: "CALL_ABORTED" });
  });

  test("there changes no word of what is wrong with a description", async () => {
    const bad = await fileWith("bad.json", "{ no JSON");
    const web = await startWebBackend((_, response) => json(response, 500, null));
    try {
      for (const document of [bad, path.join(folder, "absent.json"), `${web.origin}/api.json`]) {
        const words = await ofApi({ document }).catch((error: Error) => error.message);
        expect(words).toMatch(/^Cannot use connector "api": /u);
        await expect(ofApi({ document, cache: new Remembering() })).rejects.toThrow(words);
      }
    } finally {
      await web[Symbol.asyncDispose]();
    }
  });
});

/**
 * By version: what the descriptions below become. Where the last row differs, descriptions become something else than
 * before: raise `DESCRIBING_VERSION` and add a row. A row that is here never changes: caches have what it says.
 */
const OUTPUTS: readonly (readonly [version: number, hash: string])[] = [
  [1, "5c48df8fe0fd8336c65761356ccc50a9c5d8ea134dc9c48e212385331256cb65"],
];

test("a description becomes what the version of the cache says", async () => {
  const examples = [
    "2.0/json/petstore.json",
    "2.0/yaml/schema-circular.yaml",
    "3.0/json/star-trek.json",
    "3.0/json/parameters-style.json",
    "3.0/json/file-uploads.json",
    "3.1/json/readme.json",
    "3.1/json/train-travel.json",
    "3.1/json/parameters-style.json",
  ];
  const cache = new Remembering();
  for (const name of examples) await ofApi({ document: path.join(EXAMPLES, name), cache });
  const document = await fileWith("discovery.json", {
    name: "shop",
    version: "v1",
    rootUrl: "https://shop.test/",
    servicePath: "v1/",
    schemas: {
      Item: { id: "Item", type: "object", properties: { id: { type: "string", format: "int64" } } },
    },
    resources: {
      items: {
        methods: {
          get: {
            id: "items.get",
            path: "items/{+id}",
            httpMethod: "GET",
            parameters: { id: { type: "string", location: "path", required: true } },
            response: { $ref: "Item" },
            supportsMediaDownload: true,
          },
          create: { id: "items.create", path: "items", httpMethod: "POST", request: { $ref: "Item" } },
        },
      },
    },
  });
  await ofDiscovery({ document, cache });
  const hash = createHash("sha256");
  // The key has the version itself in it.
  for (const bytes of cache.kept.values())
    hash.update(bytes.subarray("codecell description 1\n".length + 130));
  expect(cache.kept.size).toBe(examples.length + 1);
  expect([DESCRIBING_VERSION, hash.digest("hex")]).toEqual(OUTPUTS.at(-1));
  expect(OUTPUTS.map(([version]) => version)).toEqual(OUTPUTS.map((_, at) => at + 1));
});
