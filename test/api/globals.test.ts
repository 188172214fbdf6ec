/** A program sees exactly the globals that the guide lists. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ROOT } from "../sources.ts";
import { valueOf } from "./harness.ts";

test("a program sees exactly the globals that the guide lists [docs:true] [guest:no-ambient-authority]", async () => {
  const guide = readFileSync(`${ROOT}docs/guide/programs.md`, "utf8");
  const [list = ""] = /A program sees the language.*?\n[^]*?\. It does not/u.exec(guide) ?? [];
  const listed = [...list.matchAll(/`([\w.]+)`/gu)].map(([, name = ""]) => name.split(".")[0] ?? "");
  const timers = ["setTimeout", "setInterval", "clearTimeout", "clearInterval"];
  const seen = (await valueOf("return Object.getOwnPropertyNames(globalThis)")) as string[];
  // Globals of the language are in this realm too, and in the standard's list.
  const language = new Set(
    (
      "Object Function Error EvalError RangeError ReferenceError SyntaxError TypeError URIError AggregateError " +
      "SuppressedError Iterator Array parseInt parseFloat isNaN isFinite decodeURI decodeURIComponent encodeURI " +
      "encodeURIComponent escape unescape Infinity NaN undefined Number Boolean String Math Reflect Symbol " +
      "DisposableStack AsyncDisposableStack globalThis BigInt Date RegExp JSON Proxy Map Set WeakMap WeakSet " +
      "ArrayBuffer SharedArrayBuffer Uint8ClampedArray Int8Array Uint8Array Int16Array Uint16Array Int32Array " +
      "Uint32Array BigInt64Array BigUint64Array Float16Array Float32Array Float64Array DataView Promise WeakRef " +
      "FinalizationRegistry Atomics"
    ).split(" "),
  );
  const own = seen.filter((name) => !language.has(name));
  expect(own.toSorted()).toEqual([...new Set([...listed, ...timers])].toSorted());
});
