/**
 * Program check: the check before a run, as the run sees it.
 *
 * - A program that was refused never runs. One that could not be checked does: the check fails open.
 * - What the check advised is told only when the run fails.
 */
import type { Diagnostic } from "../contract/diagnostic.ts";
import type { Failure } from "../contract/failure.ts";
import { type Language, YIELD_CONTROL } from "../contract/ledger.ts";
import type { ToolSet } from "../contract/tool.ts";
import type { Deadline } from "./deadline.ts";
import { declareBySchema } from "./declare-by-schema.ts";
import type { HostCheck } from "./host-check.ts";
import type { Ending } from "./run-setup.ts";

interface CheckedStart {
  readonly source: string;
  readonly language: Language;
  readonly mayYield?: boolean;
}

const YIELD_DECLARATION = `declare function ${YIELD_CONTROL}(reason?: string): Promise<void>;`;

export class ProgramCheck {
  readonly #check: HostCheck;
  readonly #start: CheckedStart;
  readonly #tools: ToolSet;
  #advice: readonly Diagnostic[] = [];

  static of(check: HostCheck | undefined, start: CheckedStart, tools: ToolSet): ProgramCheck | undefined {
    return check === undefined ? undefined : new ProgramCheck(check, start, tools);
  }

  private constructor(check: HostCheck, start: CheckedStart, tools: ToolSet) {
    this.#check = check;
    this.#start = start;
    this.#tools = tools;
  }

  /** Why the program is not to run, if there is a reason. The time it takes is not the program's. */
  async before(deadline: Deadline, signal: AbortSignal | undefined): Promise<Failure | undefined> {
    deadline.pause();
    try {
      return await this.#refusal(signal);
    } finally {
      deadline.resume();
    }
  }

  async #refusal(signal: AbortSignal | undefined): Promise<Failure | undefined> {
    const { source, language, mayYield = false } = this.#start;
    const { checker, declare = declareBySchema } = this.#check;
    const tools = this.#tools;
    const checking = checker.check({
      source,
      language,
      signal,
      globals: mayYield ? YIELD_DECLARATION : "",
      declarations: {
        names: () => Object.keys(tools),
        of: (name) => {
          const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
          return tool === undefined ? undefined : declare(name, tool);
        },
      },
    });
    // Ours never rejects; somebody else's may.
    const checked = await checking.catch(() => undefined);
    if (checked === undefined || checked.status === "unavailable") return undefined;
    this.#advice = checked.advice;
    return checked.status === "refused" ? checked.failure : undefined;
  }

  /** An ending with the advice that belongs to it. */
  advise(ending: Ending): Ending {
    if (ending.status !== "failed" || this.#advice.length === 0) return ending;
    return { status: "failed", failure: { ...ending.failure, advice: this.#advice } };
  }
}
