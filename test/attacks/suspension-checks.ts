/** The invariants about suspended runs: tokens are sealed, used once, expire, and a denial is final. */
import { setTimeout as delay } from "node:timers/promises";
import type { RunResult } from "codecell";
import type { Attempt } from "./attempt.ts";
import type { AttackCase } from "./case.ts";

/** Most positions of a token that are altered. */
const MOST_ALTERED = 3000;
const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";

export async function checkSuspension(attack: AttackCase, attempt: Attempt): Promise<string[]> {
  const { invariants } = attack;
  const source = attack.code ?? "";
  const broken: string[] = [];
  for (const token of attempt.tokens) broken.push(...(await checkUsed(attempt, token)));
  if (invariants.denyThenApproveRefused === true) broken.push(...(await checkDenied(attempt, source)));
  if (invariants.tamperedStateRefused === true) broken.push(...(await checkTampered(attempt, source)));
  if (invariants.expiredIsNotCompleted === true) broken.push(...(await checkExpired(attempt, source)));
  return broken;
}

/** Checks that a used token is refused and executes nothing. */
async function checkUsed(attempt: Attempt, token: string): Promise<string[]> {
  const before = [...attempt.activity.counts].toString();
  const again = await attempt.resume(token, [], "allow").result;
  const after = [...attempt.activity.counts].toString();
  return [
    ...refusedWith(again, "token_used", "resumeTwiceExecutesOnce"),
    ...(before === after ? [] : [`resumeTwiceExecutesOnce: tools ran again, ${before} became ${after}`]),
  ];
}

async function checkDenied(attempt: Attempt, source: string): Promise<string[]> {
  const first = await attempt.start(source).result;
  if (first.status !== "suspended") return [`denyThenApproveRefused: the run did not suspend`];
  const { token, pending } = first.suspension;
  const before = attempt.activity.counts.get("gate") ?? 0;
  await attempt.resume(token, pending, "deny").result;
  const approved = await attempt.resume(token, pending, "allow").result;
  const after = attempt.activity.counts.get("gate") ?? 0;
  return [
    ...refusedWith(approved, "token_used", "denyThenApproveRefused"),
    ...(before === after ? [] : ["denyThenApproveRefused: the denied call was executed"]),
  ];
}

async function checkTampered(attempt: Attempt, source: string): Promise<string[]> {
  const first = await attempt.start(source).result;
  if (first.status !== "suspended") return [`tamperedStateRefused: the run did not suspend`];
  const { token, pending } = first.suspension;
  const step = Math.max(1, Math.ceil(token.length / MOST_ALTERED));
  for (let index = 0; index < token.length; index += step) {
    const digit = DIGITS[(DIGITS.indexOf(token[index] ?? "") + 1) % DIGITS.length] ?? "";
    const altered = `${token.slice(0, index)}${digit}${token.slice(index + 1)}`;
    const result = await attempt.resume(altered, pending, "allow").result;
    // An altered version or key id looks like a token of another version or key.
    const code = result.status === "failed" ? result.failure.code : result.status;
    if (!["token_invalid", "token_version", "token_key"].includes(code)) {
      return [`tamperedStateRefused at ${index} of ${token.length}: ${code}`];
    }
  }
  for (const altered of [token.slice(0, -1), `${token}A`, `${token}.`, `${token}=`, ` ${token}`, "", "."]) {
    const result = await attempt.resume(altered, pending, "allow").result;
    const broken = refusedWith(result, "token_invalid", "tamperedStateRefused");
    if (broken.length > 0) return broken;
  }
  // None of these attempts may have used up the token.
  const result = await attempt.resume(token, pending, "allow").result;
  return result.status === "completed" ? [] : ["tamperedStateRefused: the untouched token no longer works"];
}

async function checkExpired(attempt: Attempt, source: string): Promise<string[]> {
  const first = await attempt.start(source, { suspensionTimeMs: 1000 }).result;
  if (first.status !== "suspended") return [`expiredIsNotCompleted: the run did not suspend`];
  const { token, pending, expiresAt } = first.suspension;
  while (Date.now() <= expiresAt) await delay(expiresAt - Date.now() + 1);
  const result = await attempt.resume(token, pending, "allow").result;
  return refusedWith(result, "token_expired", "expiredIsNotCompleted");
}

function refusedWith(result: RunResult, code: string, invariant: string): string[] {
  if (result.status === "failed" && result.failure.code === code) return [];
  const found = result.status === "failed" ? result.failure.code : result.status;
  return [`${invariant}: expected ${code}, not ${found}`];
}
