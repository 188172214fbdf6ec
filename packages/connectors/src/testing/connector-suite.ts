/**
 * The tests that every connector has to pass, of ours and of others. For tests.
 *
 * - Each test opens a connector of its own. None depends on how fast the backend is.
 */
import { describe, expect, test } from "vitest";
import type { BackendTool, Connector, ToolRequest } from "../contract/connector.ts";
import { ConnectorError, type ConnectorErrorCode } from "../contract/connector-error.ts";
import type { ConnectorUnderTest, KnownCall, OpenConnector, OpenOptions } from "./connector-cases.ts";

/** Far longer than any backend on the same machine takes. */
const PATIENT: OpenOptions = { timeoutMs: 60_000, responseBytes: 1_000_000 };
const LONGEST_MESSAGE = 1000;

const nobody = new AbortController().signal;

function requestOf(signal: AbortSignal = nobody): ToolRequest {
  return { signal, idempotencyKey: crypto.randomUUID() };
}

function made(connector: Connector, { tool, input }: KnownCall, signal?: AbortSignal): Promise<unknown> {
  return connector.callTool(tool, input, requestOf(signal)).then(({ data }) => data);
}

/** The error of an action that has to fail, which has to be the connector's own. */
async function errorOf(connector: Connector, action: Promise<unknown>): Promise<ConnectorError> {
  const error: unknown = await action.then(
    () => new Error("The action succeeded, it should have failed"),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ConnectorError)) throw error;
  expect(error.connector).toBe(connector.id);
  expect(error.message).not.toBe("");
  expect(error.message.length).toBeLessThanOrEqual(LONGEST_MESSAGE);
  return error;
}

export function testConnector(name: string, open: OpenConnector): void {
  const using = (
    work: (opened: ConnectorUnderTest) => Promise<void>,
    options: Partial<OpenOptions> = {},
  ): (() => Promise<void>) => {
    return async () => {
      const opened = await open({ ...PATIENT, ...options });
      try {
        await work(opened);
      } finally {
        await opened[Symbol.asyncDispose]();
      }
    };
  };

  const failsWith = async (
    { connector }: ConnectorUnderTest,
    action: Promise<unknown>,
    code: ConnectorErrorCode,
  ): Promise<ConnectorError> => {
    const error = await errorOf(connector, action);
    expect(error.code).toBe(code);
    return error;
  };

  describe(`connector: ${name}`, () => {
    describe("tools", () => {
      test(
        "have names of their own and schemas that are objects, in a stable order",
        using(async ({ connector, succeeds, fails, hangs, large }) => {
          const tools = await connector.tools({ signal: nobody });
          const names = tools.map((tool) => tool.name);
          expect(new Set(names).size).toBe(names.length);
          expect(names).toEqual(expect.arrayContaining([succeeds, fails, hangs, large].map(({ tool }) => tool)));
          for (const tool of tools) expectSchemas(tool);
          expect(await connector.tools({ signal: nobody })).toEqual(tools);
        }),
      );

      test(
        "cannot be changed by who reads them",
        using(async ({ connector }) => {
          const before = structuredClone(await connector.tools({ signal: nobody }));
          try {
            (await connector.tools({ signal: nobody }) as BackendTool[]).length = 0;
          } catch {
            // A frozen list says so.
          }
          expect(await connector.tools({ signal: nobody })).toEqual(before);
        }),
      );
    });

    describe("a call", () => {
      test(
        "gives what the backend gave",
        using(async ({ connector, succeeds }) => {
          expect(await made(connector, succeeds)).toEqual(succeeds.data);
        }),
      );

      test(
        "is made beside others",
        using(async ({ connector, succeeds, hangs }) => {
          const caller = new AbortController();
          const hanging = made(connector, hangs, caller.signal);
          const hung = expect(hanging).rejects.toMatchObject({ code: "CALL_ABORTED" });
          const outcomes = await Promise.all(Array.from({ length: 8 }, () => made(connector, succeeds)));
          expect(outcomes).toEqual(outcomes.map(() => succeeds.data));
          caller.abort();
          await hung;
        }),
      );

      test(
        "of a tool that does not exist is refused",
        using(async (opened) => {
          const call = { tool: "no_such_tool_anywhere", input: {} };
          const error = await failsWith(opened, made(opened.connector, call), "TOOL_NOT_FOUND");
          expect(error.message).toContain("no_such_tool_anywhere");
        }),
      );

      test(
        "that the backend refuses fails in the backend's words",
        using(async (opened) => {
          const error = await failsWith(
            opened,
            made(opened.connector, opened.fails),
            "DOWNSTREAM_TOOL_ERROR",
          );
          expect(JSON.stringify([error.message, error.details])).toContain(opened.fails.words);
        }),
      );

      test(
        "whose answer is too large fails, and the next call succeeds",
        using(
          async (opened) => {
            const { connector, large, succeeds } = opened;
            const error = await failsWith(opened, made(connector, large), "RESPONSE_TOO_LARGE");
            expect(error.message).toContain("100000");
            expect(await made(connector, succeeds)).toEqual(succeeds.data);
          },
          { responseBytes: 100_000 },
        ),
      );

      test(
        "that nobody waits for any more ends, and the backend learns of it",
        using(async (opened) => {
          const caller = new AbortController();
          const call = made(opened.connector, opened.hangs, caller.signal);
          const failed = failsWith(opened, call, "CALL_ABORTED");
          // A backend that has not seen the call learns of nothing.
          await opened.hangs.started();
          caller.abort(new Error("the run ended"));
          await failed;
          await opened.hangs.stopped();
          expect(await made(opened.connector, opened.succeeds)).toEqual(opened.succeeds.data);
        }),
      );

      test(
        "that was aborted before is not made",
        using(async (opened) => {
          const call = made(opened.connector, opened.succeeds, AbortSignal.abort());
          await failsWith(opened, call, "CALL_ABORTED");
        }),
      );

      test(
        "that takes too long ends, and the backend learns of it",
        using(
          async (opened) => {
            // A connection may take long on a busy machine: only the call itself has little time.
            const error = await errorOf(opened.connector, made(opened.connector, opened.hangs));
            expect(["TOOL_CALL_TIMEOUT", "SERVER_START_TIMEOUT"]).toContain(error.code);
            expect(error.message).toContain(opened.connector.id);
            if (error.code === "TOOL_CALL_TIMEOUT") await opened.hangs.stopped();
          },
          { timeoutMs: 2000 },
        ),
      );
    });

    describe("a check", () => {
      test(
        "of a backend that is there says how many tools it has",
        using(async ({ connector }) => {
          const { tools } = await connector.check({ signal: nobody });
          expect(tools).toBe((await connector.tools({ signal: nobody })).length);
        }),
      );

      test(
        "of a backend that is gone says which one and why",
        using(async ({ connector, stop }) => {
          await connector.check({ signal: nobody });
          await stop();
          const error = await errorOf(connector, connector.check({ signal: nobody }));
          expect(error.message).toContain(connector.id);
        }),
      );
    });

    test(
      "shows no secret, whatever it says of itself",
      using(async (opened) => {
        const { connector, secret, stop } = opened;
        const shown: unknown[] = [connector.id, connector.kind, connector.card, connector.facts];
        shown.push(connector.identity, connector, await connector.check({ signal: nobody }));
        shown.push(await connector.tools({ signal: nobody }));
        shown.push(textsOf(await errorOf(connector, made(connector, opened.fails))));
        shown.push(textsOf(await errorOf(connector, made(connector, { tool: "none", input: {} }))));
        await stop();
        shown.push(textsOf(await errorOf(connector, connector.check({ signal: nobody }))));
        expect(secret.length).toBeGreaterThan(7);
        expect(JSON.stringify(shown)).not.toContain(secret);
      }),
    );

    describe("after its end", () => {
      test(
        "it refuses, however often it is ended",
        using(async (opened) => {
          const { connector, succeeds } = opened;
          await made(connector, succeeds);
          await Promise.all([connector[Symbol.asyncDispose](), connector[Symbol.asyncDispose]()]);
          await connector[Symbol.asyncDispose]();
          await failsWith(opened, made(connector, succeeds), "SERVER_UNAVAILABLE");
          await failsWith(opened, connector.check({ signal: nobody }), "SERVER_UNAVAILABLE");
        }),
      );

      test(
        "a call that was open has ended",
        using(async (opened) => {
          const { connector, hangs } = opened;
          await connector.check({ signal: nobody });
          const failed = errorOf(connector, made(connector, hangs));
          await connector[Symbol.asyncDispose]();
          expect(["SERVER_UNAVAILABLE", "CALL_ABORTED"]).toContain((await failed).code);
        }),
      );
    });
  });
}

function expectSchemas({ inputSchema, outputSchema }: BackendTool): void {
  for (const schema of [inputSchema, outputSchema]) {
    if (schema !== undefined) expect(typeof schema).toBe("object");
  }
}

/** All that a program may see of an error. */
function textsOf({ code, message, details }: ConnectorError): unknown {
  return { code, message, details };
}
