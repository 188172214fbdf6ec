/** The guest's URL compared with that of Node.js, on a table and on random inputs. */
import { array, assert, constantFrom, option, property, tuple } from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Guest, openGuest } from "./inside/testing/open-guest.ts";
import { BASES, INPUTS, INVALID_PUNYCODE, SETTERS } from "./inside/testing/url-cases.ts";
import { isReference } from "./inside/testing/reference.ts";

type Case = readonly [input: string, base: string | undefined];
const PARTS = ["href", "origin", "protocol", "username", "password", "host", "hostname", "port"] as const;
const MORE_PARTS = ["pathname", "search", "hash"] as const;

function describeNative([input, base]: Case): unknown {
  const url = URL.parse(input, base);
  if (url === null) return "failure";
  return [...PARTS, ...MORE_PARTS].map((part) => url[part]).concat(url.searchParams.toString());
}

let guest: Guest;
beforeAll(async () => {
  guest = await openGuest();
});
afterAll(() => {
  guest[Symbol.dispose]();
});

function describeGuest(cases: readonly Case[]): unknown[] {
  const parts = JSON.stringify([...PARTS, ...MORE_PARTS]);
  return guest.evaluate(
    `${JSON.stringify(cases)}.map(([input, base]) => {
      const url = URL.parse(input, base ?? undefined);
      return url === null ? "failure" : ${parts}.map((part) => url[part]).concat(url.searchParams.toString());
    })`,
  ) as unknown[];
}

function compare(cases: readonly Case[]): void {
  const ours = describeGuest(cases);
  const differences = cases.flatMap((one, index) => {
    const native = describeNative(one);
    return JSON.stringify(native) === JSON.stringify(ours[index])
      ? []
      : [{ case: one, native, ours: ours[index] }];
  });
  expect(differences).toEqual([]);
}

describe.skipIf(!isReference)("URL parses like Node's", () => {
  test("without a base", () => {
    compare(INPUTS.map((input) => [input, undefined]));
  });

  test.each(BASES)("against %s", (base) => {
    compare(INPUTS.map((input) => [input, base]));
  });

  test("except that invalid Punycode fails, as the standard says", () => {
    expect(describeGuest(INVALID_PUNYCODE.map((input) => [input, undefined]))).toEqual(
      INVALID_PUNYCODE.map(() => "failure"),
    );
  });

  const piece = constantFrom(
    ..."http https file ws ftp blob data mailto foo a b C x: : / // \\ . .. ./ ../ %2e %2E%2e ? # @ [ ] [::1] [1:2::3] 1 0x7f 256 80 443 :80 :443 | C| c: ~ ! $ & ' ( ) * + , ; = ^ ` { } < > \" % %zz %41 %80 é ü ☃ 例 localhost example.com user:pass@ \t \n \0".split(
      " ",
    ),
    " ",
    "\u{1F600}",
  );
  const prefix = constantFrom(
    "",
    "",
    "http://",
    "http:",
    "file:",
    "file://",
    "foo://",
    "foo:",
    "//",
    "wss://u@",
  );
  const soup = tuple(prefix, array(piece, { maxLength: 9 })).map(([head, rest]) => head + rest.join(""));

  test("on random soups of delimiters", () => {
    assert(
      property(
        array(tuple(soup, option(constantFrom(...BASES), { nil: undefined })), {
          minLength: 40,
          maxLength: 40,
        }),
        (cases) => {
          compare(cases);
        },
      ),
      { numRuns: 60, seed: 20_260_101 },
    );
  });
});

describe.skipIf(!isReference)("URL setters act like Node's", () => {
  test("on every subject, part and value", () => {
    const ours = guest.evaluate(
      `${JSON.stringify(SETTERS)}.map(([subject, part, value]) => {
        const url = new URL(subject);
        url[part] = value;
        return url.href;
      })`,
    ) as string[];
    const differences = SETTERS.flatMap(([subject, part, value], index) => {
      const url = new URL(subject);
      Reflect.set(url, part, value);
      return url.href === ours[index] ? [] : [{ subject, part, value, native: url.href, ours: ours[index] }];
    });
    expect(differences).toEqual([]);
  });
});
