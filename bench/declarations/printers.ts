/**
 * How each peer, and Codecell, prints the same tools for a model.
 *
 * - If a peer does not export its printer, the description of its tool is taken, without what it says when there are
 *   no tools.
 * - Only printers that show the same kinds of things are compared.
 */
import { importPeer } from "../contestants/import-peer.ts";
import { SELF } from "../contestants/index.ts";

export interface ListedTool {
  readonly name: string;
  readonly description: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly output?: Readonly<Record<string, unknown>>;
}

export interface Printer {
  readonly id: string;
  /** The name in the table, with what its reader should know. */
  readonly name: string;
  readonly open: () => Promise<(tools: readonly ListedTool[]) => string | Promise<string>>;
}

const execute = (): null => null;

type Described = { readonly description: string };
interface AiSdk {
  readonly jsonSchema: (schema: object) => object;
  readonly tool: (definition: object) => object;
}
type CreateCodeModeTool = (tools: Readonly<Record<string, object>>) => Described;

async function openAiSdk(specifier: string, name: string): Promise<(tools: readonly ListedTool[]) => string> {
  const { jsonSchema, tool } = await importPeer<AiSdk>("ai");
  const create = (await importPeer<Readonly<Record<string, CreateCodeModeTool>>>(specifier))[name];
  if (create === undefined) throw new Error(`${specifier} has no ${name}`);
  return (tools) =>
    create(
      byName(tools, ({ description, input, output }) =>
        tool({
          description,
          inputSchema: jsonSchema(input),
          ...(output === undefined ? {} : { outputSchema: jsonSchema(output) }),
          execute,
        }),
      ),
    ).description;
}

function byName<T>(tools: readonly ListedTool[], make: (tool: ListedTool) => T): Record<string, T> {
  return Object.fromEntries(tools.map((tool) => [tool.name, make(tool)]));
}

function codecell(id: string, docs: "full" | "none" | number): Printer {
  return {
    id,
    name: `Codecell, docs: ${JSON.stringify(docs)}`,
    open: async () => {
      const { renderDeclarations } = await import("codecell/declare");
      return (tools) =>
        renderDeclarations(
          byName(tools, ({ description, input, output }) => ({ description, input, output, execute })),
          { docs, maxCharacters: 10_000_000 },
        );
    },
  };
}

/** A schema without its descriptions. */
function bare(schema: ListedTool["input"]): ListedTool["input"] {
  return JSON.parse(
    JSON.stringify(schema, (key, value: unknown) =>
      key === "description" && typeof value === "string" ? undefined : value,
    ),
  ) as ListedTool["input"];
}

/** Each shows types, descriptions of tools and descriptions of fields. */
export const DESCRIBE_FIELDS: readonly Printer[] = [
  codecell(SELF, "full"),
  {
    id: "json-schema-to-typescript",
    name: "json-schema-to-typescript, with a line for each call",
    open: async () => {
      interface Peer {
        readonly compile: (schema: object, name: string, options: object) => Promise<string>;
      }
      const { compile } = await importPeer<Peer>("json-schema-to-typescript");
      return async (tools) => {
        const types: string[] = [];
        for (const { name, description, input, output } of tools) {
          types.push(await compile(structuredClone(input), `${name}_input`, { bannerComment: "" }));
          if (output !== undefined)
            types.push(await compile(structuredClone(output), `${name}_output`, { bannerComment: "" }));
          const result = output === undefined ? "unknown" : `${name}_output`;
          types.push(
            `/** ${description} */\ndeclare function ${name}(input: ${name}_input): Promise<${result}>;`,
          );
        }
        return types.join("\n");
      };
    },
  },
  {
    id: "experimental-ai-sdk-code-mode",
    name: "experimental-ai-sdk-code-mode, with examples of calls",
    open: () => openAiSdk("experimental-ai-sdk-code-mode", "createCodeModeTool"),
  },
  {
    id: "ai-sdk-code-mode",
    name: "@ai-sdk/code-mode, with examples of calls",
    open: () => openAiSdk("@ai-sdk/code-mode", "experimental_createCodeModeTool"),
  },
  {
    id: "cloudflare-codemode",
    name: "@cloudflare/codemode, its browser entry, which loads in Node.js",
    open: async () => {
      interface Peer {
        readonly createBrowserCodeTool: (options: object) => Described;
      }
      const { createBrowserCodeTool } = await importPeer<Peer>("@cloudflare/codemode/browser");
      return (tools) => {
        const described = byName(tools, ({ description, input, output }) => ({
          description,
          inputSchema: input,
          outputSchema: output,
          execute,
        }));
        return createBrowserCodeTool({ tools: described, executor: { execute } }).description;
      };
    },
  },
];

/** Each shows types and descriptions of tools; TanStack's printer never shows those of fields. */
export const DESCRIBE_TOOLS: readonly Printer[] = [
  {
    id: SELF,
    name: "Codecell, schemas without descriptions",
    open: async () => {
      const print = await codecell(SELF, "full").open();
      return (tools) =>
        print(
          tools.map(({ name, description, input, output }) => ({
            name,
            description,
            input: bare(input),
            ...(output === undefined ? {} : { output: bare(output) }),
          })),
        );
    },
  },
  {
    id: "tanstack-code-mode",
    name: "TanStack, unknown where it does not understand",
    open: async () => {
      interface Peer {
        readonly generateTypeStubs: (bindings: object) => string;
      }
      const { generateTypeStubs } = await importPeer<Peer>("@tanstack/ai-code-mode");
      return (tools) =>
        generateTypeStubs(
          byName(tools, ({ name, description, input, output }) => ({
            name,
            description,
            inputSchema: input,
            outputSchema: output,
            execute,
          })),
        );
    },
  },
];

/** What Codecell can leave out. No peer is comparable. */
export const DESCRIBE_LESS: readonly Printer[] = [
  codecell("codecell:120", 120),
  codecell("codecell:none", "none"),
];
