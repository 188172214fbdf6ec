/**
 * Quantum: the processor time after which a cell leaves a thread that others wait for. It leaves for a compute thread,
 * where it begins again from its ledger.
 *
 * - Counted over all turns of a placement, repeated ones too. Each turn adds a little: a program of many short turns
 *   passes by for as long as it lives.
 * - A cell that is alone on its thread stays, however long it computes.
 * - Grows with every move, so that all that is repeated is a third of what the last placement uses, and no run gets more
 *   than that beyond its limit.
 */
const QUANTUM_MS = 20;
const GROWTH = 4;
const TURN_MS = 0.5;

/** Where many wait, guest code that is known to compute has less: those behind it wait so long together, */
const TOGETHER_MS = 100;
export const LEAST_QUANTUM_MS = 2;
const GUEST_TURN_MS = 0.1;

/** Of a cell that was moved so often and has been entered so often since. */
export function quantumMs(moves: number, turns: number): number {
  return QUANTUM_MS * GROWTH ** moves + TURN_MS * turns;
}

/** The same for what guest code alone has used, while so many others wait. */
export function guestQuantumMs(moves: number, turns: number, waiting: number): number {
  const firstMs = Math.max(LEAST_QUANTUM_MS, Math.min(QUANTUM_MS, TOGETHER_MS / waiting));
  return firstMs * GROWTH ** moves + GUEST_TURN_MS * turns;
}

/** By then a quantum is longer than the largest limit of processor time: who moves on is no true worker. */
export const MOST_MOVES = 13;
