import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { HOST } from "../guest/abi.ts";
import { PRELUDE_BYTECODE } from "../guest/prelude.generated.ts";
import { loadEngine } from "../sandbox/node/engine.ts";
import { equalRanges, Image } from "./image.ts";
import type { GuestStart, HostArguments, Vm, VmOwner } from "./vm.ts";

const START: GuestStart = {
  seed: "ab".repeat(32),
  toolNames: '["step"]',
  flags: 0,
  texts: [],
};

const image = new Image(await loadEngine(), Buffer.from(PRELUDE_BYTECODE, "base64"), equalRanges);
const MAX_PAGES = 1024;
const MEMORY_BYTES = 32 * 1024 * 1024;

class Owner implements VmOwner {
  readonly clock = 1_700_000_000_000;
  readonly heard: string[] = [];
  interrupt(): boolean {
    return false;
  }
  hostCall(kind: number, args: HostArguments): undefined {
    if (kind === HOST.call) this.heard.push(String(args.string(2, 1e6)));
    else if (kind === HOST.done) this.heard.push(String(args.string(1, 1e6)));
    else this.heard.push(`other ${kind}`);
  }
}

function begin(vm: Vm, body: string): Owner {
  const owner = new Owner();
  vm.owner = owner;
  vm.limit(MEMORY_BYTES, 256 * 1024);
  expect(vm.start(`(async()=>{\n${body}\n})`, START, () => {})).toBe("ok");
  expect(vm.runJobs()).toBe("ok");
  return owner;
}

const contents = (vm: Vm): Buffer => Buffer.from(vm.memory.buffer);

const programs = fc.constantFrom(
  "return 1",
  "globalThis.leak = 'secret'; return await tools.step({})",
  "const m = new Map(Array.from({ length: 500 }, (_, i) => [i, 'x'.repeat(i)])); await tools.step(m.size); return m.get(7)",
  "Object.prototype.polluted = 1; Array.prototype.push = null; await tools.step(1)",
  "const f = (n) => n ? 1 + f(n - 1) : 0; return f(200)",
  "try { null.x } catch (e) { await tools.step(e.message) }",
  "await Promise.all([1, 2, 3].map((n) => tools.step(n)))",
  "setTimeout(() => {}, 5); console.log('x'.repeat(5000)); return Math.random()",
);

describe("image", () => {
  test("after a reset the memory is the image again, whatever ran", () => {
    const vm = image.createVm(MAX_PAGES);
    fc.assert(
      fc.property(programs, (body) => {
        begin(vm, body);
        expect(image.reset(vm)).toBe(true);
        expect(contents(vm).equals(image.bytes)).toBe(true);
      }),
      { numRuns: 30 },
    );
  });

  test("a fresh instance equals the image", () => {
    expect(contents(image.createVm(MAX_PAGES)).equals(image.bytes)).toBe(true);
  });

  test("a cell that was parked and brought back elsewhere is the same cell", () => {
    fc.assert(
      fc.property(fc.nat({ max: 4 }), fc.nat({ max: 4 }), (first, second) => {
        const body = `let sum = 0; const seen = []; for (let i = 0; i < 9; i++) { sum += await tools.step({ i, sum }); seen.push(sum) } return seen`;
        const straight = image.createVm(MAX_PAGES);
        const heard = begin(straight, body);
        let vm = image.createVm(MAX_PAGES);
        const moved = begin(vm, body);
        for (let call = 0; call < 9; call++) {
          if (call === first || call === first + second) {
            const parked = image.park(vm);
            vm = image.createVm(MAX_PAGES);
            image.unpark(vm, parked);
            vm.owner = moved;
          }
          for (const one of [straight, vm]) {
            one.settle("resolve", call, String(call));
            one.runJobs();
          }
        }
        expect(moved.heard).toEqual(heard.heard);
        expect(heard.heard.at(-1)).toBe("[0,1,3,6,10,15,21,28,36]");
      }),
      { numRuns: 15 },
    );
  });

  test("a small waiting cell takes little memory", () => {
    const vm = image.createVm(MAX_PAGES);
    begin(vm, "return await tools.step({})");
    expect(image.park(vm).words.byteLength).toBeLessThan(64 * 1024);
  });

  test("an instance whose memory grew is not reused, but can be parked", () => {
    const vm = image.createVm(MAX_PAGES);
    const owner = begin(
      vm,
      "const big = new Uint8Array(4e6).fill(7); await tools.step({}); return big[3999999]",
    );
    expect(image.reset(vm)).toBe(false);
    const parked = image.park(vm);
    const other = image.createVm(MAX_PAGES);
    image.unpark(other, parked);
    other.owner = owner;
    other.settle("resolve", 0, "null");
    other.runJobs();
    expect(owner.heard).toEqual(["{}", "7"]);
  });

  test("a spoilt instance is not reused", () => {
    const vm = image.createVm(MAX_PAGES);
    vm.spoilt = true;
    expect(image.reset(vm)).toBe(false);
  });
});
