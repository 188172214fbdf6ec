import { describe, expect, test } from "vitest";
import { Bytes } from "../contract/connector.ts";
import { Artifacts } from "./artifacts.ts";
import { withReferences } from "./references.ts";

function refuse(problem: string): never {
  throw new Error(problem);
}

function bytesOf(text: string): Bytes {
  return new Bytes(Buffer.from(text));
}

describe("references", () => {
  test("stand where bytes were, and all else is as it was", async () => {
    const artifacts = new Artifacts();
    const image = bytesOf("image");
    const data = JSON.parse('{"a":[1,null,{"__proto__":{"b":"c"}}],"d":false}') as Record<string, unknown>;
    const given = { ...data, images: [image, "text", image], one: bytesOf("") };
    const made = (await withReferences(given, artifacts, refuse)) as typeof given;
    const { uri } = made.images[0] as unknown as { uri: string };
    expect(Buffer.from(artifacts.read(uri) ?? []).toString()).toBe("image");
    expect(made.images[2]).toEqual(made.images[0]);
    expect(made.one).toMatchObject({ byteLength: 0 });
    expect(JSON.stringify({ ...made, images: 0, one: 0 })).toBe(
      JSON.stringify({ ...data, images: 0, one: 0 }),
    );
    expect(given.images[0]).toBe(image);
  });

  test("are not made where there are no bytes", async () => {
    for (const data of [undefined, null, "", 0, [], { a: [undefined, { b: null }] }])
      expect(await withReferences(data, new Artifacts(), refuse)).toBe(data);
  });

  test("are made of bytes alone", async () => {
    expect(await withReferences(bytesOf("abc"), new Artifacts(), refuse)).toMatchObject({ byteLength: 3 });
  });

  test("are found behind undefined", async () => {
    const made = await withReferences([undefined, bytesOf("a"), undefined], new Artifacts(), refuse);
    expect(made).toEqual([undefined, expect.objectContaining({ byteLength: 1 }), undefined]);
  });

  test("are made however deep the data is, and if it contains itself", async () => {
    let deep: unknown = bytesOf("x");
    for (let depth = 0; depth < 100_000; depth++) deep = [deep];
    let made = await withReferences(deep, new Artifacts(), refuse);
    while (Array.isArray(made)) made = made[0] as unknown;
    expect(made).toMatchObject({ byteLength: 1 });
    const round: unknown[] = [bytesOf("y")];
    round.push(round);
    const copy = (await withReferences(round, new Artifacts(), refuse)) as unknown[];
    expect(copy[1]).toBe(copy);
  });

  test("leave the event loop its turns while large data is read", async () => {
    const turnsOf = async (data: unknown): Promise<number> => {
      let turns = 0;
      let isOver = false;
      const count = (): void => {
        turns++;
        if (!isOver) setImmediate(count);
      };
      setImmediate(count);
      await withReferences(data, new Artifacts(), refuse);
      isOver = true;
      return turns;
    };
    const numbers: unknown[] = Array.from({ length: 400_000 }, (_, at) => at);
    const without = await turnsOf(numbers);
    expect(without).toBeGreaterThanOrEqual(19);
    expect(await turnsOf([...numbers, bytesOf("x")])).toBeGreaterThan(without + 15);
    expect(await turnsOf([1, 2, 3])).toBe(0);
  });

  test("are all kept, or none", async () => {
    const artifacts = new Artifacts({ maxBytes: 10, maxCount: 2 });
    const { uri } = await artifacts.keep(bytesOf("old"));
    const six = (): Bytes => bytesOf("123456");
    await expect(withReferences([six(), six()], artifacts, refuse)).rejects.toThrow(
      "its 2 files have 12 bytes, 2 files with 10 bytes can be kept",
    );
    const three = [bytesOf(""), bytesOf(""), bytesOf("")];
    await expect(withReferences(three, artifacts, refuse)).rejects.toThrow("its 3 files");
    expect(artifacts.read(uri)).toBeDefined();
  });
});
