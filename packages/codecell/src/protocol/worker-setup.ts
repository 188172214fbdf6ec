/**
 * WorkerSetup: what a worker gets when it starts. Known to both sides.
 *
 * - This is not in `messages.ts`: the message types are public, and not every project that uses them has the types of
 *   WebAssembly.
 */
export interface WorkerSetup {
  readonly engine: WebAssembly.Module;
  /** The most vms that the worker may have at the same time. */
  readonly vms: number;
  /**
   * The status board: counters at the indices of `STATUS`. It is shared memory where the platform has that. Without
   * shared memory the worker cannot show which cell it is in, and hears of nothing while it is in a cell; everything
   * else works the same.
   */
  readonly status: ArrayBufferLike;
}
