/**
 * Connectors: the root object with a handle for each backend. Runs inside the guest.
 *
 * - Reads like an object with one handle per id; nothing can be added, changed or removed. A handle is made when the
 *   program first asks for it.
 * - Methods that tell of a failure in their result never throw because a call failed. All other methods do.
 * - `callTool` is a call of the tool itself, by its id, so that policies and approvals see the tool.
 */
import { BEHIND } from "../../abi.ts";
import type { HandleSetting } from "../../../contract/handle-setting.ts";
import type { Ask } from "./call-watch.ts";
import { exposeNamespace } from "./namespace.ts";
import type { GuestCore } from "../guest-core.ts";
import { isOutOfMemory } from "../harden.ts";
import {
  dateNow,
  freeze,
  jsonParse,
  keys,
  numberToString,
  ownData,
  primordial,
  promiseThen,
  record,
  regExpExec,
  stringCharAt,
  stringCharCodeAt,
  stringCodePointAt,
  stringSlice,
  withResolvers,
} from "../primordials.ts";

const { Error } = primordial;
// Captured before any program runs.
const { encodeURIComponent } = globalThis;

const LONGEST_MESSAGE = 1000;

/** Codes of failed calls, as handles tell them. Others are told as they are. */
const CODES: Readonly<Record<string, string>> = {
  __proto__: null as never,
  unknown_tool: "TOOL_NOT_FOUND",
  invalid_input: "REQUEST_INVALID",
  input_limit: "REQUEST_INVALID",
  denied: "CALL_DENIED",
  tool_failed: "DOWNSTREAM_TOOL_ERROR",
  invalid_output: "DOWNSTREAM_PROTOCOL_ERROR",
  output_limit: "RESPONSE_TOO_LARGE",
  outcome_unknown: "OUTCOME_UNKNOWN",
};

type Handle = Readonly<Record<string, unknown>>;

export function installConnectors(core: GuestCore, text: string): void {
  const { root, handles: prefixes } = jsonParse(text) as HandleSetting;
  const made = record<Handle>();
  const handleOf = (id: string): Handle =>
    (made[id] ??= createHandle(core, root, id, prefixes[id] as string));
  exposeNamespace({ name: root, members: prefixes, valueOf: handleOf });
}

/** What a method gives the program for the outcome of its call. */
interface Answers {
  readonly fulfilled: (data: unknown) => unknown;
  readonly rejected: (thrown: unknown) => unknown;
}

function createHandle(core: GuestCore, root: string, id: string, prefix: string): Handle {
  const standIn = core.standIn();

  function answered(call: Ask, input: unknown, answers: () => Answers): Promise<unknown> {
    const make = (ask: Ask): Promise<unknown> => {
      const { fulfilled, rejected } = answers();
      const answer = withResolvers();
      promiseThen(
        ask(input, new Error()),
        (data) => answer.resolve(fulfilled(data)),
        (thrown) => {
          if (isOutOfMemory(thrown)) answer.reject(thrown);
          else answer.resolve(rejected(thrown));
        },
      );
      return answer.promise;
    };
    return standIn === undefined ? make(call) : standIn(call, make);
  }

  /** A method whose result says whether it failed. */
  function enveloped(call: Ask, input: unknown, tool: string | undefined): Promise<unknown> {
    return answered(call, input, () => {
      const startedAt = dateNow();
      const metaOf = (): object => {
        const meta: Record<string, unknown> = {};
        meta[idKeyOf(root)] = id;
        if (tool !== undefined) meta["tool"] = tool;
        meta["durationMs"] = dateNow() - startedAt;
        return meta;
      };
      return {
        fulfilled: (data) => ({ ok: true, data, meta: metaOf() }),
        rejected: (thrown) => ({ ok: false, error: toError(thrown), meta: metaOf() }),
      };
    });
  }

  const behind =
    (index: number): Ask =>
    (input, error) =>
      core.ask(index, input, error);
  const asked = (index: number, input: object): Promise<unknown> => core.ask(index, input, new Error());

  const methods = {
    inspect: () => asked(BEHIND["connectors.inspect"], { connector: id }),
    check: () => enveloped(behind(BEHIND["connectors.check"]), { connector: id }, undefined),
    tools: (page: unknown) => asked(BEHIND["connectors.tools"], { connector: id, page }),
    searchTools: (query: unknown, page: unknown) =>
      asked(BEHIND["connectors.searchTools"], { connector: id, query, page }),
    describeTool: (name: unknown) =>
      enveloped(behind(BEHIND["connectors.describeTool"]), { connector: id, name }, nameOf(name)),
    callTool: (name: unknown, args: unknown) => {
      // A name that is no text names no tool, and must not become one.
      const tool = typeof name === "string" ? name : "";
      const call: Ask = (input, error) => core.callTool(`${prefix}${toIdPart(tool)}`, input, error);
      return enveloped(call, args === undefined ? {} : args, nameOf(name));
    },
    resources: (page: unknown) => asked(BEHIND["connectors.resources"], { connector: id, page }),
    searchResources: (query: unknown, page: unknown) =>
      asked(BEHIND["connectors.searchResources"], { connector: id, query, page }),
    resourceTemplates: (page: unknown) =>
      asked(BEHIND["connectors.resourceTemplates"], { connector: id, page }),
    readResource: (uri: unknown) =>
      enveloped(behind(BEHIND["connectors.readResource"]), { connector: id, uri }, undefined),
    prompts: (page: unknown) => asked(BEHIND["connectors.prompts"], { connector: id, page }),
    searchPrompts: (query: unknown, page: unknown) =>
      asked(BEHIND["connectors.searchPrompts"], { connector: id, query, page }),
    getPrompt: (name: unknown, args: unknown) =>
      enveloped(behind(BEHIND["connectors.getPrompt"]), { connector: id, name, args }, undefined),
    complete: (completion: unknown) =>
      enveloped(behind(BEHIND["connectors.complete"]), { connector: id, completion }, undefined),
  };
  const handle = record<unknown>();
  handle["id"] = id;
  const names = keys(methods);
  for (let index = 0; index < names.length; index++) {
    const name = names[index] as keyof typeof methods;
    handle[name] = freeze(methods[name]);
  }
  return freeze(handle);
}

/** `caplets` tells the id of a handle as `capletId`. */
function idKeyOf(root: string): string {
  const last = root.length - 1;
  return `${stringCharAt(root, last) === "s" ? stringSlice(root, 0, last) : root}Id`;
}

function nameOf(name: unknown): string | undefined {
  return typeof name === "string" ? name : undefined;
}

function toError(thrown: unknown): object {
  const error: Record<string, unknown> = {};
  const code = ownText(thrown, "toolCode") ?? ownText(thrown, "code");
  // A call that could not be made: its input is no JSON.
  error["code"] = code === undefined ? "REQUEST_INVALID" : (CODES[code] ?? code);
  error["message"] = shortened(ownText(thrown, "message") ?? "The call failed");
  const details = isObject(thrown) ? ownData(thrown, "details") : undefined;
  if (details !== undefined) error["details"] = details;
  return error;
}

function ownText(thrown: unknown, key: string): string | undefined {
  const text = isObject(thrown) ? ownData(thrown, key) : undefined;
  return typeof text === "string" && text !== "" ? text : undefined;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function shortened(message: string): string {
  return message.length <= LONGEST_MESSAGE ? message : `${stringSlice(message, 0, LONGEST_MESSAGE - 1)}…`;
}

const PLAIN = /^[\w.\-/$]*$/u;
const UNSEEN = /^[\p{C}\p{Z}]$/u;

/** A tool's name as its id has it; ../../../catalog/tool-id.ts makes ids. */
function toIdPart(name: string): string {
  if (regExpExec(PLAIN, name) !== null) return name;
  let part = "";
  for (let index = 0; index < name.length;) {
    const code = stringCodePointAt(name, index);
    const size = code > 0xffff ? 2 : 1;
    const character = stringSlice(name, index, index + size);
    part += escaped(character, stringCharCodeAt(name, index));
    index += size;
  }
  return part;
}

function escaped(character: string, code: number): string {
  if (character === "%") return "%25";
  if (character === ":") return "%3A";
  if (character === "*") return "%2A";
  if (regExpExec(UNSEEN, character) === null) return character;
  if (character.length === 1 && code >= 0xd800 && code <= 0xdfff) return `%u${toUpperHex(code)}`;
  return encodeURIComponent(character);
}

/** Of a lone surrogate: `D` and three digits. */
function toUpperHex(code: number): string {
  const digits = numberToString(code, 16);
  let upper = "";
  for (let index = 0; index < digits.length; index++) {
    const digit = stringCharCodeAt(digits, index);
    upper += digit >= 97 ? stringCharAt("ABCDEF", digit - 97) : stringCharAt(digits, index);
  }
  return upper;
}
