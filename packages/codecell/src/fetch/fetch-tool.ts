/**
 * Runs on the host. The tool that serves the fetches of one run under its fetch policy.
 *
 * - A run that was resumed without a policy has this tool too: it refuses every fetch and says what to do.
 * - A body in UTF-8 crosses as text, any other body as base64. Cookies that a server sets do not cross.
 */
import type { Limits } from "../contract/limits.ts";
import type { AnyTool } from "../contract/tool.ts";
import { utf8Bytes } from "../value/json-text.ts";
import type { ResolvedFetchPolicy } from "./policy.ts";
import { BodyTooLarge, cancelBody, readBody } from "./read-body.ts";
import { refusal } from "./refuse.ts";
import { parseRequest } from "./request.ts";
import { type FetchAnswer, failed, send } from "./send.ts";
import { CallRefusal } from "../calls/call-failure.ts";

/** A response as it crosses to the guest. */
interface FetchedResponse {
  readonly url: string;
  readonly status: number;
  readonly statusText: string;
  readonly redirected: boolean;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly bodyBase64?: string;
}

const WITHHELD: ReadonlySet<string> = new Set(["set-cookie", "set-cookie2"]);
/** JSON writes one character with at most six. */
const LARGEST_ESCAPE = 6;
const LONGEST_STATUS_TEXT = 256;

/** `ignoreBOM` keeps a byte order mark in the text: the guest has to get every byte. */
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function createFetchTool(
  policy: ResolvedFetchPolicy | undefined,
  { callOutputBytes }: Pick<Limits, "callOutputBytes">,
): AnyTool {
  return {
    execute: async (input: unknown, { signal }) => {
      if (policy === undefined) {
        throw new CallRefusal(
          "fetch_failed",
          "Cannot fetch: the run has no fetch policy here, resume or fork it with fetchPolicy",
        );
      }
      const { request, redirect } = parseRequest(input, policy);
      const answer = await send(request, redirect, policy, signal);
      const record = toRecord(answer, await bodyOf(answer, policy, callOutputBytes, signal));
      assertCrosses(record, callOutputBytes);
      return record;
    },
  };
}

async function bodyOf(
  { response, url, method }: FetchAnswer,
  { maxResponseBytes }: ResolvedFetchPolicy,
  callOutputBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array> {
  // The content-length of a HEAD response belongs to the body of a GET.
  if (method === "HEAD") {
    cancelBody(response);
    return new Uint8Array();
  }
  const most = Math.min(maxResponseBytes, callOutputBytes);
  try {
    return await readBody(response, most, signal);
  } catch (error) {
    if (!(error instanceof BodyTooLarge)) throw failed(url.href, error, signal);
    const bound = most < maxResponseBytes ? "limits.callOutputBytes" : "the fetch policy";
    throw refusal(
      url.href,
      `the response has more than the ${most} bytes that ${bound} allows, ask for less at once`,
    );
  }
}

function toRecord({ response, url, redirected }: FetchAnswer, bytes: Uint8Array): FetchedResponse {
  const headers: [string, string][] = [];
  response.headers.forEach((value, name) => {
    if (!WITHHELD.has(name.toLowerCase())) headers.push([name.toLowerCase(), value]);
  });
  const { status } = response;
  // A fetch function of the host's programmer may leave the status text out.
  const statusText: unknown = response.statusText;
  return {
    url: url.href,
    status,
    statusText: typeof statusText === "string" ? statusText.slice(0, LONGEST_STATUS_TEXT) : "",
    redirected,
    headers: Object.fromEntries(headers),
    ...toBody(bytes),
  };
}

function toBody(bytes: Uint8Array): Pick<FetchedResponse, "body" | "bodyBase64"> {
  try {
    return { body: decoder.decode(bytes) };
  } catch {
    return { bodyBase64: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64") };
  }
}

/**
 * Refuses in words about the response. The usual message is about a tool's output, which means nothing to a program
 * that fetched.
 */
function assertCrosses(record: FetchedResponse, callOutputBytes: number): void {
  const { body = "", bodyBase64 = "", headers } = record;
  const size = JSON.stringify({ ...record, headers, body: "", bodyBase64: "" }).length;
  if (size + bodyBase64.length + LARGEST_ESCAPE * body.length <= callOutputBytes) return;
  const bytes = utf8Bytes(JSON.stringify(record));
  if (bytes <= callOutputBytes) return;
  throw refusal(
    record.url,
    `the response takes ${bytes} bytes on its way to the program, limits.callOutputBytes allows ${callOutputBytes}, ask for less at once`,
  );
}
