/** TextEncoder and TextDecoder compared with those of Node.js, and the engine's own atob and btoa. */
import { array, assert, boolean, constantFrom, integer, property, string, uint8Array } from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Guest, openGuest } from "./inside/testing/open-guest.ts";
import { isReference } from "./inside/testing/reference.ts";

let guest: Guest;
beforeAll(async () => {
  guest = await openGuest();
});
afterAll(() => {
  guest[Symbol.dispose]();
});

type Step = { readonly bytes: readonly number[]; readonly stream: boolean };
type Decoding = {
  readonly label: string;
  readonly fatal: boolean;
  readonly ignoreBOM: boolean;
  readonly steps: readonly Step[];
};

function decodeNatively({ label, fatal, ignoreBOM, steps }: Decoding): string[] {
  const decoder = new TextDecoder(label, { fatal, ignoreBOM });
  return steps.map(({ bytes, stream }) => {
    try {
      return JSON.stringify(decoder.decode(Uint8Array.from(bytes), { stream }));
    } catch {
      return "TypeError";
    }
  });
}

function decodeInGuest(decodings: readonly Decoding[]): unknown {
  return guest.evaluate(`${JSON.stringify(decodings)}.map(({ label, fatal, ignoreBOM, steps }) => {
    const decoder = new TextDecoder(label, { fatal, ignoreBOM });
    return steps.map(({ bytes, stream }) => {
      try { return JSON.stringify(decoder.decode(Uint8Array.from(bytes), { stream })) } catch (error) { return error.name }
    });
  })`);
}

const interesting = constantFrom(
  0x00,
  0x41,
  0x7f,
  0x80,
  0x8f,
  0x90,
  0x9f,
  0xa0,
  0xbf,
  0xc0,
  0xc1,
  0xc2,
  0xdf,
  0xe0,
  0xe1,
  0xed,
  0xef,
  0xf0,
  0xf1,
  0xf4,
  0xf5,
  0xff,
  0xfe,
  0xbb,
  0xd8,
  0xdc,
);
const bytesOf = array(interesting, { maxLength: 12 });

describe("TextDecoder", () => {
  test("decodes utf-8 like Node's, also malformed, cut and streamed bytes", () => {
    const steps = array(bytesOf, { minLength: 1, maxLength: 4 });
    assert(
      property(
        array(steps, { minLength: 30, maxLength: 30 }),
        boolean(),
        boolean(),
        (runs, fatal, ignoreBOM) => {
          const decodings = runs.map((chunks) => ({
            label: "utf-8",
            fatal,
            ignoreBOM,
            steps: chunks.map((bytes, index) => ({ bytes, stream: !fatal && index + 1 < chunks.length })),
          }));
          expect(decodeInGuest(decodings)).toEqual(decodings.map((one) => decodeNatively(one)));
        },
      ),
      { numRuns: 60, seed: 7 },
    );
  });

  test.skipIf(!isReference)("decodes windows-1252 and whole utf-16le like Node's", () => {
    const all = Array.from({ length: 256 }, (_, byte) => byte);
    const decodings = [
      { label: "latin1", fatal: false, ignoreBOM: false, steps: [{ bytes: all, stream: false }] },
      {
        label: "utf-16le",
        fatal: false,
        ignoreBOM: false,
        steps: [{ bytes: [0xff, 0xfe, 0x41, 0, 0x3d, 0xd8, 0, 0xde], stream: false }],
      },
      {
        label: "utf-16",
        fatal: false,
        ignoreBOM: true,
        steps: [{ bytes: [0xff, 0xfe, 0x41, 0], stream: false }],
      },
      {
        label: "utf-16le",
        fatal: false,
        ignoreBOM: false,
        steps: [
          { bytes: [0x41], stream: true },
          { bytes: [0, 0x3d], stream: true },
          { bytes: [0xd8, 0, 0xde], stream: false },
        ],
      },
    ];
    expect(decodeInGuest(decodings)).toEqual(decodings.map((one) => decodeNatively(one)));
  });

  test("knows labels and refuses unknown ones", () => {
    expect(
      guest.evaluate(
        "[' UTF-8 ', 'utf8', 'ASCII', 'iso-8859-1', 'ucs-2'].map((label) => new TextDecoder(label).encoding)",
      ),
    ).toEqual(["utf-8", "utf-8", "windows-1252", "windows-1252", "utf-16le"]);
    expect(guest.evaluate("new TextDecoder('shift_jis')")).toMatch(/^RangeError: .*shift_jis/);
    expect(guest.evaluate("new TextDecoder('constructor')")).toMatch(/^RangeError/);
    expect(guest.evaluate("new TextDecoder().decode('text')")).toMatch(/^TypeError/);
  });

  test("reads buffers and views in place", () => {
    expect(
      guest.evaluate(`(() => {
        const buffer = new TextEncoder().encode("abcdef").buffer;
        return [buffer, new DataView(buffer, 1, 2), new Uint16Array(buffer, 2, 1)].map((source) => new TextDecoder().decode(source));
      })()`),
    ).toEqual(["abcdef", "bc", "cd"]);
  });
});

describe("TextEncoder", () => {
  test("encodes like Node's", () => {
    assert(
      property(
        array(string({ unit: "binary", maxLength: 40 }), { minLength: 20, maxLength: 20 }),
        (texts) => {
          const ours = guest.evaluate(
            `${JSON.stringify(texts)}.map((text) => [...new TextEncoder().encode(text)])`,
          );
          expect(ours).toEqual(texts.map((text) => [...new TextEncoder().encode(text)]));
        },
      ),
      { numRuns: 50, seed: 3 },
    );
  });

  test("encodes into a given array like Node's", () => {
    assert(
      property(string({ unit: "binary", maxLength: 12 }), integer({ min: 0, max: 20 }), (text, size) => {
        const native = new Uint8Array(size);
        const result = new TextEncoder().encodeInto(text, native);
        expect(
          guest.evaluate(
            `(() => { const into = new Uint8Array(${size}); return [new TextEncoder().encodeInto(${JSON.stringify(text)}, into), [...into]] })()`,
          ),
        ).toEqual([{ read: result.read, written: result.written }, [...native]]);
      }),
      { numRuns: 100, seed: 5 },
    );
  });

  test("splits long text between characters, not inside", () => {
    expect(
      guest.evaluate(`["x", "é", "€", "\u{1F600}", "a\u{1F600}"].every((unit) => {
        const text = unit.repeat(40_000);
        const bytes = new TextEncoder().encode(text);
        return new TextDecoder("utf-8", { fatal: true }).decode(bytes) === text;
      })`),
    ).toBe(true);
  });
});

test("btoa and atob agree with Node's, errors included", () => {
  assert(
    property(uint8Array({ maxLength: 30 }), string({ maxLength: 12 }), (bytes, text) => {
      const binary = String.fromCharCode(...bytes);
      const attempt = (call: () => string): string => {
        try {
          return call();
        } catch (error) {
          return (error as Error).name;
        }
      };
      expect(
        guest.evaluate(
          `[() => btoa(${JSON.stringify(binary)}), () => atob(${JSON.stringify(btoa(binary))}), () => atob(${JSON.stringify(text)}), () => btoa(${JSON.stringify(text)})].map((call) => { try { return call() } catch (error) { return error.name } })`,
        ),
      ).toEqual([btoa(binary), binary, attempt(() => atob(text)), attempt(() => btoa(text))]);
    }),
    { numRuns: 200, seed: 11 },
  );
});
