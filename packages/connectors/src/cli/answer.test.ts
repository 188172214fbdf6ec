import { describe, expect, test } from "vitest";
import { cli } from "./cli.ts";
import type { CliOutput } from "./options.ts";

const KEY = "-----BEGIN-----\nfirst-line-0123456789\nsecond-line-abcdefgh\n-----END-----\n";
const ACCOUNT = JSON.stringify({ type: "service", private_key: KEY, id: "0123456789" }, undefined, 2);

async function printed(text: string, output: CliOutput, secret: string): Promise<unknown> {
  await using connector = cli({
    id: "desk",
    secretEnv: { KEY: secret },
    commands: [{ name: "print", program: "printf", args: ["%s", text], output }],
  });
  const request = { signal: new AbortController().signal, idempotencyKey: "k" };
  return await connector.callTool("print", {}, request).then(
    ({ data }) => data,
    (error: unknown) => ({ refused: (error as Error).message }),
  );
}

describe("what a program prints", () => {
  test.each(["text", "lines", "json"] as const)(
    "as %s has no part of a secret of several lines",
    async (output) => {
      const written =
        output === "json" ? [JSON.stringify({ key: KEY }), JSON.stringify(KEY.split("\n"))] : [KEY];
      for (const one of written) {
        for (const text of [one, one.replaceAll("\n", "\r\n"), one.replaceAll("\\n", "\\r\\n")]) {
          const shown = JSON.stringify(await printed(text, output, KEY));
          expect(shown).not.toMatch(/first-line|second-line/u);
          expect(shown).toContain("[KEY]");
        }
      }
    },
  );

  test("has the rest of its lines", async () => {
    const text = `a\r\nfirst-line-0123456789\r\nb\n\n${KEY}c\n`;
    expect(await printed(text, "lines", KEY)).toEqual(["a", "[KEY]", "b", "", "[KEY]c"]);
  });

  test("as JSON has no value of a secret that is JSON itself", async () => {
    for (const text of [ACCOUNT, `{"account": ${ACCOUNT}}`, ACCOUNT.replaceAll("\n", "\r\n")])
      expect(JSON.stringify(await printed(text, "json", ACCOUNT))).not.toMatch(/first-line|0123456789/u);
    expect(await printed(JSON.stringify({ ACCOUNT }), "json", ACCOUNT)).toEqual({ ACCOUNT: "[KEY]" });
  });

  test("as JSON has no number that is a secret, and is otherwise what it was", async () => {
    const secret = "12345678901234567890";
    expect(await printed(`{"a": ${secret}, "b": 1${secret}, "c": [${secret}]}`, "json", secret)).toEqual({
      a: "[KEY]",
      b: Number(`1${secret}`),
      c: ["[KEY]"],
    });
    expect(await printed(String.raw`{"a": "\nsecret", "b": "\\nsecret"}`, "json", "nsecret")).toEqual({
      a: "\nsecret",
      b: String.raw`\[KEY]`,
    });
  });
});
