import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Bytes } from "../contract/connector.ts";
import { hideAtOnce, hideInData } from "./hide-in-data.ts";
import { largestTurnMs } from "../../../../test/fuzz/thread-time.ts";
import { HiddenTexts } from "./hidden-texts.ts";

const SECRET = 'pa/ss+w"o<r>d & grün=';

const html = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
const units = (text: string): string =>
  Array.from(text)
    .map((one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
const bytes = (text: string): string => [...Buffer.from(text)].map((one) => `%${one.toString(16)}`).join("");
const base64 = (text: string): string => Buffer.from(text).toString("base64");

const ENCODINGS: Readonly<Record<string, (text: string) => string>> = {
  "as it is": (text) => text,
  "percent-encoded": encodeURIComponent,
  "percent-encoded, every byte": bytes,
  "percent-encoded twice": (text) => encodeURIComponent(encodeURIComponent(text)),
  "in a form": (text) => new URLSearchParams({ a: text }).toString().slice(2),
  "in JSON": (text) => JSON.stringify(text),
  "in JSON with escaped slashes": (text) => JSON.stringify(text).replaceAll("/", "\\/"),
  "in JSON in JSON": (text) => JSON.stringify(JSON.stringify(text)),
  "in units": units,
  "in HTML": html,
  "in HTML by numbers": (text) =>
    Array.from(text)
      .map((one) => `&#${one.charCodeAt(0)};`)
      .join(""),
  "in HTML by hexadecimal numbers": (text) =>
    Array.from(text)
      .map((one) => `&#x${one.charCodeAt(0).toString(16)};`)
      .join(""),
  "in HTML in JSON": (text) => JSON.stringify(html(text)),
  "in base64": base64,
  "in base64, behind one byte": (text) => base64(`a${text}`),
  "in base64, within other text": (text) => base64(`ab${text}, and so on`),
  "in base64 for URLs": (text) => Buffer.from(`{"a":"${text}"}`).toString("base64url"),
  "in base64, percent-encoded": (text) => encodeURIComponent(base64(text)),
  "in hexadecimal": (text) => Buffer.from(text).toString("hex"),
  "in upper-case hexadecimal": (text) => Buffer.from(text).toString("hex").toUpperCase(),
};

/** Undoes what an encoding did, as whoever reads would. */
const DECODERS: Readonly<Record<string, (text: string) => string>> = {
  base64: (text) => Buffer.from(text, "base64").toString("latin1"),
  percent: (text) => decodeURIComponent(text.replaceAll("+", " ")),
};

describe("hidden texts", () => {
  test.each(Object.entries(ENCODINGS))("[handles:41] are found %s", (_, encode) => {
    const hidden = new HiddenTexts([SECRET]);
    const shown = hidden.hide(`before ${encode(SECRET)} after`);
    expect(shown).toContain("[hidden]");
    expect(shown.startsWith("before ") && shown.endsWith(" after")).toBe(true);
    for (const decode of Object.values(DECODERS)) expect(decode(shown)).not.toContain("ss+w");
  });

  test("are replaced by their names, also where they overlap", () => {
    const hidden = new HiddenTexts([
      { text: "abcab", name: "A", isAnyLength: true },
      { text: "cabx", name: "B", isAnyLength: true },
    ]);
    expect(hidden.hide("abcab")).toBe("[A]");
    expect(hidden.hide("-abcabcab-")).toBe("-[A]-");
    expect(hidden.hide("abcabx")).toBe("[A]");
    expect(hidden.hide("abcababcab")).toBe("[A][A]");
    expect(hidden.hide("nothing")).toBe("nothing");
  });

  test("are not looked for if they are short", () => {
    expect(new HiddenTexts(["on", "true"]).isEmpty).toBe(true);
    expect(new HiddenTexts(["on"]).hide("on and on")).toBe("on and on");
  });

  test("are found in data, in names and in numbers", async () => {
    const hidden = new HiddenTexts(["sk-12345", "123456"]);
    const data = { a: ["sk-12345", 1, null, 123_456], "sk-12345": "on" };
    const shown = { a: ["[hidden]", 1, null, "[hidden]"], "[hidden]": "on" };
    expect(hideAtOnce(data, hidden)).toEqual(shown);
    expect(await hideInData(data, hidden)).toEqual(shown);
    const clean = { a: ["sk-1234", new Bytes(new Uint8Array([1]))] };
    expect(await hideInData(clean, hidden)).toBe(clean);
  });

  test("that have escapes themselves are found, escaped or not", () => {
    for (const secret of ["50%25-off-%41", String.raw`C:\new\u0041\x`, "a&amp;b&#65;c"]) {
      for (const encode of Object.values(ENCODINGS)) {
        const shown = new HiddenTexts([secret]).hide(`<${encode(secret)}>`);
        expect(shown, encode(secret)).toContain("[hidden]");
      }
    }
  });

  test("are found wherever they are in a long text", () => {
    const hidden = new HiddenTexts([SECRET]);
    const long = `${"x".repeat(262_130)}${SECRET}${"\\u0041".repeat(50_000)}${JSON.stringify(SECRET)}`;
    expect(hidden.hide(long)).toBe(`${"x".repeat(262_130)}[hidden]${"\\u0041".repeat(50_000)}"[hidden]"`);
  });

  test("make no text that repeats itself slow", () => {
    const hidden = new HiddenTexts(["a".repeat(60_000)]);
    expect(hidden.hide("a".repeat(2_000_000))).toBe("[hidden]");
  });

  test("leave nothing of a text that was cut, and show nothing by what they leave", () => {
    const hidden = new HiddenTexts(["0123456789"]);
    const { longest } = hidden;
    const filler = "x".repeat(longest);
    for (let at = 0; at < 10; at++) {
      const rest = "0123456789".slice(at);
      expect(hidden.hideCut(`${rest}${filler} end`, { start: true })).not.toContain(rest);
      expect(hidden.hideCut(`begin ${filler}${rest}`, { end: true })).not.toContain("0");
      // Whoever guesses the end of a secret sees the same for a right guess and for a wrong one.
      const guess = hidden.hideCut(`${rest}${filler}`, { start: true });
      expect(guess).toBe(hidden.hideCut(`${"?".repeat(rest.length)}${filler}`, { start: true }));
    }
    expect(hidden.hideCut(`${filler}0123456789 end`, { start: true })).toBe("[hidden] end");
  });

  test("are nowhere in what is shown", () => {
    const unit = fc.constantFrom("x", "y", '"', "%", "4", "1", "\\", "&", ";", "#");
    const word = fc.string({ unit, minLength: 6, maxLength: 12 });
    fc.assert(
      fc.property(word, fc.array(fc.constantFrom("-", "x", "%41", "S", "\\\\", "&#65;")), (secret, parts) => {
        const text = parts.map((part) => (part === "S" ? secret : part)).join("");
        expect(new HiddenTexts([secret]).hide(text)).not.toContain(secret);
      }),
    );
  });

  test("are found in data that has itself in it, is deep, and has bytes and names of files", async () => {
    const hidden = new HiddenTexts([SECRET]);
    const file = new Bytes(Buffer.from(`a ${SECRET}`), { filename: SECRET, mediaType: "text/plain" });
    const round: Record<string, unknown> = { file, again: file };
    round["self"] = round;
    let deep: unknown = SECRET;
    for (let depth = 0; depth < 20_000; depth++) deep = [deep];
    const shown = (await hideInData({ round, deep, __proto__: null }, hidden)) as { round: typeof round };
    expect(shown.round["self"]).toBe(shown.round);
    expect(shown.round["again"]).toBe(shown.round["file"]);
    const shownFile = shown.round["file"] as Bytes;
    expect(shownFile).toBeInstanceOf(Bytes);
    expect([shownFile.filename, shownFile.mediaType]).toEqual(["[hidden]", "text/plain"]);
    expect(Buffer.from(shownFile.bytes).toString()).toBe(`a ${"*".repeat(Buffer.byteLength(SECRET))}`);
  });

  test("are found in bytes, which stay as many", () => {
    const hidden = new HiddenTexts([SECRET]);
    for (const encoded of [
      Buffer.from(SECRET),
      Buffer.from(JSON.stringify(SECRET)),
      Buffer.from(SECRET, "utf16le"),
    ]) {
      const given = Buffer.concat([Buffer.from([0, 255, 1]), encoded, Buffer.from([0, 254])]);
      const steps = hidden.hidingInBytes(given).next();
      const shown = Buffer.from(steps.value as Uint8Array);
      expect(shown.length).toBe(given.length);
      expect([shown.includes("ss+w"), shown.includes('w\0"\0')]).toEqual([false, false]);
      expect([...shown.subarray(0, 3), ...shown.subarray(-2)]).toEqual([0, 255, 1, 0, 254]);
    }
  });
});

describe("hidden texts under many escapes", () => {
  const entities = (text: string): string =>
    Array.from(text, (one) => `&#${String(one.charCodeAt(0)).padStart(7, "0")};`).join("");
  const deep = units(entities("deep-secret-0123456789")).replaceAll("\\", "%5C");

  test("are found where windows meet", () => {
    const hidden = new HiddenTexts(["deep-secret-0123456789"]);
    expect(deep.length).toBeGreaterThan(22 * 54);
    for (let before = 32 * 1024 - deep.length - 50; before < 32 * 1024 + 50; before += 7) {
      const text = `${"-".repeat(before)}${deep}${"-".repeat(40_000)}`;
      expect(hidden.hide(text)).toBe(`${"-".repeat(before)}[hidden]${"-".repeat(40_000)}`);
    }
  });

  test("are left out of a text that was cut", () => {
    const hidden = new HiddenTexts(["deep-secret-0123456789"]);
    for (const at of [9 * 72, 9 * 72 + 3, 15 * 72, 20 * 72 + 40]) {
      const [text, rest] = [`begin ${"x".repeat(5000)}${deep.slice(0, at)}`, deep.slice(at)];
      const undone = (one: string): string =>
        one
          .replaceAll("%5C", "\\")
          .replaceAll(/\\u00(..)/gu, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
      const shown = undone(hidden.hideCut(text, { end: true }));
      expect(shown.startsWith("begin xxx")).toBe(true);
      expect(shown).not.toContain("&#0000");
      const end = undone(hidden.hideCut(`${rest}${"x".repeat(5000)} end`, { start: true }));
      expect(end.endsWith("xxx end")).toBe(true);
      expect(end).not.toContain("&#0000");
    }
  });

  test("are the same, whatever the windows are", () => {
    const unit = fc.constantFrom(
      "%",
      "4",
      "1",
      "\\",
      "u",
      "0",
      "&",
      "#",
      ";",
      "a",
      "%5C",
      "&amp;",
      "\\\\",
      "%25",
    );
    const short = new HiddenTexts(["A\\u0041&"]);
    const many = new HiddenTexts([
      "A\\u0041&",
      ...Array.from({ length: 200 }, (_, at) => `never-there-${at}`),
    ]);
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 300 }), (parts) => {
        const text = parts.join("").repeat(9);
        expect(many.hide(text)).toBe(short.hide(text));
      }),
      { numRuns: 200 },
    );
  });
});

describe("the host's thread", () => {
  const bound = { attempts: 4, enough: 30 };
  const many = Array.from({ length: 60 }, (_, at) => `secret-with-number-${at}-and-more`);

  test.each([
    ["a text full of them", ["abcdef"], "abcdef-".repeat(1_000_000)],
    ["a text full of escapes", ["abcdef"], "\\u0041".repeat(400_000)],
    ["many needles and a long text", many, "s".repeat(3_000_000)],
    ["a long secret", ["-key-".repeat(12_000)], "-key-".repeat(600_000)],
  ])("is not held by %s", async (_, secrets, text) => {
    const hidden = new HiddenTexts(secrets);
    const work = (): Promise<unknown> => hideInData([text], hidden);
    expect(await largestTurnMs(() => work, bound)).toBeLessThan(50);
  });

  test("is not held by many short texts, whatever the number of needles is", async () => {
    const hidden = new HiddenTexts(many);
    const texts = Array.from({ length: 60_000 }, (_, at) => `an item that is short ${at}`);
    const work = (): Promise<unknown> => hideInData([...texts, many[3]], hidden);
    expect(await largestTurnMs(() => work, bound)).toBeLessThan(50);
  });
});

describe("what is shown", () => {
  test("loses no value where two names become the same", async () => {
    const hidden = new HiddenTexts(["secret-a", "secret-b"]);
    const data = { "secret-a": 1, "secret-b": 2, "[hidden]": 3 };
    expect(await hideInData(data, hidden)).toEqual({ "[hidden] 2": 1, "[hidden] 3": 2, "[hidden]": 3 });
  });

  test("has other numbers as they are, and hides what is left of a number that was parsed", async () => {
    const hidden = new HiddenTexts(["123456", "12345678901234567890"]);
    const data = [1_234_567, 123_456.5, 123_456, Number("12345678901234567890")];
    expect(await hideInData(data, hidden)).toEqual([1_234_567, 123_456.5, "[hidden]", "[hidden]"]);
  });

  test("has no line of a secret of several lines, with either line break", () => {
    const hidden = new HiddenTexts(["-----BEGIN\nfirst-line-of-it\nsecond-line-of-it\nend\n"]);
    expect(hidden.hide("> first-line-of-it <")).toBe("> [hidden] <");
    expect(hidden.hide("a -----BEGIN\r\nfirst-line-of-it\r\nsecond-line-of-it\r\nend\r\n b")).toBe(
      "a [hidden] b",
    );
  });

  test.each([
    ["percent-encoded", bytes(SECRET)],
    ["in units", units(SECRET)],
    ["in Latin-1", SECRET],
    ["in JSON in hexadecimal units", units(SECRET).replaceAll("\\u00", "\\x")],
  ])("has no text beyond ASCII in bytes, %s", (_, text) => {
    const given = Buffer.from(`<${text}>`, "latin1");
    const shown = hideAtOnce(new Bytes(given), new HiddenTexts([SECRET])).bytes;
    expect(Buffer.from(shown).toString("latin1")).toBe(`<${"*".repeat(text.length)}>`);
  });
});

describe("texts that are learnt later", () => {
  test("are hidden from then on, in every form, in texts and in bytes", () => {
    const hidden = new HiddenTexts(["given-secret"]);
    expect(hidden.hide("learnt-secret")).toBe("learnt-secret");
    hidden.learn(["learnt-secret", "short"]);
    expect(hidden.hide(`given-secret ${base64("xlearnt-secret")} learnt-secret short`)).toMatch(
      /^\[hidden\] [^ ]*\[hidden\][^ ]* \[hidden\] short$/u,
    );
    expect(hideAtOnce(new Bytes(Buffer.from("learnt-secret")), hidden).bytes).toEqual(
      new Uint8Array(Buffer.from("*".repeat(13))),
    );
  });

  test("make hidden what had nothing to hide", () => {
    const hidden = new HiddenTexts([]);
    expect(hidden.isEmpty).toBe(true);
    hidden.learn(["learnt-secret"]);
    expect(hidden.isEmpty).toBe(false);
    expect(hidden.longest).toBeGreaterThan(12);
  });

  test("are the newest ones, and what was given stays", () => {
    const hidden = new HiddenTexts(["given-secret"]);
    const learnt = Array.from({ length: 40 }, (_, index) => `learnt-secret-${index}-`);
    for (const one of learnt) hidden.learn([one, "again-and-again"]);
    expect(hidden.hide(learnt[0] ?? "")).toBe(learnt[0]);
    for (const one of [...learnt.slice(-20), "again-and-again", "given-secret"])
      expect(hidden.hide(one)).toBe("[hidden]");
  });
});
