/** Runs in a worker thread. The failures that a cell itself finds, in words that tell a model what to do next. */
import type { Failure, FailureCode } from "../contract/failure.ts";
import { VmFault } from "./vm.ts";

export function failure(code: FailureCode, message: string): Failure {
  return { code, message };
}

export function outOfMemory(memoryBytes: number): Failure {
  return failure(
    "memory_limit",
    `The program needed more than ${memoryBytes} bytes of memory: keep less data at once, for example filter or page inside the loop`,
  );
}

function outOfSpace(): Failure {
  return failure(
    "unavailable",
    "Cannot run the program: the process has no addresses left for its memory, raise the limit (ulimit -v) or start fewer programs at once",
  );
}

export function outOfTime(cpuTimeMs: number): Failure {
  return failure(
    "timeout",
    `The program used more than ${cpuTimeMs} ms of processor time: do less work per run, or look for a loop that does not end`,
  );
}

export function tooManyCalls(calls: number): Failure {
  return failure(
    "call_limit",
    `Cannot make more than ${calls} calls in one run: split the work over several runs`,
  );
}

export function resultTooLarge(bytes: number, resultBytes: number): Failure {
  return failure(
    "result_limit",
    `The result has ${bytes} bytes, at most ${resultBytes} are allowed: return less, for example only the fields that are needed`,
  );
}

/** What the guest reads about a call that may not cross. */
export function callRefusal(code: string, message: string): string {
  return JSON.stringify({ code, name: "CallError", message });
}

/** The failure that an error from the engine means. */
export function toFault(error: unknown, memoryBytes: number, hasGrownLarge: boolean): Failure {
  if (error instanceof VmFault && error.reason === "space") return outOfSpace();
  if (error instanceof VmFault && error.reason === "memory") return outOfMemory(memoryBytes);
  if (error instanceof RangeError) return failure("guest_error", "The program recursed too deeply");
  if (error instanceof WebAssembly.RuntimeError) {
    return hasGrownLarge
      ? outOfMemory(memoryBytes)
      : failure("guest_error", "The program made the engine stop");
  }
  return failure("internal", "The sandbox failed while running the program");
}
