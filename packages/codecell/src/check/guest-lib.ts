/**
 * Runs in the check's thread. Declares, as TypeScript, the globals of a program that the language does not have.
 *
 * - It declares what the guest's prelude installs and nothing else: no DOM, no Node.js. A test compares it with a
 *   real guest.
 * - It is loose where exact types would only produce advice that nobody needs.
 */

/** Parts of the compiler's own library. A version that lacks a part goes without it. */
export const LIB_PARTS: readonly string[] = [
  "es2024",
  "es2025",
  "esnext.array",
  "esnext.collection",
  "esnext.disposable",
  "esnext.error",
  "esnext.float16",
  "esnext.iterator",
  "esnext.promise",
  "esnext.typedarrays",
];

export const GUEST_LIB = `
interface Console {
  log(...values: unknown[]): void; info(...values: unknown[]): void; warn(...values: unknown[]): void;
  error(...values: unknown[]): void; debug(...values: unknown[]): void; trace(...values: unknown[]): void;
  table(...values: unknown[]): void; dir(...values: unknown[]): void; assert(condition?: unknown, ...values: unknown[]): void;
  [method: string]: (...values: any[]) => void;
}
declare var console: Console;
declare function setTimeout<Values extends unknown[]>(callback: (...values: Values) => unknown, delay?: number, ...values: Values): number;
declare function setInterval<Values extends unknown[]>(callback: (...values: Values) => unknown, delay?: number, ...values: Values): number;
declare function clearTimeout(id?: number | null): void;
declare function clearInterval(id?: number | null): void;
declare function queueMicrotask(callback: () => unknown): void;
declare function structuredClone<Value>(value: Value, options?: { transfer?: unknown[] }): Value;
declare function atob(text: string): string;
declare function btoa(text: string): string;
declare var performance: { now(): number; readonly timeOrigin: number; [key: string]: any };
declare var crypto: { randomUUID(): \`\${string}-\${string}-\${string}-\${string}-\${string}\`; getRandomValues<Values>(values: Values): Values; [key: string]: any };
declare class URLSearchParams {
  constructor(init?: string | string[][] | Iterable<[string, string]> | Record<string, string> | URLSearchParams);
  readonly size: number;
  append(name: string, value: string): void; delete(name: string, value?: string): void; get(name: string): string | null;
  getAll(name: string): string[]; has(name: string, value?: string): boolean; set(name: string, value: string): void;
  sort(): void; toString(): string;
  forEach(callback: (value: string, key: string, parent: URLSearchParams) => void): void;
  keys(): IterableIterator<string>; values(): IterableIterator<string>; entries(): IterableIterator<[string, string]>;
  [Symbol.iterator](): IterableIterator<[string, string]>;
}
declare class URL {
  constructor(url: string | URL, base?: string | URL);
  static canParse(url: string | URL, base?: string | URL): boolean; static parse(url: string | URL, base?: string | URL): URL | null;
  href: string; readonly origin: string; protocol: string; username: string; password: string; host: string; hostname: string;
  port: string; pathname: string; search: string; readonly searchParams: URLSearchParams; hash: string;
  toString(): string; toJSON(): string;
}
declare class Headers {
  constructor(init?: Headers | Iterable<readonly [string, string]> | string[][] | Record<string, string>);
  append(name: string, value: string): void; delete(name: string): void; get(name: string): string | null;
  has(name: string): boolean; set(name: string, value: string): void; getSetCookie(): string[];
  forEach(callback: (value: string, key: string, parent: Headers) => void): void;
  keys(): IterableIterator<string>; values(): IterableIterator<string>; entries(): IterableIterator<[string, string]>;
  [Symbol.iterator](): IterableIterator<[string, string]>;
}
declare class TextEncoder {
  readonly encoding: string; encode(text?: string): Uint8Array;
  encodeInto(text: string, target: Uint8Array): { read: number; written: number };
}
declare class TextDecoder {
  constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
  readonly encoding: string; readonly fatal: boolean; readonly ignoreBOM: boolean;
  decode(bytes?: ArrayBufferView | ArrayBufferLike, options?: { stream?: boolean }): string;
}
declare class Event { constructor(type: string, init?: object); readonly type: string; [key: string]: any; }
declare class EventTarget {
  constructor();
  addEventListener(type: string, listener: any, options?: any): void;
  removeEventListener(type: string, listener: any, options?: any): void;
  dispatchEvent(event: Event): boolean;
}
declare class AbortSignal extends EventTarget {
  static abort(reason?: unknown): AbortSignal; static timeout(milliseconds: number): AbortSignal;
  static any(signals: Iterable<AbortSignal>): AbortSignal;
  readonly aborted: boolean; readonly reason: any; onabort: any; throwIfAborted(): void;
}
declare class AbortController { constructor(); readonly signal: AbortSignal; abort(reason?: unknown): void; }
declare class DOMException extends Error { constructor(message?: string, name?: string); readonly code: number; [key: string]: any; }
`;
