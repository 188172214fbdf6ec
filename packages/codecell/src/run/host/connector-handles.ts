/** Used on the host. ConnectorHandles give programs handles of backends; `createHandles` of @codecell/connectors makes them. */
import type { HandleSetting } from "../../contract/handle-setting.ts";
import type { ToolSet } from "../../contract/tool.ts";
import { isRecord } from "../../value/shape.ts";

export interface ConnectorHandles {
  readonly setting: HandleSetting;
  /**
   * Serve the methods of handles, under the names of their calls. As late tools it has the tools of the backends, by
   * their ids.
   */
  readonly tools: ToolSet;
  /** What a model is told of the handles, as TypeScript. */
  readonly declarations: string;
  /** The same handles, where a further policy decides which tools there are. */
  withPolicy(policy: {
    readonly allow?: readonly string[];
    readonly deny?: readonly string[];
  }): ConnectorHandles;
}

export function isHandles(given: unknown): given is ConnectorHandles {
  if (!isRecord(given) || !isRecord(given["tools"]) || !isRecord(given["setting"])) return false;
  if (typeof given["withPolicy"] !== "function" || typeof given["declarations"] !== "string") return false;
  const { root, handles } = given["setting"];
  return typeof root === "string" && isRecord(handles);
}
