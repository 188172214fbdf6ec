/**
 * Runs on the host. The items of a server's lists, as a connector gives them: without what is no concern of programs, in an
 * order that does not depend on the server, and frozen.
 */
import type { Prompt, Resource, ResourceTemplateType, Tool } from "@modelcontextprotocol/client";
import type {
  BackendPrompt,
  BackendResource,
  BackendResourceTemplate,
  BackendTool,
} from "../contract/connector.ts";
import type { LeftOut } from "./list-bounds.ts";

export interface ListedTool {
  readonly tool: BackendTool;
  /** As the client wants to see it again when the tool is called. */
  readonly definition: Tool;
}

export function listedTools(tools: readonly Tool[], leftOut: LeftOut): readonly ListedTool[] {
  return inOrder(tools, ({ name }) => name, leftOut).map((definition) => {
    const { name, title, description, inputSchema, outputSchema, annotations = {} } = definition;
    const tool: BackendTool = {
      name,
      ...present({ title: title ?? annotations.title, description }),
      inputSchema,
      ...(outputSchema !== undefined && { outputSchema }),
      ...present({
        readOnlyHint: annotations.readOnlyHint,
        destructiveHint: annotations.destructiveHint,
        idempotentHint: annotations.idempotentHint,
      }),
    };
    return frozen({ tool, definition: { name, inputSchema } });
  });
}

export function listedResources(
  resources: readonly Resource[],
  leftOut: LeftOut,
): readonly BackendResource[] {
  return inOrder(resources, ({ uri }) => uri, leftOut).map(({ uri, name, title, description, mimeType }) =>
    frozen({ uri, ...present({ name, title, description, mimeType }) }),
  );
}

export function listedTemplates(
  templates: readonly ResourceTemplateType[],
  leftOut: LeftOut,
): readonly BackendResourceTemplate[] {
  return inOrder(templates, ({ uriTemplate }) => uriTemplate, leftOut).map(
    ({ uriTemplate, name, title, description, mimeType }) =>
      frozen({ uriTemplate, ...present({ name, title, description, mimeType }) }),
  );
}

export function listedPrompts(prompts: readonly Prompt[], leftOut: LeftOut): readonly BackendPrompt[] {
  return inOrder(prompts, ({ name }) => name, leftOut).map((prompt) => {
    const { name, title, description } = prompt;
    const args = prompt.arguments?.map((one) => ({
      name: one.name,
      ...present({ description: one.description, required: one.required }),
    }));
    return frozen({ name, ...present({ title, description, arguments: args }) });
  });
}

/** Of items with the same name the first counts. */
function inOrder<T>(items: readonly T[], nameOf: (item: T) => string, leftOut: LeftOut): T[] {
  const first = new Map<string, T>();
  for (const item of items) {
    const name = nameOf(item);
    // A name that were cut might end with a part of a secret.
    if (first.has(name)) leftOut.add(`${name.length > 100 ? "an entry" : `"${name}"`} is there twice`);
    else first.set(name, item);
  }
  return [...first].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, item]) => item);
}

/** What the server said at all. */
function present<T extends Readonly<Record<string, unknown>>>(
  fields: T,
): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}

function frozen<T extends object>(value: T): T {
  const open: object[] = [value];
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    if (Object.isFrozen(one)) continue;
    Object.freeze(one);
    for (const inner of Object.values(one))
      if (typeof inner === "object" && inner !== null) open.push(inner as object);
  }
  return value;
}
