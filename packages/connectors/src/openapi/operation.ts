/** Operations: the tools of a description of OpenAPI, and where each is. Runs on the host. */
import type { BackendTool } from "../contract/connector.ts";
import { describedTool, planOf } from "../description/described-tools.ts";
import type { Described, OperationPlan, Server } from "./description/messages.ts";

export interface Operation {
  readonly tool: BackendTool;
  readonly method: string;
  readonly base: URL;
  readonly plan: () => OperationPlan;
}

/** `baseOf` says where an operation is, or that it cannot be called. */
export function operationsOf(
  described: Described,
  baseOf: (servers: readonly Server[] | undefined) => URL | undefined,
): ReadonlyMap<string, Operation> {
  return new Map(
    described.operations.flatMap((text) => {
      const base = baseOf(text.servers);
      if (base === undefined) return [];
      const plan = (): OperationPlan => planOf(described, text) as OperationPlan;
      return [[text.name, { tool: describedTool(described, text), method: text.method, base, plan }]];
    }),
  );
}
