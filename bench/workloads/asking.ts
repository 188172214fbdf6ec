/**
 * Programs that stop for a decision after a number of calls.
 *
 * - `dropped` keeps a number of each output, `kept` keeps all outputs until after the decision: the same record of
 *   outcomes, but not the same memory.
 * - Outputs are rows of words and numbers, all different, so that they compress as real outputs do.
 */

import type { AskingTools } from "../contestants/contestant.ts";
import { nextSalt } from "../harness/attempts.ts";

export interface Past {
  readonly calls: number;
  /** Approximate bytes of each output as JSON. */
  readonly bytes: number;
  readonly keeps: "dropped" | "kept";
}

export interface AskingProgram {
  readonly source: string;
  readonly answer: number;
  readonly expected: unknown;
}

const WORDS = "north mill invoice paper river copper ledger spring market stone harbour wheel".split(" ");
const ROW_BYTES = 64;

/** Makes rows that depend on the number that is asked for. */
function createRows(n: number, bytes: number): { readonly n: number; readonly rows: readonly object[] } {
  let state = (n * 2_654_435_761) >>> 0;
  const draw = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const rows = Array.from({ length: Math.max(1, Math.round(bytes / ROW_BYTES)) }, () => ({
    id: draw(1e9),
    name: `${WORDS[draw(WORDS.length)]} ${WORDS[draw(WORDS.length)]}`,
    amount: draw(1e7) / 100,
  }));
  return { n: n + 1, rows };
}

/** The tools. `onAsk` is called at the moment when a decision is asked for. */
export function createAskingTools({ bytes }: Past, onAsk: () => void = () => {}): AskingTools {
  return {
    fetch: ({ n = 0 }) => createRows(n, bytes),
    decide: ({ n = 0 }, decision) => {
      if (decision.answer === undefined) {
        onAsk();
        return decision.ask();
      }
      return { n: n + decision.answer };
    },
  };
}

export function createAskingProgram({ calls, bytes, keeps }: Past): AskingProgram {
  const salt = nextSalt();
  const source = `
let sum = ${salt};
const kept = [];
for (let call = 0; call < ${calls}; call++) {
  const output = await tools.fetch({ n: ${salt} + call });
  sum += output.n;
  kept.push(${keeps === "kept" ? "output" : "output.rows.length"});
}
const { n } = await tools.decide({ n: sum });
return { n, rows: kept.reduce((total, each) => total + ${keeps === "kept" ? "each.rows.length" : "each"}, 0) };`;
  let sum = salt;
  let rows = 0;
  for (let call = 0; call < calls; call++) {
    const output = createRows(salt + call, bytes);
    sum += output.n;
    rows += output.rows.length;
  }
  const answer = salt % 97;
  return { source, answer, expected: { n: sum + answer, rows } };
}
