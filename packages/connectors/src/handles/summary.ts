/** Runs on the host. What handles tell of tools, resources and prompts in lists: enough to choose, no schemas. */
import type { Json } from "codecell";
import type {
  BackendPrompt,
  BackendResource,
  BackendResourceTemplate,
  BackendTool,
  Connector,
} from "../contract/connector.ts";
import { cut, present } from "../tools/values.ts";

const LONGEST_DESCRIPTION = 160;

export type Summary = Readonly<Record<string, Json>>;

export function toToolSummary(tool: BackendTool, isWhole = false): Summary {
  const { name, title, description, useWhen, avoidWhen, readOnlyHint, destructiveHint } = tool;
  return present({
    name,
    title,
    description: isWhole ? description : shorten(description),
    useWhen,
    avoidWhen,
    readOnlyHint,
    destructiveHint,
  });
}

export function toResourceSummary({ uri, name, title, description, mimeType }: BackendResource): Summary {
  return present({ uri, name, title, description: shorten(description), mimeType });
}

export function toTemplateSummary(template: BackendResourceTemplate): Summary {
  const { uriTemplate, name, title, description, mimeType } = template;
  return present({ uriTemplate, name, title, description: shorten(description), mimeType });
}

export function toPromptSummary({ name, title, description, arguments: args }: BackendPrompt): Summary {
  const known = args?.map((one) =>
    present({ name: one.name, description: shorten(one.description), required: one.required }),
  );
  return present({ name, title, description: shorten(description), arguments: known });
}

/** Whole sentences if the first one is short enough. */
function shorten(text: string | undefined): string | undefined {
  if (text === undefined || text.length <= LONGEST_DESCRIPTION) return text;
  const start = text.slice(0, LONGEST_DESCRIPTION);
  const sentence = Math.max(start.lastIndexOf(". "), start.lastIndexOf(".\n"));
  return sentence > 0 ? start.slice(0, sentence + 1) : cut(text, LONGEST_DESCRIPTION);
}

/** What the backend is for, and what a program may know of how it is reached. */
export function toCard({ id, kind, card, facts }: Connector): Summary {
  const { name, description, useWhen, avoidWhen, tags } = card;
  const backend = { ...facts, kind };
  return present({ id, name, description, useWhen, avoidWhen, tags: tags && [...tags], backend });
}
