import { describe, expect, test } from "vitest";
import { Bytes } from "../contract/connector.ts";
import { Artifacts } from "./artifacts.ts";

function bytesOf(text: string): Bytes {
  return new Bytes(Buffer.from(text));
}

describe("artifacts", () => {
  test("are told of by their size, hash and names", async () => {
    const artifacts = new Artifacts();
    const about = { mediaType: "text/plain", filename: "a.txt" };
    const artifact = await artifacts.keep(new Bytes(Buffer.from("abc"), about));
    expect(artifact).toEqual({
      uri: expect.stringMatching(/^artifact:[\da-f-]{36}$/u),
      byteLength: 3,
      sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
      ...about,
    });
    expect(Object.keys(await artifacts.keep(bytesOf("")))).toEqual(["uri", "byteLength", "sha256"]);
  });

  test("are read in parts, as copies", async () => {
    const artifacts = new Artifacts();
    const given = Buffer.from("abcdef");
    const { uri } = await artifacts.keep(new Bytes(given));
    given.fill(0);
    const read = (part?: { from?: number; count?: number }): string =>
      Buffer.from(artifacts.read(uri, part) ?? []).toString();
    expect(read()).toBe("abcdef");
    expect(read({ from: 2, count: 3 })).toBe("cde");
    expect(read({ from: 4, count: 100 })).toBe("ef");
    expect(read({ from: 7 })).toBe("");
    artifacts.read(uri)?.fill(0);
    expect(read()).toBe("abcdef");
    expect(artifacts.read("artifact:none")).toBeUndefined();
    expect(() => read({ from: -1 })).toThrow(RangeError);
    expect(() => read({ count: Number.NaN })).toThrow(RangeError);
  });

  test("make room for newer ones", async () => {
    const artifacts = new Artifacts({ maxBytes: 10, maxCount: 3 });
    const uris: string[] = [];
    const left = (): number[] => uris.flatMap((uri, at) => (artifacts.read(uri) === undefined ? [] : [at]));
    const keep = async (text: string): Promise<void> =>
      void uris.push((await artifacts.keep(bytesOf(text))).uri);
    for (const text of ["aaaa", "bbbb", "cc"]) await keep(text);
    expect(left()).toEqual([0, 1, 2]);
    await keep("d");
    expect(left()).toEqual([1, 2, 3]);
    await keep("eeee");
    expect(left()).toEqual([2, 3, 4]);
    await expect(artifacts.keep(bytesOf("x".repeat(11)))).rejects.toThrow(RangeError);
    expect(left()).toEqual([2, 3, 4]);
    await keep("x".repeat(10));
    expect(left()).toEqual([5]);
    artifacts[Symbol.dispose]();
    expect(left()).toEqual([]);
  });

  test("are refused with bounds that are none", () => {
    expect(() => new Artifacts({ maxBytes: 0 })).toThrow(RangeError);
    expect(() => new Artifacts({ maxCount: Number.NaN })).toThrow(RangeError);
  });
});
