/**
 * Quantum: the processor time after which a cell leaves a thread that other cells wait for. The cell moves to a compute
 * thread and begins again there from its ledger. Known to host and worker.
 *
 * - Time counts over all bursts of a placement, repeated bursts included. Each burst adds a little to the quantum, so a
 *   program of many short bursts never leaves.
 * - A cell that is alone on its thread stays, however long it computes.
 * - The quantum grows with every move. So all repeated work together is at most a third of what the last placement
 *   uses, and no run gets more than that beyond its limit.
 */
const QUANTUM_MS = 20;
const GROWTH = 4;
const BURST_MS = 0.5;

/**
 * If many cells wait, guest code that is known to compute gets a shorter quantum: the waiting cells together wait this
 * long.
 */
const TOGETHER_MS = 100;
export const LEAST_QUANTUM_MS = 2;
const GUEST_BURST_MS = 0.1;

/** The quantum of a cell after this many moves and this many bursts since the last move. */
export function quantumMs(moves: number, bursts: number): number {
  return QUANTUM_MS * GROWTH ** moves + BURST_MS * bursts;
}

/** The same for the time of guest code alone, while this many other cells wait. */
export function guestQuantumMs(moves: number, bursts: number, waiting: number): number {
  const firstMs = Math.max(LEAST_QUANTUM_MS, Math.min(QUANTUM_MS, TOGETHER_MS / waiting));
  return firstMs * GROWTH ** moves + GUEST_BURST_MS * bursts;
}

/**
 * After this many moves a quantum exceeds the largest limit of processor time. A worker that asks for another move is
 * faulty.
 */
export const MOST_MOVES = 13;
