/**
 * Quantum: the processor time after which a cell leaves a thread that other cells wait for. The cell moves to a compute
 * thread and begins again there from its ledger. Known to host and worker.
 *
 * - Time counts over all turns of a placement, repeated turns included. Each turn adds a little to the quantum, so a
 *   program of many short turns never leaves.
 * - A cell that is alone on its thread stays, however long it computes.
 * - The quantum grows with every move. So all repeated work together is at most a third of what the last placement
 *   uses, and no run gets more than that beyond its limit.
 */
const QUANTUM_MS = 20;
const GROWTH = 4;
const TURN_MS = 0.5;

/**
 * If many cells wait, guest code that is known to compute gets a shorter quantum: the waiting cells together wait this
 * long.
 */
const TOGETHER_MS = 100;
export const LEAST_QUANTUM_MS = 2;
const GUEST_TURN_MS = 0.1;

/** The quantum of a cell after this many moves and this many turns since the last move. */
export function quantumMs(moves: number, turns: number): number {
  return QUANTUM_MS * GROWTH ** moves + TURN_MS * turns;
}

/** The same for the time of guest code alone, while this many other cells wait. */
export function guestQuantumMs(moves: number, turns: number, waiting: number): number {
  const firstMs = Math.max(LEAST_QUANTUM_MS, Math.min(QUANTUM_MS, TOGETHER_MS / waiting));
  return firstMs * GROWTH ** moves + GUEST_TURN_MS * turns;
}

/**
 * After this many moves a quantum exceeds the largest limit of processor time. A worker that asks for another move is
 * faulty.
 */
export const MOST_MOVES = 13;
