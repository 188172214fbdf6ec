/**
 * Runs on the host. Program check: the check before a run.
 *
 * - A program that was refused never runs. A program that could not be checked runs: the check fails open.
 * - The advice of the check is told only if the run fails.
 * - A forked program is checked only if its source differs from the original's. The tools that were called in its past
 *   are declared to take and give anything: their outcomes are given, whatever the tools would say today.
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
  /** Names of the tools that the past called. */
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

  /** Why the program must not run, if there is a reason. The check does not use up the run's wall time. */
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

  /** Our own checker never fails. Another one may; then the program counts as not checked. */
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

  /** The ending, with the check's advice if the run failed. */
  advise(ending: Ending): Ending {
    if (ending.status !== "failed" || this.#advice.length === 0) return ending;
    return { status: "failed", failure: { ...ending.failure, advice: this.#advice } };
  }
}
