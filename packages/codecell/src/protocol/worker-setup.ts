/**
 * WorkerSetup: what a worker is given when it starts. Known to both sides.
 *
 * - Apart from the messages: the types of those are public, and not every project that uses them knows WebAssembly.
 */
export interface WorkerSetup {
  readonly engine: WebAssembly.Module;
  /** Vms that it may have at the same time. */
  readonly vms: number;
  /**
   * The status board: counters at the indices of `STATUS`. Shared memory where there is some. Without it the worker tells
   * nobody where it is, and is told of nothing while it is in a cell; all else is the same.
   */
  readonly status: ArrayBufferLike;
}
