/**
 * SetContext: resources, templates, prompts and completions of a set's members, by `<member>.<uri or name>`. Runs on the
 * host.
 *
 * - What is in an answer is the member's own, also the uris in it.
 */
import type {
  BackendOutput,
  BackendPrompt,
  BackendRequest,
  BackendResource,
  BackendResourceTemplate,
  Completed,
  Completion,
  Context,
} from "../contract/connector.ts";
import { ConnectorError, type ConnectorErrorCode } from "../contract/connector-error.ts";
import type { Lists, Member } from "./member.ts";

export interface SetContextOptions {
  /** The id of the set. */
  readonly set: string;
  readonly list: <Name extends keyof Lists>(
    name: Name,
    request: BackendRequest,
  ) => Promise<readonly Lists[Name][]>;
  /** Finds the member of a name, and asks it. */
  readonly ask: <T>(question: Question<T>, request: BackendRequest) => Promise<T>;
}

export interface Question<T> {
  /** In the words of a message: `calling "github.create_issue"`. */
  readonly what: string;
  /** With the member's id before it. */
  readonly name: string;
  /** What it means that there is no such member. */
  readonly code: ConnectorErrorCode;
  readonly put: (member: Member, own: string, signal: AbortSignal) => Promise<T>;
}

export class SetContext implements Context {
  readonly #options: SetContextOptions;

  constructor(options: SetContextOptions) {
    this.#options = options;
  }

  resources(request: BackendRequest): Promise<readonly BackendResource[]> {
    return this.#options.list("resources", request);
  }

  resourceTemplates(request: BackendRequest): Promise<readonly BackendResourceTemplate[]> {
    return this.#options.list("resourceTemplates", request);
  }

  prompts(request: BackendRequest): Promise<readonly BackendPrompt[]> {
    return this.#options.list("prompts", request);
  }

  readResource(uri: string, request: BackendRequest): Promise<BackendOutput> {
    const question = { what: `reading "${uri}"`, name: uri, code: "DOWNSTREAM_RESOURCE_ERROR" as const };
    return this.#ask(question, request, (context, own, signal) => context.readResource(own, { signal }));
  }

  getPrompt(
    name: string,
    args: Readonly<Record<string, string>>,
    request: BackendRequest,
  ): Promise<BackendOutput> {
    const question = { what: `getting the prompt "${name}"`, name, code: "PROMPT_NOT_FOUND" as const };
    return this.#ask(question, request, (context, own, signal) => context.getPrompt(own, args, { signal }));
  }

  complete(completion: Completion, request: BackendRequest): Promise<Completed> {
    const { ref, argument } = completion;
    const name = ref.type === "prompt" ? ref.name : ref.uri;
    const code = ref.type === "prompt" ? "PROMPT_NOT_FOUND" : "DOWNSTREAM_COMPLETION_ERROR";
    return this.#ask(
      { what: `completing "${argument.name}"`, name, code },
      request,
      (context, own, signal) => {
        const ownRef: Completion["ref"] =
          ref.type === "prompt" ? { type: "prompt", name: own } : { type: "resourceTemplate", uri: own };
        return context.complete({ ...completion, ref: ownRef }, { signal });
      },
    );
  }

  #ask<T>(
    question: Omit<Question<T>, "put">,
    request: BackendRequest,
    put: (context: Context, own: string, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    return this.#options.ask(
      {
        ...question,
        put: ({ connector: { id, kind, context } }, own, signal) => {
          if (context !== undefined) return put(context, own, signal);
          const message = `Cannot go on with ${question.what}: "${id}" is of kind "${kind}", which has neither resources nor prompts`;
          throw new ConnectorError(id, "UNSUPPORTED_OPERATION", message, { hasNoEffect: true });
        },
      },
      request,
    );
  }
}
