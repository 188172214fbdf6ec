/** Runs in tests. Reads results of `exec` and `wait`. A result of another kind than expected fails the test. */
import type {
  AgentTool,
  CodeModeCompleted,
  CodeModeFailed,
  CodeModeResult,
  CodeModeWaiting,
} from "codecell/surface";

interface Shapes {
  readonly completed: CodeModeCompleted;
  readonly failed: CodeModeFailed;
  readonly waiting: CodeModeWaiting;
}

async function as<S extends keyof Shapes>(
  status: S,
  result: CodeModeResult | Promise<CodeModeResult>,
): Promise<Shapes[S]> {
  const settled = await result;
  if (settled.status !== status) {
    throw new Error(`Expected ${status}, got ${JSON.stringify(settled).slice(0, 2000)}`);
  }
  return settled as Shapes[S];
}

export const valueOf = async (result: CodeModeResult | Promise<CodeModeResult>): Promise<unknown> =>
  (await as("completed", result)).value;

export const failedOf = (result: CodeModeResult | Promise<CodeModeResult>): Promise<CodeModeFailed> =>
  as("failed", result);

export const waitingOf = (result: CodeModeResult | Promise<CodeModeResult>): Promise<CodeModeWaiting> =>
  as("waiting", result);

/** A tool whose calls the test answers one by one, also after an abort. */
export class Stubborn {
  readonly inputs: unknown[] = [];
  readonly signals: AbortSignal[] = [];
  readonly #waiting: ((value: unknown) => void)[] = [];

  readonly execute: AgentTool["execute"] = (input: unknown, { signal }) => {
    this.inputs.push(input);
    this.signals.push(signal);
    return new Promise((resolve) => this.#waiting.push(resolve));
  };

  get made(): number {
    return this.inputs.length;
  }

  /** Answers the oldest call. */
  release(value: unknown = "released"): void {
    this.#waiting.shift()?.(value);
  }
}
