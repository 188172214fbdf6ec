/**
 * Runs on the host. Continuation: a suspended run as its host gets it, and the proof that nobody changed it.
 *
 * - The description of the waiting calls is sealed together with the token. So a host that shows one call to the person
 *   who approves cannot be made to continue another call.
 * - Interrupts are compared by content: a database may have reordered the keys.
 * - Functions that act on an interrupt or show it compare all of it, in turns. Functions that return no promise compare
 *   only what they can at once: of an interrupt that was large when it was sealed, they check the seal, token, time and
 *   ids, and not the content.
 */
import { createHash } from "node:crypto";
import { isLarge, printSteps } from "../../value/print-json.ts";
import { atOnce, inTurns, type Steps } from "../../loop/turn.ts";
import type { PendingCall, Suspension } from "../../contract/result.ts";
import { warnOnce } from "../../seal/warn-once.ts";
import { isRecord } from "../../value/shape.ts";
import { CodeModeProtocolError } from "./errors.ts";
import { continuationSealer } from "./hosts.ts";
import type {
  CodeModeContinuation,
  CodeModeInterrupt,
  CodeModePendingInterrupt,
  KeptRequest,
} from "./interrupt.ts";

const PURPOSE = "code mode interrupt";
const ALTERED = "its continuation was altered";
/**
 * The problem of an interrupt that was sealed by another process, or an earlier one, with another key or a random one.
 */
export const ANOTHER_KEY =
  "it was sealed with a key this process does not have, give all processes the same with setCodeModeContinuationSigningKey";

interface SealedFacts {
  readonly version: 2;
  readonly token: string;
  readonly outerToolCallId: string;
  readonly source: string;
  readonly expiresAtMs: number;
  readonly pending: string;
  /** Whether the description of the calls is too large to compare at once. Seals of earlier versions do not say. */
  readonly isLarge?: boolean;
}

/** How much is compared with the seal: everything, or only as much as can be compared at once. */
export type Extent = "all" | "at once";

export interface Paused {
  readonly runId: string;
  readonly suspension: Suspension;
  readonly outerToolCallId: string;
  /** Digest of the program: only the token holds the whole program. */
  readonly source: string;
}

const TOOL_CALL = /:tool-(\d+)$/u;

/** The inverse of `toolCallIdOf`. */
export function indexOfToolCall(toolCallId: string): number {
  return Number(TOOL_CALL.exec(toolCallId)?.[1] ?? 0) - 1;
}

/** The id by which the run knows the call. */
export function callIdOf(runId: string, toolCallId: string): string {
  return `${runId}:${indexOfToolCall(toolCallId)}`;
}

/** The nested call's place among all calls of its run. */
export function callIndexOf(callId: string): number {
  return Number(callId.slice(callId.lastIndexOf(":") + 1));
}

export function toolCallIdOf(outerToolCallId: string, callIndex: number): string {
  return `${outerToolCallId}:tool-${callIndex + 1}`;
}

export async function toInterrupt({
  runId,
  suspension,
  outerToolCallId,
  source,
}: Paused): Promise<CodeModeInterrupt> {
  const { token, expiresAt: expiresAtMs } = suspension;
  const pending = suspension.pending.map((call) => toPending(call, outerToolCallId));
  const facts: SealedFacts = {
    version: 2,
    token: digestOf(token),
    outerToolCallId,
    source,
    expiresAtMs,
    pending: await inTurns(contentDigest([runId, pending])),
    isLarge: isLarge([runId, pending]),
  };
  const header = new TextEncoder().encode(JSON.stringify(facts));
  const seal = continuationSealer().sealText({ header, content: new Uint8Array() }, PURPOSE);
  const [first] = pending;
  // A run is only suspended for calls that wait: no run here has yield_control.
  if (first === undefined) throw new CodeModeProtocolError("Cannot interrupt: no call waits");
  const continuation: CodeModeContinuation = { version: 2, runId, token, expiresAtMs, pending, seal };
  return { type: "code-mode-interrupt", ...first, outerToolCallId, continuation };
}

function toPending(
  { callId, tool, payload }: PendingCall,
  outerToolCallId: string,
): CodeModePendingInterrupt {
  const kept = payload as unknown as KeptRequest;
  const toolCallId = toolCallIdOf(outerToolCallId, callIndexOf(callId));
  const interruptId = `${toolCallId}:interrupt`;
  return { interruptId, toolName: tool, toolCallId, input: kept.input, payload: kept.payload };
}

/**
 * One interrupt for each waiting call, all of the same paused invocation. Compares as much with the seal as can be
 * compared at once.
 */
export function getPendingCodeModeInterrupts(interrupt: CodeModeInterrupt): CodeModeInterrupt[] {
  const facts = atOnce(factsOf(interrupt, "at once"));
  const { continuation, outerToolCallId } = toOpened(interrupt, facts).interrupt;
  return continuation.pending.map(({ interruptId, toolName, toolCallId, input, payload }) => ({
    type: "code-mode-interrupt",
    interruptId,
    toolName,
    toolCallId,
    outerToolCallId,
    input,
    payload,
    continuation,
  }));
}

/** An interrupt that matches its seal. */
export interface OpenedInterrupt {
  readonly interrupt: CodeModeInterrupt;
  readonly opened: OpenedContinuation;
}

/** Throws unless this host, or a host with the same key, wrote every word of the interrupt. */
export async function openInterrupt(given: unknown): Promise<OpenedInterrupt> {
  return toOpened(given, await inTurns(factsOf(given, "all")));
}

function toOpened(given: unknown, facts: SealedFacts | string): OpenedInterrupt {
  if (typeof facts === "string") throw refusal(facts);
  return { interrupt: given as CodeModeInterrupt, opened: facts };
}

/**
 * Whether this host, or a host with the same key, made the interrupt, as far as can be checked at once. The inputs and
 * payloads of a large interrupt are not compared; if they were altered, continuing the interrupt is refused.
 */
export function isCodeModeInterrupt(value: unknown): value is CodeModeInterrupt {
  return atOnce(problemOf(value, "at once")) === undefined;
}

/** Why a value is not an interrupt that can be trusted; undefined for an interrupt that can be. */
export function* problemOf(value: unknown, extent: Extent = "all"): Steps<string | undefined> {
  const facts = yield* factsOf(value, extent);
  if (typeof facts !== "string") return undefined;
  warnOfKey(facts);
  return facts;
}

/** Most callers that ask whether a value is an interrupt only get "no". This warning says why. */
export function warnOfKey(problem: string): void {
  if (problem !== ANOTHER_KEY) return;
  warnOnce(
    "CODECELL_CONTINUATION_KEY",
    `An interrupt of code mode cannot be continued: ${ANOTHER_KEY} or CODECELL_SEAL_KEY`,
  );
}

/** The result of verifying an interrupt: everything its seal says, or why the interrupt cannot be trusted. */
export type Verified = OpenedInterrupt | string;

/** Compares the whole interrupt. Does not warn: anybody may have made the value. */
export function* verifyInterrupt(value: unknown): Steps<Verified> {
  const facts = yield* factsOf(value, "all");
  return typeof facts === "string" ? facts : toOpened(value, facts);
}

/** The sealed facts, or a text that says why the interrupt cannot be trusted. */
function* factsOf(value: unknown, extent: Extent): Steps<SealedFacts | string> {
  if (!claimsToBeInterrupt(value)) return "this is not an interrupt of code mode";
  const { continuation, outerToolCallId, interruptId, toolName, toolCallId, input, payload } = value;
  const facts = yield* openFacts(continuation, extent);
  if (typeof facts === "string") return facts;
  if (facts.outerToolCallId !== outerToolCallId) return "it was altered: outerToolCallId is another one";
  const own = continuation.pending.find((one) => one.interruptId === interruptId);
  if (own === undefined) return "it was altered: no call of it waits under this interruptId";
  const told = { interruptId, toolName, toolCallId, input, payload };
  const isOwn =
    extent === "at once"
      ? isAlikeAtOnce(told, own, facts.isLarge === true)
      : (yield* contentDigest(told)) === (yield* contentDigest(own));
  return isOwn ? facts : "it was altered: the call it tells of is not the one that waits";
}

/** With `isLeft` the content is not compared here: callers that work in turns compare it. */
function isAlikeAtOnce(told: object, own: CodeModePendingInterrupt, isLeft: boolean): boolean {
  if (!isLeft) return !isLarge(told) && atOnce(contentDigest(told)) === atOnce(contentDigest(own));
  const { toolName, toolCallId, payload } = own;
  return (
    isPending(told) &&
    told.toolName === toolName &&
    told.toolCallId === toolCallId &&
    told.payload.kind === payload.kind
  );
}

function isPending(value: unknown): value is CodeModePendingInterrupt {
  return (
    isRecord(value) &&
    ["interruptId", "toolName", "toolCallId"].every((name) => typeof value[name] === "string") &&
    isRecord(value["payload"]) &&
    typeof value["payload"]["kind"] === "string"
  );
}

/** Whether its seal says that this is an interrupt that was large when it was sealed. Looks at nothing but the seal. */
export function isLargeInterrupt(value: unknown): boolean {
  const facts = claimsToBeInterrupt(value) ? openSeal(value.continuation) : "";
  return typeof facts !== "string" && facts.isLarge === true;
}

function claimsToBeInterrupt(
  value: unknown,
): value is Record<string, unknown> & { readonly continuation: CodeModeContinuation } {
  return isRecord(value) && value["type"] === "code-mode-interrupt" && isContinuation(value["continuation"]);
}

function isContinuation(value: unknown): value is CodeModeContinuation {
  return (
    isRecord(value) &&
    typeof value["token"] === "string" &&
    typeof value["seal"] === "string" &&
    Array.isArray(value["pending"])
  );
}

/** The sealed facts, or a text that says why the continuation cannot be trusted. */
function* openFacts(continuation: CodeModeContinuation, extent: Extent): Steps<SealedFacts | string> {
  const facts = openSeal(continuation);
  if (typeof facts === "string") return facts;
  if (facts.version !== 2 || continuation.version !== 2) return "it is of another version";
  const { runId, expiresAtMs, pending } = continuation;
  if (facts.token !== tokenDigestOf(continuation) || facts.expiresAtMs !== expiresAtMs) return ALTERED;
  const told = [runId, pending];
  if (extent === "at once" && (facts.isLarge === true || isLarge(told))) {
    // An interrupt that was small when it was sealed and is large now was altered.
    const mayBeSealed = facts.isLarge !== false && typeof runId === "string" && pending.every(isPending);
    return mayBeSealed ? { ...facts, isLarge: true } : ALTERED;
  }
  return facts.pending === (yield* contentDigest(told)) ? facts : ALTERED;
}

function openSeal({ seal }: CodeModeContinuation): SealedFacts | string {
  const opened = continuationSealer().openText(seal, PURPOSE, 0);
  if (opened.ok) return JSON.parse(new TextDecoder().decode(opened.header)) as SealedFacts;
  return opened.problem === "key" ? ANOTHER_KEY : "its continuation was altered or is not a continuation";
}

/** What the seal of an unaltered continuation says: its outer call and its source. */
export type OpenedContinuation = Pick<SealedFacts, "outerToolCallId" | "source">;

/** Throws unless this host, or a host with the same key, wrote the continuation. */
export async function openContinuation(continuation: unknown): Promise<OpenedContinuation> {
  const facts = isContinuation(continuation)
    ? await inTurns(openFacts(continuation, "all"))
    : "this is not a continuation";
  if (typeof facts === "string") throw refusal(facts);
  return facts;
}

function refusal(why: string): CodeModeProtocolError {
  return new CodeModeProtocolError(`Cannot continue: ${why}`);
}

const tokenDigests = new WeakMap<CodeModeContinuation, readonly [token: string, digest: string]>();

/** The digest is cached: a token may have megabytes, and callers ask about the same interrupt repeatedly. */
export function tokenDigestOf(continuation: CodeModeContinuation): string {
  const { token } = continuation;
  const [known, kept] = tokenDigests.get(continuation) ?? [];
  if (known === token && kept !== undefined) return kept;
  const digest = digestOf(token);
  tokenDigests.set(continuation, [token, digest]);
  return digest;
}

export function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}

/** Whether both values are the same JSON. The order of keys does not matter. */
export async function isSameJson(one: unknown, other: unknown): Promise<boolean> {
  return one === other || (await inTurns(contentDigest(one))) === (await inTurns(contentDigest(other)));
}

/**
 * Equal JSON has equal digests, whatever the order of its keys. A value that is not JSON has the digest of an empty
 * text.
 */
export function* contentDigest(value: unknown): Steps<string> {
  const hash = createHash("sha256");
  try {
    yield* printSteps(value, (piece) => hash.update(piece), { isSorted: true });
    return hash.digest("base64url");
  } catch {
    return digestOf("");
  }
}
