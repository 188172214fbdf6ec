/**
 * TanStack AI code mode on its two local drivers, through its own tool (`createCodeModeTool`), default limits.
 *
 * - Its tools are globals named `external_<name>`. One line before the source gives them the name `tools`.
 * - The driver's start-up probe (a child process) is skipped, as its option allows: the bench probes itself.
 */

import { createTranslation, type Contestant, type GuestInput } from "./contestant.ts";
import { importPeer } from "./import-peer.ts";

type ServerTool = { readonly opaque: unique symbol };
type Driver = { readonly opaque: unique symbol };
interface CodeModeResult {
  readonly success: boolean;
  readonly result?: unknown;
  readonly error?: { readonly name?: string; readonly message: string };
}
interface CodeModeTool {
  execute(input: { typescriptCode: string }): Promise<CodeModeResult>;
}
interface TanStackAi {
  toolDefinition(definition: { name: string; description: string; inputSchema: object }): {
    server(execute: (input: GuestInput) => unknown): ServerTool;
  };
}
interface TanStackCodeMode {
  createCodeModeTool(config: {
    driver: Driver;
    tools: readonly ServerTool[];
    timeout?: number;
  }): CodeModeTool;
}

function createTanStack(
  identity: Pick<Contestant, "id" | "name" | "engine" | "nodeFlags">,
  openDriver: () => Promise<Driver>,
): Contestant {
  let ai: TanStackAi;
  let codeMode: TanStackCodeMode;
  let driver: Driver;
  const translated = createTranslation((tools) => {
    const names = Object.keys(tools);
    const aliases = names.map((name) => `${name}: external_${name}`).join(", ");
    const serverTools = Object.entries(tools).map(([name, execute]) =>
      ai
        .toolDefinition({ name, description: `The tool ${name}`, inputSchema: { type: "object" } })
        .server(execute),
    );
    const byTimeout = new Map<number | undefined, CodeModeTool>();
    const toolFor = (timeoutMs: number | undefined): CodeModeTool => {
      let tool = byTimeout.get(timeoutMs);
      if (tool === undefined) {
        const timeout = timeoutMs === undefined ? {} : { timeout: timeoutMs };
        tool = codeMode.createCodeModeTool({ driver, tools: serverTools, ...timeout });
        byTimeout.set(timeoutMs, tool);
      }
      return tool;
    };
    return { head: `const tools = { ${aliases} };\n`, toolFor };
  });
  return {
    ...identity,
    kind: "peer",
    sandbox: true,
    stopsLoops: true,
    open: async () => {
      [ai, codeMode, driver] = await Promise.all([
        importPeer<TanStackAi>("@tanstack/ai"),
        importPeer<TanStackCodeMode>("@tanstack/ai-code-mode"),
        openDriver(),
      ]);
    },
    run: async (source, tools, options = {}) => {
      const { head, toolFor } = translated(tools);
      const result = await toolFor(options.timeoutMs).execute({ typescriptCode: head + source });
      if (!result.success)
        throw new Error(`${result.error?.name ?? "Error"}: ${result.error?.message ?? ""}`);
      return result.result;
    },
    close: async () => {},
  };
}

export function createTanStackIsolatedVm(): Contestant {
  const identity = {
    id: "tanstack-isolated-vm",
    name: "TanStack on isolated-vm",
    engine: "v8",
    nodeFlags: ["--no-node-snapshot"],
  } as const;
  return createTanStack(identity, async () => {
    const library = await importPeer<{ createNodeIsolateDriver(config: { skipProbe: boolean }): Driver }>(
      "@tanstack/ai-isolate-node",
    );
    return library.createNodeIsolateDriver({ skipProbe: true });
  });
}

export function createTanStackQuickJs(): Contestant {
  const identity = { id: "tanstack-quickjs", name: "TanStack on QuickJS", engine: "quickjs" } as const;
  return createTanStack(identity, async () => {
    const library = await importPeer<{ createQuickJSIsolateDriver(): Driver }>(
      "@tanstack/ai-isolate-quickjs",
    );
    return library.createQuickJSIsolateDriver();
  });
}
