/** Runs the sources of a case on one host, and resumes each suspension once, as the corpus asks. */
import type { Host, Limits, RunHandle, RunResult } from "codecell";
import type { AttackCase, Expectation } from "./case.ts";
import { type Activity, createActivity, createFixtureTools, denyDanger } from "./fixture-tools.ts";

/**
 * A case that should not time out is limited by processor time. Its wall time is this many times longer, for a busy
 * machine.
 */
const PATIENCE = 10;
/**
 * A case that may take all of its processor time ends after a second, whatever longer time the corpus gives it: what
 * stops an endless program (its quantum, its move to another thread, the end of that thread) comes well before.
 */
const ENDLESS_MS = 1000;
/** Node.js 22 measures processor time by the clock. */
const KNOWS_THREAD_TIME = "threadCpuUsage" in process;

export class Attempt {
  readonly activity: Activity = createActivity();
  /** Every token that was issued. */
  readonly tokens: string[] = [];
  readonly #host: Host;
  readonly #attack: AttackCase;
  readonly #tools = createFixtureTools(this.activity);

  constructor(host: Host, attack: AttackCase) {
    this.#host = host;
    this.#attack = attack;
  }

  start(source: string, more: Partial<Limits> = {}): RunHandle {
    return this.#host.start({
      source,
      language: this.#attack.language === "ts" ? "typescript" : "javascript",
      limits: { ...limitsOf(this.#attack), ...more },
      tools: this.#tools,
      authorize: denyDanger,
    });
  }

  /** Resumes with every pending call allowed or denied. */
  resume(token: string, pending: readonly { readonly callId: string }[], how: "allow" | "deny"): RunHandle {
    const resolution = how === "allow" ? { resolution: "allowed" } : { deny: "a person refused it" };
    return this.#host.resume({
      token,
      resolutions: Object.fromEntries(pending.map(({ callId }) => [callId, resolution])),
      tools: this.#tools,
      authorize: denyDanger,
    });
  }

  /** Runs a source to its end, through one suspension. */
  async run(source: string, expected: Expectation): Promise<RunResult> {
    const longest = this.#attack.category.endsWith("cpu") ? ENDLESS_MS : Infinity;
    const timeoutMs = Math.min(timeoutOf(this.#attack), longest);
    const limits = mayTimeOut(expected) ? { wallTimeMs: timeoutMs, cpuTimeMs: timeoutMs } : {};
    const result = await this.start(source, limits).result;
    if (result.status !== "suspended") return result;
    const { token, pending } = result.suspension;
    this.tokens.push(token);
    return this.resume(token, pending, "allow").result;
  }
}

function mayTimeOut(expected: Expectation): boolean {
  if ("anyOf" in expected) return expected.anyOf.some(mayTimeOut);
  return expected.outcome === "error" && [expected.class].flat().includes("timeout");
}

function timeoutOf({ limits: { timeoutMs = 20_000 } = {} }: AttackCase): number {
  return timeoutMs;
}

function limitsOf(attack: AttackCase): Partial<Limits> {
  const { limits = {} } = attack;
  const timeoutMs = timeoutOf(attack);
  return {
    wallTimeMs: PATIENCE * timeoutMs,
    cpuTimeMs: KNOWS_THREAD_TIME ? timeoutMs : PATIENCE * timeoutMs,
    memoryBytes: limits.memoryBytes ?? 32 * 1024 * 1024,
    resultBytes: limits.maxResultBytes ?? 1024 * 1024,
    calls: limits.maxToolCalls ?? 256,
    callsInFlight: limits.maxInFlight ?? 32,
  };
}
