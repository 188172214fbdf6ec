import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { lookup } from "node:dns";
import * as undici from "undici";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type AddressGuard,
  AddressRefused,
  createGuardedFetch,
  loadGuardedFetch,
  loadUndici,
} from "./guarded-fetch.ts";

let server: Server;
let port: number;
let requests = 0;

beforeAll(async () => {
  server = createServer((_request, response) => {
    requests++;
    response.end("hello");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ({ port } = server.address() as AddressInfo);
});
afterAll(() => server.close());

function causeOf(error: unknown): unknown {
  return error instanceof Error ? error.cause : undefined;
}

/** A guard whose lookups give these lists of addresses, one after the other. */
function guardOf(...lists: string[][]): AddressGuard & { readonly asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    lookup: (name, _options, done) => {
      asked.push(name);
      done(
        null,
        (lists.shift() ?? []).map((address) => ({ address, family: 4 })),
      );
    },
    // This address stands for the public internet, which tests do not reach.
    isAllowed: (address) => address === "127.0.0.1",
  };
}

describe("a guarded fetch", () => {
  test("connects to the address that was checked, and asks for it once [fetch:addresses]", async () => {
    // A second lookup of the name would give another address.
    const guard = guardOf(["127.0.0.1"], ["10.0.0.1"]);
    const fetch = createGuardedFetch(undici, guard);
    const response = await fetch(`http://rebinding.test:${port}/`, { method: "GET" });
    expect(await response.text()).toBe("hello");
    expect(guard.asked).toEqual(["rebinding.test"]);
  });

  test("refuses a name with any address that is not public, before it connects [fetch:addresses]", async () => {
    const before = requests;
    const fetch = createGuardedFetch(undici, guardOf(["127.0.0.1", "10.0.0.1"]));
    const error = await fetch(`http://mixed.test:${port}/`).catch(causeOf);
    expect(error).toBeInstanceOf(AddressRefused);
    expect(requests).toBe(before);
  });

  test("guards https as well", async () => {
    const error = await createGuardedFetch(
      undici,
      guardOf(["10.0.0.1"]),
    )("https://secure.test/").catch(causeOf);
    expect(error).toBeInstanceOf(AddressRefused);
  });

  test("refuses a name without addresses", async () => {
    const error = await createGuardedFetch(undici, guardOf([]))(`http://none.test:${port}/`).catch(causeOf);
    expect(error).toBeInstanceOf(AddressRefused);
  });

  test("passes on that a name does not exist", async () => {
    const missing = Object.assign(new Error("no"), { code: "ENOTFOUND" });
    const guard: AddressGuard = {
      lookup: (_name, _options, done) => done(missing, []),
      isAllowed: () => true,
    };
    expect(await createGuardedFetch(undici, guard)(`http://none.test:${port}/`).catch(causeOf)).toBe(missing);
  });

  test("looks for all addresses, also when asked for one", async () => {
    const seen: unknown[] = [];
    const guard: AddressGuard = {
      lookup: (name, options, done) => {
        seen.push(options.all);
        lookup(name, options, done);
      },
      isAllowed: () => true,
    };
    const response = await createGuardedFetch(undici, guard)(`http://localhost:${port}/`).catch(causeOf);
    expect(response).toBeDefined();
    expect(seen.every((all) => all === true)).toBe(true);
    expect(seen.length).toBeGreaterThan(0);
  });

  test("with its defaults does not reach this machine by its name [fetch:addresses]", async () => {
    const before = requests;
    const error = await loadGuardedFetch()(`http://localhost:${port}/`).catch(causeOf);
    expect(error).toBeInstanceOf(AddressRefused);
    expect(requests).toBe(before);
  });
});

describe("undici", () => {
  test("is found from any of the places", () => {
    expect(loadUndici("undici", ["/nowhere/x.js", import.meta.filename]).Agent).toBeTypeOf("function");
  });

  test("that is missing is named in the error", () => {
    expect(() => loadUndici("undici", ["/nowhere/x.js"])).toThrow("npm install undici");
    expect(() => loadUndici("zod", [import.meta.filename])).toThrow("npm install undici");
  });
});
