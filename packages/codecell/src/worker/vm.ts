/**
 * Runs in a worker thread. Vm is one engine instance, driven directly through its exports.
 *
 * - A vm knows nothing of runs: an owner takes it, enters it, and gives it back or throws it away.
 * - A vm never reads guest values as objects: only strings and numbers that the prelude handed over cross here.
 * - Every address that a vm keeps was made while the base image was built, so it holds in every copy of that image.
 * - An instance that trapped, was interrupted or lost its stack pointer is spoilt. Nobody may enter it again.
 */
import { GUEST, SOURCE_FILE, TEXT_FEATURES } from "../guest/abi.ts";
import { ENGINE_INITIAL_PAGES, type EngineExport } from "./engine-module.ts";

type EngineFunctions = Record<Exclude<EngineExport, "__stack_pointer">, (...args: number[]) => number>;
type EngineExports = EngineFunctions & { readonly __stack_pointer: WebAssembly.Global };

/** Who is inside the vm: answers what the guest asks of the outside. */
export interface VmOwner {
  /** Milliseconds since the epoch. */
  readonly clock: number;
  /** Whether guest code must stop now. */
  interrupt(): boolean;
  /** Takes one message of the prelude. The guest gets the returned text, or what the returned bytecode evaluates to. */
  hostCall(kind: number, args: HostArguments): HostAnswer;
}

/** A text, or bytecode of our own. */
export type HostAnswer = string | Uint8Array | undefined;

export interface HostArguments {
  number(index: number): number;
  /** The text, or its length in UTF-8 bytes if it is longer than `maxBytes`. */
  string(index: number, maxBytes: number): string | number;
}

/** Why the engine cannot go on: no memory for a string or a job, a trap, or no place for its memory at all. */
type VmFaultReason = "memory" | "trap" | "space";

export class VmFault extends Error {
  override readonly name = "VmFault";
  readonly reason: VmFaultReason;

  constructor(reason: VmFaultReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** How an entry into the guest ended. */
export type VmOutcome = "ok" | "interrupted" | "failed";

/** Fixed addresses inside the base image. */
export interface VmAddresses {
  readonly stackPointer: number;
  /** Room for short strings and argument lists. */
  readonly scratch: number;
  /** Handles of the prelude's functions, in the order of `GUEST`. */
  readonly functions: readonly number[];
  readonly undefinedValue: number;
  readonly sourceFile: number;
}

const SCRATCH_BYTES = 8192;
/** A start has the most arguments: three, and one text for each feature that has a text. */
const ARGV_BYTES = 4 * (3 + TEXT_FEATURES.length);
const EVAL_BACKTRACE_BARRIER = 1 << 6;
const HEAP_RESERVE_BYTES = 1024 * 1024;
const LARGEST_PLUG_BYTES = 4096;
const SMALLEST_PLUG_BYTES = 8;
const MAX_PAGES = 65_536;
/** A collection touches every object, so a short run should end before its first collection. */
const GC_THRESHOLD_BYTES = 2 * 1024 * 1024;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** What a program starts with, beside its script. */
export interface GuestStart {
  readonly seed: string;
  readonly toolNames: string;
  /** Sum of FEATURE_FLAGS. */
  readonly flags: number;
  /** The texts of the features that have a text. */
  readonly texts: readonly string[];
}

export class Vm implements HostArguments {
  readonly memory: WebAssembly.Memory;
  readonly maxPages: number;
  owner: VmOwner | undefined;
  spoilt = false;
  #engine: EngineExports;
  #bytes: Uint8Array<ArrayBuffer>;
  /** How much memory the guest may use. */
  #memoryBytes = Infinity;
  #view: DataView<ArrayBuffer>;
  #addresses: VmAddresses | undefined;
  #argv = 0;

  constructor(module: WebAssembly.Module, maxPages: number = MAX_PAGES) {
    this.maxPages = maxPages;
    this.memory = new WebAssembly.Memory({ initial: ENGINE_INITIAL_PAGES, maximum: maxPages });
    this.#bytes = new Uint8Array(this.memory.buffer as ArrayBuffer);
    this.#view = new DataView(this.memory.buffer as ArrayBuffer);
    // Each function has as many parameters as its signature: sandbox/node/import-wrappers.ts counts on that.
    const instance = new WebAssembly.Instance(module, {
      env: {
        memory: this.memory,
        host_call: (_name: number, _length: number, _this: number, argc: number, argv: number) =>
          this.#hostCall(argc, argv),
        host_interrupt: () => (this.owner?.interrupt() === false ? 0 : 1),
        host_promise_rejection: (promise: number, reason: number, isHandled: number) =>
          this.#track(promise, reason, isHandled),
        host_module_normalize: (_base: number, _name: number) => 0,
        host_module_load: (_name: number, _length: number) => 0,
        host_get_timezone_offset: (_low: number, _high: number) => 0,
      },
      wasi_snapshot_preview1: {
        clock_time_get: (_id: number, _precision: bigint, result: number) => {
          const milliseconds = Math.floor(this.owner?.clock ?? 0);
          this.#memory();
          this.#view.setBigUint64(result, BigInt(milliseconds) * 1_000_000n, true);
          return 0;
        },
        // The engine asks only while the base image is built. The guest's randomness comes from its seed.
        random_get: (address: number, length: number) => {
          this.#memory().fill(0, address, address + length);
          return 0;
        },
        fd_close: (_fd: number) => 8,
        fd_fdstat_get: (_fd: number, _result: number) => 8,
        fd_seek: (_fd: number, _offset: bigint, _whence: number, _result: number) => 8,
        fd_write: (_fd: number, _buffers: number, _count: number, _result: number) => 8,
      },
    });
    this.#engine = instance.exports as unknown as EngineExports;
  }

  /** Starts the engine and the prelude. Each worker does this once, for the base image. */
  build(prelude: Uint8Array): VmAddresses {
    const engine = this.#engine;
    engine._initialize();
    if (engine.qjs_init() !== 0) throw new VmFault("trap", "The engine did not start");
    engine.qjs_set_max_stack_size(256 * 1024);
    const scratch = engine.wasm_malloc(SCRATCH_BYTES);
    this.#addresses = {
      stackPointer: Number(engine.__stack_pointer.value),
      scratch,
      functions: [],
      undefinedValue: engine.qjs_get_undefined(),
      sourceFile: this.#allocate(`${SOURCE_FILE}\0`).address,
    };
    const factory = this.#checked(this.#evaluate(prelude));
    const hostName = this.#allocate("host\0");
    const host = engine.qjs_new_host_function(hostName.address, hostName.length - 1, 0);
    const list = this.#checked(this.#invoke(factory, host));
    const functions = Object.values(GUEST).map((index) => engine.qjs_get_prop_uint32(list, index));
    engine.qjs_free_value(list);
    engine.qjs_free_value(factory);
    engine.qjs_set_interrupt_handler(1);
    engine.qjs_set_promise_rejection_handler(1);
    engine.qjs_run_gc();
    // The guest can use this heap before the memory has to grow. Its pages stay untouched until then.
    const reserve = engine.wasm_malloc(HEAP_RESERVE_BYTES);
    this.#plugHoles(reserve);
    engine.wasm_free(reserve);
    this.#addresses = { ...this.#addresses, functions };
    return this.#addresses;
  }

  /** Makes this instance go on from memory that was copied into it. */
  adopt(addresses: VmAddresses): void {
    this.#addresses = addresses;
    this.#engine.__stack_pointer.value = addresses.stackPointer;
    this.#memory();
  }

  limit(memoryBytes: number, stackBytes: number): void {
    this.limitAgain(memoryBytes, stackBytes);
    this.#engine.qjs_set_gc_threshold(Math.min(GC_THRESHOLD_BYTES, memoryBytes / 2));
  }

  /** For a guest that has run already: it keeps its collection threshold, which is part of its state. */
  limitAgain(memoryBytes: number, stackBytes: number): void {
    this.#memoryBytes = memoryBytes;
    this.#engine.qjs_set_memory_limit(memoryBytes);
    this.#engine.qjs_set_max_stack_size(stackBytes);
  }

  /**
   * Evaluates a script to an async function and, if that succeeds, calls the function. The call comes from here and not
   * from the prelude, because the prelude's frames would lie below every call the program makes.
   */
  start(script: string, { seed, toolNames, flags, texts }: GuestStart, onCompiled: () => void): VmOutcome {
    const engine = this.#engine;
    const text = this.#allocate(`${script}\0`);
    const program = engine.qjs_eval(
      text.address,
      text.length - 1,
      this.#fixed.sourceFile,
      EVAL_BACKTRACE_BARRIER,
    );
    engine.wasm_free(text.address);
    if (engine.qjs_is_exception(program) !== 0) return this.#uncaught();
    onCompiled();
    const outcome = this.#callGuest(
      GUEST.start,
      this.#newString(seed),
      this.#newString(toolNames),
      engine.qjs_new_number(flags),
      ...texts.map((one) => this.#newString(one)),
    );
    if (outcome !== "ok") return outcome;
    const result = this.#invoke(program);
    engine.qjs_free_value(program);
    if (engine.qjs_is_exception(result) !== 0) return this.#uncaught();
    return this.#callGuest(GUEST.conclude, result);
  }

  settle(kind: "resolve" | "reject", call: number, json: string): VmOutcome {
    return this.#callGuest(GUEST[kind], this.#engine.qjs_new_number(call), this.#newString(json));
  }

  fire(timer: number): VmOutcome {
    return this.#callGuest(GUEST.fire, this.#engine.qjs_new_number(timer));
  }

  finish(): VmOutcome {
    return this.#callGuest(GUEST.finish);
  }

  /** Runs the job queue until it is empty. */
  runJobs(): VmOutcome {
    const engine = this.#engine;
    this.#assertNothingLost();
    while (engine.qjs_is_job_pending() !== 0) {
      if (engine.qjs_execute_pending_job() < 0) {
        const outcome = this.#uncaught();
        if (outcome !== "ok") return outcome;
      }
    }
    return "ok";
  }

  /** Whether an entry left the engine in the state that it must have between deliveries. */
  isSettled(): boolean {
    return Number(this.#engine.__stack_pointer.value) === this.#fixed.stackPointer;
  }

  number(index: number): number {
    return this.#engine.qjs_get_float64(this.#argument(index));
  }

  string(index: number, maxBytes: number): string | number {
    const lengthAt = this.#fixed.scratch + SCRATCH_BYTES - ARGV_BYTES;
    const address = this.#engine.qjs_get_string_len(this.#argument(index), lengthAt);
    if (address === 0) throw new VmFault("memory", "No memory for a string");
    const memory = this.#memory();
    const length = this.#view.getUint32(lengthAt, true);
    const text = length > maxBytes ? length : decoder.decode(memory.subarray(address, address + length));
    this.#engine.qjs_free_cstring(address);
    return text;
  }

  get #fixed(): VmAddresses {
    if (this.#addresses === undefined) throw new VmFault("trap", "The vm has no image");
    return this.#addresses;
  }

  #callGuest(which: number, ...args: number[]): VmOutcome {
    const engine = this.#engine;
    const result = this.#invoke(this.#fixed.functions[which] ?? 0, ...args);
    for (const argument of args) engine.qjs_free_value(argument);
    const failed = engine.qjs_is_exception(result) !== 0;
    engine.qjs_free_value(result);
    return failed ? this.#uncaught() : "ok";
  }

  /**
   * When the engine has no memory for a job, it drops the job and goes on. The only trace is an exception that was
   * thrown to nobody. A program must not end as if the dropped job had happened.
   */
  #assertNothingLost(): void {
    if (this.memory.buffer.byteLength < this.#memoryBytes / 2) return;
    const exception = this.#engine.qjs_get_exception();
    this.#memory();
    const kindOf = (value: number): number => this.#view.getUint32(value + 4, true);
    const isThere = kindOf(exception) === kindOf(this.#fixed.functions[GUEST.uncaught] ?? 0);
    this.#engine.qjs_free_value(exception);
    if (isThere) throw new VmFault("memory", "No memory for a job");
  }

  /** Hands an exception that no guest code caught to the prelude, which reports it. */
  #uncaught(): VmOutcome {
    const engine = this.#engine;
    const exception = engine.qjs_get_exception();
    if (this.owner?.interrupt() !== false) return "interrupted";
    const result = this.#invoke(this.#fixed.functions[GUEST.uncaught] ?? 0, exception);
    engine.qjs_free_value(exception);
    const failed = engine.qjs_is_exception(result) !== 0;
    engine.qjs_free_value(result);
    return failed ? "failed" : "ok";
  }

  #invoke(callee: number, ...args: number[]): number {
    const { scratch, undefinedValue } = this.#fixed;
    this.#memory();
    const argv = scratch + SCRATCH_BYTES - ARGV_BYTES;
    for (let index = 0; index < args.length; index++) {
      this.#view.setUint32(argv + index * 4, args[index] ?? 0, true);
    }
    return this.#engine.qjs_call(callee, undefinedValue, args.length, argv);
  }

  #hostCall(argc: number, argv: number): number {
    const owner = this.owner;
    if (owner === undefined || argc === 0) return this.#engine.qjs_get_undefined();
    this.#argv = argv;
    const answer = owner.hostCall(this.number(0), this);
    if (answer === undefined) return this.#engine.qjs_get_undefined();
    return typeof answer === "string" ? this.#newString(answer) : this.#evaluate(answer);
  }

  /** The guest gets an exception, such as a lack of memory, as the exception that it is. */
  #evaluate(bytecode: Uint8Array): number {
    const engine = this.#engine;
    const code = engine.wasm_malloc(bytecode.length);
    if (code === 0) throw new VmFault("memory", "No memory for a part of the prelude");
    this.#memory().set(bytecode, code);
    const value = engine.qjs_eval_bytecode(code, bytecode.length);
    engine.wasm_free(code);
    return value;
  }

  #track(promise: number, reason: number, isHandled: number): void {
    const handled = this.#engine.qjs_new_number(isHandled);
    const result = this.#invoke(this.#fixed.functions[GUEST.track] ?? 0, promise, reason, handled);
    for (const value of [promise, reason, handled, result]) this.#engine.qjs_free_value(value);
  }

  #argument(index: number): number {
    this.#memory();
    return this.#view.getUint32(this.#argv + index * 4, true);
  }

  #newString(text: string): number {
    const { scratch } = this.#fixed;
    if (text.length * 3 <= SCRATCH_BYTES - ARGV_BYTES) {
      const room = this.#memory().subarray(scratch, scratch + SCRATCH_BYTES - ARGV_BYTES);
      return this.#engine.qjs_new_string(scratch, encoder.encodeInto(text, room).written);
    }
    const copy = this.#allocate(text);
    const value = this.#engine.qjs_new_string(copy.address, copy.length);
    this.#engine.wasm_free(copy.address);
    return value;
  }

  #allocate(text: string): { readonly address: number; readonly length: number } {
    const bytes = encoder.encode(text);
    const address = this.#engine.wasm_malloc(bytes.length);
    if (address === 0) throw new VmFault("memory", "No memory for a string");
    this.#memory().set(bytes, address);
    return { address, length: bytes.length };
  }

  /**
   * Fills the free blocks that building left between live ones, for good. What a run allocates then lies together above
   * them, and a waiting run differs from the image in fewer pages.
   */
  #plugHoles(above: number): void {
    for (let bytes = LARGEST_PLUG_BYTES; bytes >= SMALLEST_PLUG_BYTES; bytes -= SMALLEST_PLUG_BYTES) {
      let address = this.#engine.wasm_malloc(bytes);
      while (address !== 0 && address < above) address = this.#engine.wasm_malloc(bytes);
      this.#engine.wasm_free(address);
    }
  }

  #checked(value: number): number {
    if (this.#engine.qjs_is_exception(value) !== 0) throw new VmFault("trap", "The prelude did not start");
    return value;
  }

  /** The memory as it is now. Views go stale whenever the memory grows. */
  #memory(): Uint8Array<ArrayBuffer> {
    if (this.#bytes.length === 0) {
      this.#bytes = new Uint8Array(this.memory.buffer as ArrayBuffer);
      this.#view = new DataView(this.memory.buffer as ArrayBuffer);
    }
    return this.#bytes;
  }
}
