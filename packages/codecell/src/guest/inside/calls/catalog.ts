/**
 * Catalog: the globals of the catalog profile besides `tools` itself. Runs inside the guest.
 *
 * - The catalog stays on the host; a program asks it through calls. `ALL_TOOLS` is there from the start, frozen.
 * - `text` and `json` accept any value and never throw because of it.
 */
import { BEHIND } from "../../abi.ts";
import { encodeAll } from "./encode-all.ts";
import { exposeFixed, exposeGlobal } from "../expose.ts";
import type { GuestCore } from "../guest-core.ts";
import { freeze, jsonParse, primordial, record, withResolvers } from "../primordials.ts";
import type { ToolFunctions } from "./tools.ts";

const { Error } = primordial;

/** The functions of `tools` that are not tools. */
function createHelpers({ ask, callTool }: GuestCore): ToolFunctions {
  const helpers = record<(...args: never[]) => Promise<unknown>>();
  helpers["search"] = freeze((query: unknown, options: unknown) =>
    ask(BEHIND["catalog.search"], { query, options }, new Error()),
  );
  helpers["describe"] = freeze((id: unknown) => ask(BEHIND["catalog.describe"], { id }, new Error()));
  helpers["call"] = freeze((id: unknown, input: unknown) =>
    typeof id === "string" ? callTool(id, input === undefined ? record() : input, new Error()) : notAnId(id),
  );
  return helpers;
}

function notAnId(id: unknown): Promise<never> {
  const { promise, reject } = withResolvers();
  const what = id === null ? "null" : id === undefined ? "undefined" : `a ${typeof id}`;
  reject(new primordial.TypeError(`Cannot use ${what} as an id: expected a string, as in ALL_TOOLS[0].id`));
  return promise as Promise<never>;
}

export function installCatalog(core: GuestCore, allTools: string): void {
  core.addToTools(createHelpers(core));
  core.encodeResultWith(encodeAll);
  const entries = (allTools === "" ? [] : jsonParse(allTools)) as object[];
  for (let index = 0; index < entries.length; index++) freeze(entries[index] as object);
  exposeFixed("ALL_TOOLS", freeze(entries));
  // Methods, so that they have names and are not constructors, like built-ins.
  const globals = {
    text(value: unknown): void {
      core.log("text", typeof value === "string" ? value : toText(value));
    },
    json(value: unknown): void {
      core.log("json", encodeAll(value));
    },
    load_result(ref: unknown, options: unknown): Promise<unknown> {
      return core.ask(BEHIND["catalog.load"], { ref, options }, new Error());
    },
  };
  exposeGlobal("text", globals.text);
  exposeGlobal("json", globals.json);
  exposeGlobal("load_result", globals.load_result);
}

/** Writes a value that encodes to a JSON string without its quotes. */
function toText(value: unknown): string {
  if (value === undefined) return "undefined";
  const written = encodeAll(value);
  return written[0] === '"' ? (jsonParse(written) as string) : written;
}
