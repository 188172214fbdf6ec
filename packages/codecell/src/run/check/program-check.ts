/**
 * Program check: the check before a run, as the run sees it.
 *
 * - A program that was refused never runs. One that could not be checked does: the check fails open.
 * - What the check advised is told only when the run fails.
 * - A program that goes on from a past is checked when it is another one than had that past. What was called there takes
 *   and gives anything: the outcome is given, whatever the tool would say today.
 */
import type { CheckRequest, CheckResult } from "../../check/checker.ts";
import type { Diagnostic } from "../../contract/diagnostic.ts";
import type { Failure } from "../../contract/failure.ts";
import { declareFeatures, declareMembers, type FeatureSettings } from "../../contract/features.ts";
import type { Language, Ledger } from "../../contract/ledger.ts";
import type { ToolSet } from "../../contract/tool.ts";
import type { Deadline } from "../deadline.ts";
import { declareBySchema } from "./declare-by-schema.ts";
import type { HostCheck } from "./host-check.ts";
import type { Ending } from "../run-setup.ts";

interface CheckedStart {
  readonly source: string;
  readonly language: Language;
  readonly features: FeatureSettings;
}

export class ProgramCheck {
  readonly #check: HostCheck;
  readonly #start: CheckedStart;
  readonly #tools: ToolSet;
  /** Names of tools that were called before the program goes on. */
  readonly #called: ReadonlySet<string>;
  #advice: readonly Diagnostic[] = [];

  static of(
    check: HostCheck | undefined,
    start: CheckedStart,
    tools: ToolSet,
    past?: Pick<Ledger, "source" | "calls">,
  ): ProgramCheck | undefined {
    if (check === undefined || past?.source === start.source) return undefined;
    return new ProgramCheck(check, start, tools, new Set(past?.calls.map(({ tool }) => tool)));
  }

  private constructor(check: HostCheck, start: CheckedStart, tools: ToolSet, called: ReadonlySet<string>) {
    this.#check = check;
    this.#start = start;
    this.#tools = tools;
    this.#called = called;
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
    const checked = await this.#checked(signal);
    if (checked === undefined || checked.status === "unavailable") return undefined;
    this.#advice = checked.advice;
    return checked.status === "refused" ? checked.failure : undefined;
  }

  /** Our own checker never fails; somebody else's may, and then nothing was checked. */
  async #checked(signal: AbortSignal | undefined): Promise<CheckResult | undefined> {
    try {
      return await this.#check.checker.check(this.#request(signal));
    } catch {
      return undefined;
    }
  }

  #request(signal: AbortSignal | undefined): CheckRequest {
    const { source, language, features } = this.#start;
    const { globals = "", declare = declareBySchema } = this.#check;
    const tools = this.#tools;
    const helpers = declareMembers(features, "tools");
    return {
      source,
      language,
      signal,
      globals: [globals, ...declareFeatures(features)].join("\n"),
      declarations: {
        names: () => [...helpers.keys(), ...Object.keys(tools)],
        of: (name) => {
          const helper = helpers.get(name);
          if (helper !== undefined) return helper;
          if (this.#called.has(name)) return `${JSON.stringify(name)}(input?: any): Promise<any>`;
          const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
          return tool === undefined ? undefined : declare(name, tool);
        },
      },
    };
  }

  /** An ending with the advice that belongs to it. */
  advise(ending: Ending): Ending {
    if (ending.status !== "failed" || this.#advice.length === 0) return ending;
    return { status: "failed", failure: { ...ending.failure, advice: this.#advice } };
  }
}
