/**
 * Runs on the host. Questions: what an MCP server asks while it is asked something: a person, a model, where it may work.
 *
 * - The server is told that it may ask only of what the host answers. Questions out of nowhere are refused.
 * - They are bounded in size, number and time, and end when nobody asks the server anything any more. While the host answers
 *   no other time-out of the connector runs.
 * - The host sees no secret of the connector. The server sees no word of an error of the host's.
 */
import {
  type Client,
  type ClientCapabilities,
  type ElicitRequest,
  type ElicitRequestFormParams,
  type ElicitRequestURLParams,
  type ElicitResult,
  ProtocolError,
  ProtocolErrorCode,
  type CreateMessageRequest,
  type CreateMessageResult,
} from "@modelcontextprotocol/client";
import type { Json } from "codecell";
import { bounded } from "../../backend/bounded.ts";
import { hideInData } from "../../backend/hide-in-data.ts";
import type { HiddenTexts } from "../../backend/hidden-texts.ts";
import type { Pauses } from "../../backend/pauses.ts";
import { ConnectorError } from "../../contract/connector-error.ts";
import { filledIn } from "./form.ts";
import type {
  ElicitAnswer,
  QuestionSettings,
  SampleAnswer,
  SampleContent,
  SampleQuestion,
} from "./options.ts";

export interface QuestionsOptions {
  readonly id: string;
  readonly settings: QuestionSettings;
  readonly hidden: HiddenTexts;
  readonly pauses: Pauses;
}

/** More than any form has, and what a model is sent with a few pictures. */
const MOST_FORM_CHARACTERS = 100_000;
const MOST_SAMPLE_CHARACTERS = 4_000_000;
const MOST_OPEN = 8;
const MOST_IN_A_MINUTE = 30;
const MINUTE_MS = 60_000;

export class Questions {
  readonly #options: QuestionsOptions;
  /** What the server is asked now. */
  #asked = 0;
  #over = new AbortController();
  #open = 0;
  #recent: number[] = [];

  constructor(options: QuestionsOptions) {
    this.#options = options;
  }

  get capabilities(): ClientCapabilities {
    const { onElicit, onElicitUrl, onSample, roots } = this.#options.settings;
    const forms = onElicit !== undefined && { form: { applyDefaults: true } };
    const urls = onElicitUrl !== undefined && { url: {} };
    return {
      ...((forms !== false || urls !== false) && { elicitation: { ...forms, ...urls } }),
      ...(onSample !== undefined && { sampling: {} }),
      ...(roots !== undefined && { roots: {} }),
    };
  }

  /** Whether the host answers anything. */
  get areAnswered(): boolean {
    return Object.keys(this.capabilities).length > 0;
  }

  attach(client: Client): void {
    const { elicitation, sampling, roots } = this.capabilities;
    if (elicitation !== undefined)
      client.setRequestHandler("elicitation/create", ({ params }, { mcpReq }) =>
        this.#elicit(params, mcpReq.signal),
      );
    if (sampling !== undefined)
      client.setRequestHandler("sampling/createMessage", ({ params }, { mcpReq }) =>
        this.#sample(params, mcpReq.signal),
      );
    if (roots !== undefined)
      client.setRequestHandler("roots/list", () => ({
        roots: [...(this.#options.settings.roots ?? [])],
      }));
  }

  /** While the work lasts the server may ask. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#asked++;
    try {
      return await work();
    } finally {
      this.#asked--;
      if (this.#asked === 0) {
        this.#over.abort(new DOMException("Nobody asks the server anything any more", "AbortError"));
        this.#over = new AbortController();
      }
    }
  }

  #elicit(params: ElicitRequest["params"], signal: AbortSignal): Promise<ElicitResult> {
    return this.#admitted(signal, async (told) => {
      const shown = await this.#shown(params, MOST_FORM_CHARACTERS);
      return shown.mode === "url" ? this.#page(shown, told) : this.#form(shown, told);
    });
  }

  async #page({ message, url: shown }: ElicitRequestURLParams, signal: AbortSignal): Promise<ElicitResult> {
    const { id, settings } = this.#options;
    const { onElicitUrl } = settings;
    const url = URL.parse(shown);
    if (onElicitUrl === undefined || url === null || !/^https?:$/u.test(url.protocol))
      throw refusal("The page is none that can be opened");
    const answer = await this.#answered(signal, (told) =>
      onElicitUrl({ connector: id, message, url, signal: told }),
    );
    return { action: actionOf(answer) };
  }

  async #form(
    { message, requestedSchema }: ElicitRequestFormParams,
    signal: AbortSignal,
  ): Promise<ElicitResult> {
    const { id, settings } = this.#options;
    const { onElicit } = settings;
    if (onElicit === undefined) throw refusal("Nobody fills in forms");
    const answer = await this.#answered<ElicitAnswer>(signal, (told) =>
      onElicit({ connector: id, message, requestedSchema: requestedSchema, signal: told }),
    );
    const action = actionOf(answer);
    if (answer === undefined || answer.action !== "accept") return { action };
    const filled = filledIn(requestedSchema, answer.content);
    if ("wrong" in filled) throw failure();
    return { action, content: filled.content as Record<string, string | number | boolean | string[]> };
  }

  #sample(params: CreateMessageRequest["params"], signal: AbortSignal): Promise<CreateMessageResult> {
    const { onSample } = this.#options.settings;
    if (onSample === undefined || params.tools !== undefined || params.toolChoice !== undefined)
      return Promise.reject(refusal("No model answers with tools"));
    return this.#admitted(signal, async (told) => {
      const shown = await this.#shown(params, MOST_SAMPLE_CHARACTERS);
      const { messages, maxTokens, systemPrompt, temperature, stopSequences, modelPreferences } = shown;
      const question: Omit<SampleQuestion, "signal"> = {
        connector: this.#options.id,
        messages: messages as unknown as SampleQuestion["messages"],
        maxTokens,
        ...(systemPrompt !== undefined && { systemPrompt }),
        ...(temperature !== undefined && { temperature }),
        ...(stopSequences !== undefined && { stopSequences }),
        ...(modelPreferences !== undefined && { modelPreferences: modelPreferences as Json }),
      };
      const answer = await this.#answered(told, (over) => onSample({ ...question, signal: over }));
      if (answer === undefined || !isSampleAnswer(answer)) throw failure();
      const { model, content, stopReason } = answer;
      return { role: "assistant", model, content, ...(stopReason !== undefined && { stopReason }) };
    });
  }

  /** Before anything is done with a question, as there may be many. */
  async #admitted<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.#asked === 0) throw refusal("Nobody has asked the server anything");
    const start = performance.now();
    this.#recent = this.#recent.filter((at) => start - at < MINUTE_MS);
    if (this.#open >= MOST_OPEN || this.#recent.length >= MOST_IN_A_MINUTE)
      throw refusal("These are too many questions");
    this.#recent.push(start);
    this.#open++;
    try {
      return await work(AbortSignal.any([signal, this.#over.signal]));
    } finally {
      this.#open--;
    }
  }

  /** What the host may see of a question. */
  async #shown<T>(params: T, mostCharacters: number): Promise<T> {
    if (JSON.stringify(params).length > mostCharacters) throw refusal("The question is too large");
    return (await hideInData(params, this.#options.hidden)) as T;
  }

  /** Undefined: there is no answer in time. */
  async #answered<T>(signal: AbortSignal, ask: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
    const { id, settings, pauses } = this.#options;
    const { questionTimeoutMs: timeoutMs } = settings;
    const bound = { connector: id, what: "waiting for the host", timeoutMs, signal };
    try {
      return await pauses.during(() => bounded(bound, async (told) => ask(told)));
    } catch (error) {
      if (error instanceof ConnectorError) return undefined;
      throw failure();
    }
  }
}

function refusal(why: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidRequest, why);
}

/** Whatever went wrong in the host is no concern of the server's. */
function failure(): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InternalError, "The host could not answer");
}

const ACTIONS = ["accept", "decline", "cancel"] as const;

/** Without an answer the question was not answered, which is neither yes nor no. */
function actionOf(answer: { readonly action: ElicitAnswer["action"] } | undefined): ElicitAnswer["action"] {
  if (answer === undefined) return "cancel";
  // What a host gives may be anything.
  const given = answer as typeof answer | null;
  const action = ACTIONS.find((one) => one === given?.action);
  if (action === undefined) throw failure();
  return action;
}

function isSampleAnswer(answer: SampleAnswer): boolean {
  const { model, content, stopReason } = (answer as Partial<SampleAnswer> | null) ?? {};
  if (typeof model !== "string" || !isSampleContent(content)) return false;
  return stopReason === undefined || typeof stopReason === "string";
}

function isSampleContent(content: SampleContent | undefined): boolean {
  if (content?.type === "text") return typeof content.text === "string";
  if (content?.type !== "image" && content?.type !== "audio") return false;
  return typeof content.data === "string" && typeof content.mimeType === "string";
}
