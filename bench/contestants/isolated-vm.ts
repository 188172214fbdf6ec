/**
 * isolated-vm: a fresh V8 isolate and context per run, tools behind one reference, JSON text across.
 *
 * This is the cheapest bridge with asynchronous calls: one reference for all tools, set up by one evaluation.
 */

import type { Contestant } from "./contestant.ts";
import { importPeer } from "./import-peer.ts";

interface Reference {
  readonly opaque: unique symbol;
}
interface Context {
  readonly global: { set(name: string, value: Reference): Promise<void> };
  eval(source: string, options: { timeout?: number; promise: true; copy: true }): Promise<unknown>;
}
interface Isolate {
  createContext(): Promise<Context>;
  dispose(): void;
}
interface IsolatedVm {
  readonly Isolate: new (options: { memoryLimit: number }) => Isolate;
  readonly Reference: new (
    callback: (name: string, inputText: string) => Promise<string> | string,
  ) => Reference;
}

const PRELUDE = `const tools = new Proxy({}, { get: (_, name) => async (input) => JSON.parse(
  await $call.apply(undefined, [name, JSON.stringify(input)], { result: { promise: true } })) });`;

export function createIsolatedVm(): Contestant {
  let ivm: IsolatedVm;
  return {
    id: "isolated-vm",
    name: "isolated-vm, fresh isolate",
    kind: "peer",
    engine: "v8",
    sandbox: true,
    stopsLoops: true,
    nodeFlags: ["--no-node-snapshot"],
    open: async () => {
      ({ default: ivm } = await importPeer<{ default: IsolatedVm }>("isolated-vm"));
    },
    run: async (source, tools, options = {}) => {
      const isolate = new ivm.Isolate({ memoryLimit: 64 });
      try {
        const context = await isolate.createContext();
        const call = new ivm.Reference(async (name, inputText) => {
          const execute = tools[name];
          if (execute === undefined) throw new Error(`No tool ${name}`);
          return JSON.stringify(await execute(JSON.parse(inputText)));
        });
        await context.global.set("$call", call);
        const script = `${PRELUDE}\n(async () => JSON.stringify(await (async () => {\n${source}\n})()))()`;
        const timeout = options.timeoutMs === undefined ? {} : { timeout: options.timeoutMs };
        const text = await context.eval(script, { ...timeout, promise: true, copy: true });
        return JSON.parse(String(text)) as unknown;
      } finally {
        isolate.dispose();
      }
    },
    close: async () => {},
  };
}
