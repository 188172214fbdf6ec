/**
 * Continuation: a suspended run as its host gets it, and the proof that nothing of it was changed.
 *
 * - What is told of the waiting calls is sealed together with the token: a host that shows one call to whoever approves
 *   cannot be made to continue another.
 * - Comparing is by content: a database may have reordered the keys of what it kept.
 * - Who acts on an interrupt, or shows it, compares all of it, in turns. Who gives no promise does what can be done at once:
 *   an interrupt that was large when it was sealed is known by its seal, token, time and ids there, without its content.
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
/** What is wrong with an interrupt of another process, or an earlier one, that had another key or none. */
export const ANOTHER_KEY =
  "it was sealed with a key this process does not have, give all processes the same with setCodeModeContinuationSigningKey";

interface SealedFacts {
  readonly version: 2;
  readonly token: string;
  readonly outerToolCallId: string;
  readonly source: string;
  readonly expiresAtMs: number;
  readonly pending: string;
  /** Whether what is told of the calls is too large to be compared at once. Seals of earlier versions do not say. */
  readonly isLarge?: boolean;
}

/** How much is compared with the seal: all of it, or no more than can be at once. */
export type Extent = "all" | "at once";

export interface Paused {
  readonly runId: string;
  readonly suspension: Suspension;
  readonly outerToolCallId: string;
  /** Digest of the program: only the token has it whole. */
  readonly source: string;
}

const TOOL_CALL = /:tool-(\d+)$/u;

/** Back from what `toolCallIdOf` made. */
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
  // A run is suspended for calls that wait, or not at all: nobody here gives it yield_control.
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

/** One for each call that waits, all of the same paused invocation; as far as can be told at once. */
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

/** An interrupt that holds what its seal says. */
export interface OpenedInterrupt {
  readonly interrupt: CodeModeInterrupt;
  readonly opened: OpenedContinuation;
}

/** Throws unless every word of it is what this host, or one with the same key, wrote. */
export async function openInterrupt(given: unknown): Promise<OpenedInterrupt> {
  return toOpened(given, await inTurns(factsOf(given, "all")));
}

function toOpened(given: unknown, facts: SealedFacts | string): OpenedInterrupt {
  if (typeof facts === "string") throw refusal(facts);
  return { interrupt: given as CodeModeInterrupt, opened: facts };
}

/**
 * Whether it is an interrupt of this host, or of one with the same key, as far as can be told at once: of a large one the
 * inputs and payloads are not compared, and who goes on with it refuses it if they were altered.
 */
export function isCodeModeInterrupt(value: unknown): value is CodeModeInterrupt {
  return atOnce(problemOf(value, "at once")) === undefined;
}

/** Why something is no interrupt that can be trusted; undefined for one that is. */
export function* problemOf(value: unknown, extent: Extent = "all"): Steps<string | undefined> {
  const facts = yield* factsOf(value, extent);
  if (typeof facts !== "string") return undefined;
  warnOfKey(facts);
  return facts;
}

/** Most who ask whether something is an interrupt hear no more than no: why is told here. */
export function warnOfKey(problem: string): void {
  if (problem !== ANOTHER_KEY) return;
  warnOnce(
    "CODECELL_CONTINUATION_KEY",
    `An interrupt of code mode cannot be continued: ${ANOTHER_KEY} or CODECELL_SEAL_KEY`,
  );
}

/** What verifying an interrupt came to: all that its seal says, or why it cannot be trusted. */
export type Verified = OpenedInterrupt | string;

/** Compares all of it. For what anybody may have made: it warns nobody. */
export function* verifyInterrupt(value: unknown): Steps<Verified> {
  const facts = yield* factsOf(value, "all");
  return typeof facts === "string" ? facts : toOpened(value, facts);
}

/** What was sealed; a text that says why the interrupt cannot be trusted. */
function* factsOf(value: unknown, extent: Extent): Steps<SealedFacts | string> {
  if (!claimsToBeInterrupt(value)) return "this is no interrupt of code mode";
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

/** `isLeft` where the content is for those to compare who do it in turns. */
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

/** Whether it is one by its seal that was large when it was sealed; nothing else of it is looked at. */
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

/** What was sealed; a text that says why that cannot be trusted. */
function* openFacts(continuation: CodeModeContinuation, extent: Extent): Steps<SealedFacts | string> {
  const facts = openSeal(continuation);
  if (typeof facts === "string") return facts;
  if (facts.version !== 2 || continuation.version !== 2) return "it is of another version";
  const { runId, expiresAtMs, pending } = continuation;
  if (facts.token !== tokenDigestOf(continuation) || facts.expiresAtMs !== expiresAtMs) return ALTERED;
  const told = [runId, pending];
  if (extent === "at once" && (facts.isLarge === true || isLarge(told))) {
    // What was small, and is not any more, is not what was sealed.
    const mayBeSealed = facts.isLarge !== false && typeof runId === "string" && pending.every(isPending);
    return mayBeSealed ? { ...facts, isLarge: true } : ALTERED;
  }
  return facts.pending === (yield* contentDigest(told)) ? facts : ALTERED;
}

function openSeal({ seal }: CodeModeContinuation): SealedFacts | string {
  const opened = continuationSealer().openText(seal, PURPOSE, 0);
  if (opened.ok) return JSON.parse(new TextDecoder().decode(opened.header)) as SealedFacts;
  return opened.problem === "key" ? ANOTHER_KEY : "its continuation was altered or is none";
}

/** What is known of a continuation that was not altered: which outer call and source it is of. */
export type OpenedContinuation = Pick<SealedFacts, "outerToolCallId" | "source">;

/** Throws for one that this host, or one with the same key, did not write. */
export async function openContinuation(continuation: unknown): Promise<OpenedContinuation> {
  const facts = isContinuation(continuation)
    ? await inTurns(openFacts(continuation, "all"))
    : "this is no continuation";
  if (typeof facts === "string") throw refusal(facts);
  return facts;
}

function refusal(why: string): CodeModeProtocolError {
  return new CodeModeProtocolError(`Cannot continue: ${why}`);
}

const tokenDigests = new WeakMap<CodeModeContinuation, readonly [token: string, digest: string]>();

/** Remembered: a token may have megabytes, and one who asks about an interrupt asks again. */
function tokenDigestOf(continuation: CodeModeContinuation): string {
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

/** Whether both are the same JSON, in whatever order their names are. */
export async function isSameJson(one: unknown, other: unknown): Promise<boolean> {
  return one === other || (await inTurns(contentDigest(one))) === (await inTurns(contentDigest(other)));
}

/** The same for equal JSON, in whatever order its names are; that of an empty text for what is no JSON. */
export function* contentDigest(value: unknown): Steps<string> {
  const hash = createHash("sha256");
  try {
    yield* printSteps(value, (piece) => hash.update(piece), { isSorted: true });
    return hash.digest("base64url");
  } catch {
    return digestOf("");
  }
}
