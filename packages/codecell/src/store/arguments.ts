/**
 * Runs on the host. Checks, copies and completes the arguments of a store's methods.
 *
 * Every database can keep what passes here. Misuse throws before anything happens.
 */
import { assertNames, type OptionNames } from "../contract/assert-names.ts";
import {
  type Claim,
  type EndedBounds,
  type EndedStatus,
  type Lease,
  type ListQuery,
  type RunFacts,
  type RunStatus,
  STORE_TEXT_BYTES,
  STORE_TOOL_NAMES,
} from "../contract/store.ts";
import type { ListPage } from "./driver.ts";

const LIST_DEFAULT = 100;
const LIST_MOST = 1000;
const STATUSES: ReadonlySet<RunStatus> = new Set(["running", "suspended", "completed", "failed"]);
const LIVE: readonly RunStatus[] = ["running", "suspended"];

const OF_LIST: OptionNames<ListQuery> = {
  status: true,
  scope: true,
  claimable: true,
  createdFrom: true,
  createdBefore: true,
  order: true,
  after: true,
  limit: true,
};

/** One page for ended runs and one for runs that go on, as far as the query asks for them. */
export function resolvePages(query: ListQuery): ListPage[] {
  // A misspelt scope would list the runs of all scopes.
  assertNames(query, OF_LIST, "list runs");
  const { scope, claimable = false, order = "id", after, limit = LIST_DEFAULT } = query;
  const { status = LIVE, createdFrom = 0, createdBefore = Number.MAX_SAFE_INTEGER } = query;
  if (scope !== undefined) checkText("scope", scope);
  if (order !== "id" && order !== "newest")
    throw new TypeError(`Cannot list runs by "${String(order)}": expected "id" or "newest"`);
  for (const [name, value] of Object.entries({ limit, createdFrom, createdBefore }))
    checkInteger(name, value);
  const asked = new Set(typeof status === "string" ? [status] : status);
  for (const one of asked) {
    if (!STATUSES.has(one)) throw new TypeError(`Cannot list runs of the status "${one}"`);
  }
  const common = {
    scope,
    isClaimable: claimable,
    createdFrom,
    createdBefore,
    order,
    after: resolvePlace(after, order),
    limit: Math.min(Math.max(limit, 1), LIST_MOST),
  };
  return [false, true].flatMap((isEnded) => {
    // Nobody can claim an ended run.
    if (isEnded && claimable) return [];
    const of = [...asked].filter((one) => isLive(one) !== isEnded);
    return of.length === 0 ? [] : [{ ...common, isEnded, status: of.length === 1 ? of[0] : undefined }];
  });
}

function isLive(status: RunStatus): status is Exclude<RunStatus, EndedStatus> {
  return LIVE.includes(status);
}

function resolvePlace(after: ListQuery["after"], order: "id" | "newest"): ListPage["after"] {
  if (after === undefined || after === "") return undefined;
  if (typeof after === "string") {
    if (order === "newest") {
      throw new TypeError(
        "Cannot list the newest runs after an id alone: its createdAt is missing, give the last summary",
      );
    }
    checkText("after", after);
    return { id: after, createdAt: 0 };
  }
  checkText("after", after.id);
  checkInteger("createdAt", after.createdAt);
  return { id: after.id, createdAt: after.createdAt };
}

export function checkClaim({ id, fence }: Claim): Claim {
  checkId(id);
  checkInteger("fence", fence);
  return { id, fence };
}

export function checkLease({ owner, ms }: Lease): Lease {
  checkText("owner", owner);
  checkLeaseMs(ms);
  return { owner, ms };
}

export function checkLeaseMs(ms: number): void {
  checkInteger("lease", ms);
  // The sum of a clock and this span has to stay a safe integer.
  if (ms < 0 || ms > Number.MAX_SAFE_INTEGER / 2) {
    throw new RangeError(`Cannot lease for ${ms} ms: it is not a span of time`);
  }
}

export function checkCall(call: number): void {
  checkInteger("call", call);
  if (call < 0) throw new RangeError(`Cannot use ${call} as the index of a call: it is negative`);
}

export function checkBounds({ runs, bytes }: EndedBounds): EndedBounds {
  for (const [name, value] of Object.entries({ runs, bytes })) {
    checkInteger(name, value);
    if (value < 0) throw new RangeError(`Cannot keep ${value} ${name} of ended runs: it is negative`);
  }
  return { runs, bytes };
}

export function checkInteger(name: string, value: number): void {
  if (!Number.isSafeInteger(value))
    throw new RangeError(`Cannot use ${value} as ${name}: expected a whole number`);
}

export function checkId(id: string): void {
  checkText("id", id);
  if (id === "") throw new RangeError("Cannot use an empty id: expected at least one character");
}

export function checkText(name: string, text: string): void {
  if (typeof text !== "string")
    throw new TypeError(`Cannot use a ${typeof text} as ${name}: expected a string`);
  if (!text.isWellFormed() || text.includes("\0")) {
    throw new TypeError(`Cannot use this ${name}: it has a lone surrogate or NUL`);
  }
  // A string has at least as many bytes as units, so a huge string is refused without encoding it.
  if (text.length > STORE_TEXT_BYTES || Buffer.byteLength(text) > STORE_TEXT_BYTES) {
    throw new RangeError(`Cannot use this ${name}: more than ${STORE_TEXT_BYTES} bytes in UTF-8`);
  }
}

/** The facts as drivers keep them: JSON without NUL and without lone surrogates. */
export function toFactsText({ calls, failed, pending, tools }: RunFacts = NO_FACTS): string {
  for (const [name, count] of Object.entries({ calls, failed, pending })) {
    checkInteger(name, count);
    if (count < 0) throw new RangeError(`Cannot use ${count} as ${name}: it is negative`);
  }
  if (tools === undefined) return JSON.stringify({ calls, failed, pending });
  for (const tool of tools) checkText("tool", tool);
  const bytes = tools.reduce((sum, tool) => sum + Buffer.byteLength(tool), 0);
  if (tools.length > STORE_TOOL_NAMES || bytes > STORE_TEXT_BYTES) {
    throw new RangeError(
      `Cannot name these tools: expected at most ${STORE_TOOL_NAMES} names with ${STORE_TEXT_BYTES} bytes together`,
    );
  }
  return JSON.stringify({ calls, failed, pending, tools });
}

const NO_FACTS: RunFacts = { calls: 0, failed: 0, pending: 0 };

/** A driver has no facts of runs that older versions put; then nothing is known to have been called. */
export function fromFactsText(text: string): RunFacts {
  return text === "" ? NO_FACTS : (JSON.parse(text) as RunFacts);
}

export function copyOf(bytes: Uint8Array): Uint8Array {
  if (!(bytes instanceof Uint8Array)) throw new TypeError("Cannot store this value: expected a Uint8Array");
  return new Uint8Array(bytes);
}
